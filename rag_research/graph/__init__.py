"""Graphs over text units: topology, diffusion, selection."""
