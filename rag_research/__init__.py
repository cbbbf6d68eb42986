"""Triplet- and graph-driven retrieval-augmented generation.

Importing this package is cheap: it imports no torch, no transformers and no faiss.
Heavy libraries are imported by the parts that use them, when they are used.
"""

from rag_research.types import Answer, Hit, Passage, Question, Span, Triplet, Usage

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "Hit",
    "Passage",
    "Question",
    "Span",
    "Triplet",
    "Usage",
    "__version__",
]
