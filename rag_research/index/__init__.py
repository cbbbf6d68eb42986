"""Search over texts: dense, lexical, hybrid, reranked."""
