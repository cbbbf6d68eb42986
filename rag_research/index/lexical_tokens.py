"""Words as BM25 counts them."""

from __future__ import annotations

import re
from collections.abc import Callable

# Scripts written without spaces give one token a character; single letters are dropped.
_UNSPACED = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_TOKEN = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}][^\W{_UNSPACED}]+")


def tokenizer(stemmer: str | None, stop_words: bool) -> Callable[[str], list[str]]:
    """A function from a text to its lower-case words, in order.

    Args:
        stemmer: a Snowball language such as ``english``; ``None`` leaves words as they are.
        stop_words: drop English function words.
    """
    from bm25s.stopwords import STOPWORDS_EN

    dropped = frozenset(STOPWORDS_EN) if stop_words else frozenset()
    stem = _stem_words(stemmer) if stemmer else None

    def tokens(text: str) -> list[str]:
        words = [word for word in _TOKEN.findall(text.lower()) if word not in dropped]
        return stem(words) if stem else words

    return tokens


def _stem_words(language: str) -> Callable[[list[str]], list[str]]:
    from rag_research.errors import missing_extra

    try:
        import Stemmer
    except ImportError as error:
        raise missing_extra("PyStemmer", "stemmer", "bm25.stemmer") from error
    stem: Callable[[list[str]], list[str]] = Stemmer.Stemmer(language).stemWords
    return stem
