"""Words as BM25 counts them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache

from rag_research.text.chunks import UNSPACED

# The compatible form of these would spell another word: "Windows™" "windowstm", "5½" "51⁄2".
_NORMALISED = re.compile("[^™℠¼-¾⅐-⅟↉]+")
# Soft hyphens, joiners and variants of signs; then what few texts write: vowel points of Hebrew and
# Arabic, and stress on Cyrillic letters.
_IGNORED = re.compile(
    "[\u00ad\u200d\ufe00-\ufe0f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
    "\u0640\u064b-\u0652\u0670]|[\u0300\u0301](?<=[\u0400-\u052f].)"
)
_ASCII_WORD = re.compile(r"\w\w+", re.ASCII)
_FAR, _END = 0x10000, 0x20000  # above lie unspaced scripts and variants of signs


def tokenizer(stemmer: str | None, stop_words: bool) -> Callable[[str], list[str]]:
    """A function from a text to its words, in order, spelled in one way.

    Case, full-width letters, ligatures and the two encodings of accents make no difference;
    accents do. Scripts written without spaces give one token a character; elsewhere single letters
    are dropped.

    Args:
        stemmer: a Snowball language such as ``english``; ``None`` leaves words as they are.
        stop_words: drop English function words.
    """
    from bm25s.stopwords import STOPWORDS_EN

    dropped = frozenset(STOPWORDS_EN) if stop_words else frozenset()
    stem = _stem_words(stemmer) if stemmer else None

    def tokens(text: str) -> list[str]:
        words = [word for word in _words(text) if word not in dropped]
        return stem(words) if stem else words

    return tokens


def _words(text: str) -> list[str]:
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())
    return _word().findall(_spelled(text))


def _spelled(text: str) -> str:
    """``text`` with one spelling of each letter, in lower case."""
    text = _NORMALISED.sub(lambda run: unicodedata.normalize("NFKC", run[0]), text)
    # The lower case of a Turkish İ is an i with a second dot.
    text = text.casefold().replace("i\u0307", "i")
    return unicodedata.normalize("NFC", _IGNORED.sub("", text))


@cache
def _word() -> re.Pattern[str]:
    """A word with its combining marks, which ``\\w`` leaves out."""
    # A set with far characters is slow, so theirs is tried only where one stands.
    far = f"(?=[{chr(_FAR)}-{chr(_END)}])[{_marks(_FAR, _END)}]"
    marks = f"(?:[{_marks(0, _FAR)}]|{far})+"
    letter = rf"[^\W{UNSPACED}]"
    return re.compile(
        f"[{UNSPACED}]|{letter}{{2,}}(?:{marks}{letter}*)*|{letter}(?:{marks}{letter}*)+"
    )


def _marks(start: int, end: int) -> str:
    return "".join(
        c for c in map(chr, range(start, end)) if unicodedata.category(c) in ("Mn", "Mc")
    )


def _stem_words(language: str) -> Callable[[list[str]], list[str]]:
    from rag_research.errors import missing_extra

    try:
        import Stemmer
    except ImportError as error:
        raise missing_extra("PyStemmer", "stemmer", "bm25.stemmer") from error
    stem: Callable[[list[str]], list[str]] = Stemmer.Stemmer(language).stemWords
    return stem
