"""Reading spans out of a dependency parse."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

Token = Any  # spacy.tokens.Token, which is untyped


def word_set(text: str) -> frozenset[str]:
    """Words separated by spaces, as a set."""
    return frozenset(text.split())


_CLAUSES = ("relcl", "acl", "advcl", "ccomp", "parataxis")
_RANKS = word_set(
    "count earl duke baron viscount margrave marquess prince king lord"
    " countess duchess baroness princess queen lady jr jr. sr sr."
)
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)")
_EDGES = "\"'“”‘’,;:.–—- "


def children(token: Token, *labels: str) -> list[Token]:
    """Children with one of the dependency labels, in order."""
    return [c for c in token.children if c.dep_ in labels]


def conjoined(token: Token) -> list[Token]:
    """The token and what is joined to it by conjunctions, in order: "A, B and C"."""
    found: list[Token] = []
    waiting = [token]
    while waiting:  # not recursive: a list may be longer than the stack is deep
        one = waiting.pop()
        found.append(one)
        waiting.extend(other for other in one.children if _is_joined(other, one))
    return sorted(found, key=lambda t: t.i)


def noun_phrase(head: Token, without: Sequence[str] = (), skip: Sequence[Token] = ()) -> str:
    """The full phrase of a noun, without clauses, appositions and conjoined phrases.

    Args:
        head: the noun.
        without: dependency labels of further children to leave out.
        skip: tokens to leave out with everything below them.
    """
    dropped = {*_CLAUSES, "appos", "conj", "cc", "preconj", "punct", "case", *without}
    tokens = [head]
    for child in head.children:
        if child in skip or (child.dep_ in dropped and not _inside_name(child, head)):
            continue
        tokens.extend(_below(child))
    return _text(tokens)


def chain(noun: Token) -> str:
    """The noun with its compound words only."""
    return _text([noun, *children(noun, "compound")])


def has_word(text: str) -> bool:
    """Does the text hold a letter or digit?"""
    return any(c.isalnum() for c in text)


def _is_joined(other: Token, token: Token) -> bool:
    if other.dep_ == "conj":
        return True
    if other.dep_ != "appos":
        return False
    # in a list of names the parser often takes the second for an apposition
    names = other.ent_type_ == token.ent_type_ == "PERSON" and not _is_rank(other, token)
    return names or other.pos_ == token.pos_ == "NOUN"  # "a singer, the daughter of X"


def _below(token: Token) -> list[Token]:
    found: list[Token] = []
    waiting = [token]
    while waiting:
        one = waiting.pop()
        found.append(one)
        waiting.extend(child for child in one.children if child.dep_ not in _CLAUSES)
    return found


def _inside_name(child: Token, head: Token) -> bool:
    """Commas and hyphens between the words of a name, and place chains: "Fasa, Iran"."""
    if child.dep_ == "punct":
        return child.text in "-–'’\"" and abs(child.i - head.i) == 1 and not child.whitespace_
    if _is_rank(child, head):
        return True
    if any(c.dep_ == "cc" for c in (*head.children, *child.children)):
        return False
    if child.dep_ in ("appos", "conj") and child.pos_ == head.pos_ == "PROPN":
        places = ("GPE", "LOC")
        between = child.doc[child.left_edge.i - 1].text if child.left_edge.i else ""
        return between == "," and child.ent_type_ in places and head.ent_type_ in places
    return False


def _is_rank(child: Token, head: Token) -> bool:
    """ "Henry Lascelles, 4th Earl of Harewood" is one name."""
    if child.dep_ != "appos" or head.pos_ != "PROPN":
        return False
    return child.lower_ in _RANKS or bool(_ORDINAL.fullmatch(child.left_edge.text))


def _text(tokens: Sequence[Token]) -> str:
    ordered = sorted(set(tokens), key=lambda t: t.i)
    text = ""
    for token, after in zip(ordered, [*ordered[1:], None], strict=True):
        text += token.text
        if after is None:
            break
        if after.i == token.i + 1:
            text += token.whitespace_
        elif after.i == token.i + 2 and token.nbor().text == ",":
            text += ", "
        else:
            text += " "
    return " ".join(text.split()).strip(_EDGES)
