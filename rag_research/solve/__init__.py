"""The language model steps that systems share: one prompt, one parser, one file each."""
