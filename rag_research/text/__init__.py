"""Plain text: normal forms, sentences, chunks, entity names."""
