"""Normal forms of strings: for scoring, for matching, for keys."""

from __future__ import annotations

import hashlib
import re
import string
import unicodedata

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_ASCII_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalise_answer(text: str, *, nfkc: bool = False) -> str:
    """The SQuAD normal form: lower case, no punctuation, no articles, single spaces.

    Args:
        text: an answer, predicted or gold.
        nfkc: apply Unicode NFKC first and strip punctuation of all scripts. The published
            metric strips ASCII punctuation only, which is the default.

    Source: the SQuAD 1.1 evaluation script, followed by HotpotQA, 2WikiMultihopQA and T2RAG.
    """
    if nfkc:
        text = unicodedata.normalize("NFKC", text)
    text = text.lower().translate(_ASCII_PUNCTUATION)
    if nfkc:
        text = "".join(c for c in text if not unicodedata.category(c).startswith("P"))
    return " ".join(_ARTICLES.sub(" ", text).split())


def matching_form(text: str) -> str:
    """A form in which two copies of one text agree: NFKC, case-folded, letters and digits only.

    Everything that is neither letter, mark nor digit becomes one space, so differences of
    spacing, quotes and dashes between two releases of a corpus do not count.
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    kept = (c if unicodedata.category(c)[0] in "LMN" else " " for c in folded)
    return " ".join("".join(kept).split())


def text_key(*parts: str) -> str:
    """Thirty-two hex digits over texts; ``("ab", "c")`` and ``("a", "bc")`` differ."""
    digest = hashlib.sha256()
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(f"{len(encoded)}:".encode() + encoded)
    return digest.hexdigest()[:32]
