"""Versioned prompt files and the library that renders them."""
