"""Frozen language models: one protocol, three backends, wrappers that compose around any."""
