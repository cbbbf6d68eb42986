"""The trainable networks: plain torch modules."""
