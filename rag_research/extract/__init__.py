"""Triplets of passages: LLM OpenIE, rules over dependency parses, import of files."""
