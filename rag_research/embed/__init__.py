"""Frozen text encoders and the store of their vectors."""
