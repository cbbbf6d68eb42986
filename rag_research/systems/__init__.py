"""Complete question answering systems; each file reads like its paper's algorithm box."""
