"""Passages and questions: loaders for files people have, and a sample world of our own."""
