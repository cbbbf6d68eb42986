"""Training of the learned components; the only home of Lightning."""
