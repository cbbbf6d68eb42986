"""Names of things in text: keys under which two spellings meet, and a cheap name finder."""

from __future__ import annotations

import re

from rag_research.text.normalise import matching_form

_DISAMBIGUATION = re.compile(r"\s*\([^()]*\)\s*$")
_WORD = r"[^\W\d_](?:[\w'’.&-]*\w)?"
_TOKEN = re.compile(rf"(?:[^\W\d_]\.)+|{_WORD}|\d+|[^\w\s]")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LINKING = _words("of the de la le du da di van von der den bin ibn al")
_COMMON_STARTS = _words(
    "a an the this that these those he she it they his her its their there in on at of by for "
    "from with as after before during when while who what which where why how is are was were "
    "did does do has have had can could both or and but if although however since"
)


def entity_key(name: str) -> str:
    """The form under which two mentions of one entity are equal.

    Case, spacing and punctuation do not count; a leading article does not either.

    Example:
        >>> entity_key("The  Beatles") == entity_key("beatles")
        True
    """
    words = matching_form(name).split()
    if len(words) > 1 and words[0] in ("the", "a", "an"):
        words = words[1:]
    return " ".join(words)


def plain_title(title: str) -> str:
    """A page title without its disambiguation: ``"Machine (band)"`` -> ``"Machine"``."""
    return _DISAMBIGUATION.sub("", title).strip() or title.strip()


def capitalised_spans(text: str) -> list[str]:
    """Runs of capitalised words, with the small words inside them, in order of appearance.

    A lone sentence-starting function word is not a name; inside a run, words such as ``of``
    and ``van`` are kept when a capitalised word follows. Scripts without case give nothing.

    Example:
        >>> capitalised_spans("Who is the mother of Anna of Bohemia?")
        ['Anna of Bohemia']
    """
    return [text[start:end] for start, end in capitalised_offsets(text)]


def capitalised_offsets(text: str) -> list[tuple[int, int]]:
    """Character ranges of :func:`capitalised_spans`."""
    tokens = list(_TOKEN.finditer(text))
    spans: list[tuple[int, int]] = []
    position = 0
    while position < len(tokens):
        if not _starts_name(tokens[position].group()):
            position += 1
            continue
        last = position
        ahead = position + 1
        while ahead < len(tokens) and _continues_name(tokens[ahead].group()):
            if "\n" in text[tokens[ahead - 1].end() : tokens[ahead].start()]:
                break
            if _is_capitalised(tokens[ahead].group()) or tokens[ahead].group().isdigit():
                last = ahead
            ahead += 1
        spans.append((tokens[position].start(), tokens[last].end()))
        position = last + 1
    return spans


def _is_capitalised(token: str) -> bool:
    return token[0].isupper()


def _starts_name(token: str) -> bool:
    return _is_capitalised(token) and token.lower() not in _COMMON_STARTS


def _continues_name(token: str) -> bool:
    return _is_capitalised(token) or token.isdigit() or token in _LINKING
