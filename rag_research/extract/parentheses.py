"""What stands in parentheses: life dates and other names, read by pattern and cut out.

Encyclopaedic first sentences carry long parentheses, which a dependency parser attaches to
anything; patterns read them better, and the parse of what remains improves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rag_research.types import Triplet

_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December|"
    r"Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\.?"
)
_YEAR = r"\d{3,4}(?:\s?(?:BC|BCE|AD|CE))?"
_FULL_DATE = rf"(?:\d{{1,2}}(?:st|nd|rd|th)? {_MONTH},? {_YEAR}|{_MONTH} \d{{1,2}},? {_YEAR})"
_DATE = rf"(?:(?:c(?:irca|a)?\.? ?)?(?:{_FULL_DATE}|{_MONTH} {_YEAR}|{_YEAR}))"
_PLACE = r"(?:,? (?:in|at) (?P<place>[^\W\d_][^;()–—]*?))"
_BIRTH_NAME = re.compile(
    r"\bborn (?:as )?(?P<name>(?!in |on |at |c\.|circa )[^\W\d_][^;,()\d–—]*?)"
    r"(?:[;,]\s*|\s+(?=(?:on|in) )|$)"
)
_BORN = re.compile(
    rf"\b(?:born|b\.)(?: on| in)?(?: (?P<date>{_DATE}))?{_PLACE}?(?=\s*(?:[;–—]|,? -|,? died|$))"
)
_DIED = re.compile(rf"\b(?:died|d\.)(?: on| in)?(?: (?P<date>{_DATE}))?{_PLACE}?(?=\s*(?:[;–—]|$))")
_TOWN = r"[^\W\d_][^;,()\d–—]*"
_RANGE = re.compile(
    rf"(?:^|[;,]\s*)(?:(?P<town>{_TOWN}), )?(?P<born>{_DATE})(?:,? (?:in )?(?P<where>{_TOWN}"
    rf"(?:, {_TOWN})*?))?\s*(?:–|—|-| to )\s*(?:(?P<last>{_TOWN}), )?(?P<died>{_DATE})"
    rf"(?:,? (?:in )?(?P<place>{_TOWN}(?:, {_TOWN})*?))?\s*(?=[;,]|$)"
)
_DAY = re.compile(r"\d{1,2} [^\W\d_]|[^\W\d_]\.? \d{1,2},? \d")
_OTHER_NAME = re.compile(
    r"\b(?P<how>née|nee|né|also known as|better known as|known as|also called|also|stylized as|"
    r"abbreviated as|aka|a\.k\.a\.)(?:,? as)?:? (?P<name>[^;,()–—]+)"
)
_ACRONYM = re.compile(r"[A-Z][A-Z0-9.&-]{1,9}")
_PARENTHESIS = re.compile(r"\s*\(([^()]*)\)")
_TIDY = (
    (re.compile(rf"(?<=\b\d{{4}})(?={_FULL_DATE}\b)"), " – "),  # 21 February 188524 July 1957
    (re.compile(r"(?<=[^\s(])\((?=[^)])"), " ("),  # Durlach( born -> Durlach (born
    (re.compile(r"\( +"), "("),
    (re.compile(r" +\)"), ")"),
    (re.compile(r"(?<=[^\W\d_])- (?=[^\W\d_])(?!- (?:and|or|to)\b)"), "-"),  # Baden- Durlach
    (re.compile(r"(?<=\w)(['’]) s\b"), r"\1s"),
    (re.compile(r"\s+"), " "),
)


def tidy(text: str) -> str:
    """Undo the spacing that tokenised releases left: ``"Durlach( born"``, ``"Baden- Durlach"``."""
    for pattern, replacement in _TIDY:
        text = pattern.sub(replacement, text)
    return text.strip()


def cut_parentheses(text: str) -> tuple[str, list[tuple[int, str]]]:
    """Text without parentheses, and what stood in them.

    Returns:
        The remaining text, and for every parenthesis the position in it where it stood, with
        its content. Of nested parentheses the inner ones go first and are dropped.
    """
    while (inner := re.sub(r"(\([^()]*)\([^()]*\)", r"\1", text)) != text:
        text = inner
    pieces: list[str] = []
    found: list[tuple[int, str]] = []
    length = last = 0
    for match in _PARENTHESIS.finditer(text):
        pieces.append(text[last : match.start()])
        length += match.start() - last
        found.append((length, match[1].strip()))
        last = match.end()
    pieces.append(text[last:])
    return "".join(pieces), found


def parenthesis_triplets(subject: str, content: str, *, person: bool) -> Iterator[Triplet]:
    """Facts in the parenthesis behind ``subject``.

    Args:
        subject: the name before the parenthesis.
        content: without the parentheses.
        person: read a range of two bare years as birth and death.
    """
    yield from _life(subject, content, person)
    for match in _OTHER_NAME.finditer(content):
        name = match["name"].strip(" \"'")
        how = match["how"]
        predicate = "was born as" if how in ("née", "nee", "né") else "is also known as"
        if name and name[0].isupper():
            yield Triplet(subject, predicate, name)
    if _ACRONYM.fullmatch(content):
        yield Triplet(subject, "is also known as", content)


def _life(subject: str, content: str, person: bool) -> Iterator[Triplet]:
    if named := _BIRTH_NAME.search(content):
        name = named["name"].strip(" \"'")
        if not re.match(_MONTH, name) and name[0].isupper():
            yield Triplet(subject, "was born as", name)
            rest = content[named.end() :].removeprefix("on ")
            content = content[: named.start()] + ("" if _RANGE.match(rest) else "born ") + rest
    found = False
    for pattern, verb in ((_BORN, "was born"), (_DIED, "died")):
        for match in pattern.finditer(content):
            found = True
            yield from _when_where(subject, verb, match["date"], match["place"])
    if found:
        return
    for match in _RANGE.finditer(content):
        dated = bool(_DAY.search(match["born"]) or _DAY.search(match["died"]))
        if person or dated:
            yield from _when_where(
                subject, "was born", match["born"], match["where"] or match["town"]
            )
            yield from _when_where(subject, "died", match["died"], match["place"] or match["last"])
        else:
            yield Triplet(subject, "lasted from", f"{match['born']} to {match['died']}")


def _when_where(subject: str, verb: str, date: str | None, place: str | None) -> Iterator[Triplet]:
    if date:
        yield Triplet(subject, f"{verb} {'on' if _DAY.search(date) else 'in'}", date)
    if place and place[0].isupper():
        yield Triplet(subject, f"{verb} in", place.strip(" ,"))
