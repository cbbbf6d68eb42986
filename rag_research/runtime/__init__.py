"""How runs happen: artefacts, seeds, provenance, devices, progress, model weights."""
