"""Who names what: the entities of every passage of a corpus, by spelling alone.

Two kinds of names are found: titles of the corpus, wherever a text spells them, and runs of
capitalised words. No model is asked.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from rag_research.text.entities import capitalised_offsets, plain_title

Word = tuple[str, int, int]
_WORD = re.compile(r"\w[\w\u0300-\u036f]*")
_ACCENT = re.compile("[\u0300-\u036f]")
_ARTICLES = frozenset(("the", "a", "an"))
_LEAD = 200  # characters in which a text starts with a name
_FUNCTION_WORDS = """
the a an of in on at to for and or is are was were be been by with from as that this it its his
her he she they their who whom whose which what when where why how do does did has have had not
but into than then also same both between there these those
"""
STOP_WORDS = frozenset(_FUNCTION_WORDS.split())


def folded_words(text: str) -> list[Word]:
    """Words of a text, without case and accents, with their character ranges."""
    return [(_fold(m.group()), m.start(), m.end()) for m in _WORD.finditer(text)]


def _fold(word: str) -> str:
    """Without case and accents."""
    if word.isascii():
        return word.lower()
    apart = _ACCENT.sub("", unicodedata.normalize("NFKD", word))
    return unicodedata.normalize("NFKC", apart).casefold()


def name_key(words: Sequence[str]) -> str:
    """The form under which two mentions agree: folded words without a leading article."""
    kept = words[1:] if len(words) > 1 and words[0] in _ARTICLES else words
    return " ".join(kept)


def _found_everywhere(key: str) -> bool:
    """Whether a key is one function word, or one word of fewer than three letters (two of a script
    without case, where one letter says more)."""
    if " " in key:
        return False
    caseless = key.isalpha() and key.upper() == key.lower()
    return len(key) < (2 if caseless else 3) or key in STOP_WORDS


def title_key(title: str) -> str:
    """:func:`name_key` of a title without its disambiguation."""
    return name_key([word for word, _, _ in folded_words(plain_title(title))])


def leading_name(text: str) -> str:
    """Key of the name of several words that a text starts with; empty without one.

    It stands for the title of a passage that has none: who is named first is what it is about.
    """
    start, end = next(iter(capitalised_offsets(text[:_LEAD])), (0, 0))
    before = folded_words(text[:start])
    key = title_key(text[start:end])
    return key if " " in key and all(word in _ARTICLES for word, _, _ in before) else ""


def key_hash(key: str) -> int:
    """Sixty-four bits that stand for a key in arrays on disk."""
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest(), "little")


class NameDictionary:
    """Finds the longest known title at each place of a text.

    One short word or function word is no title to look for: it would be found everywhere.

    Args:
        titles: of the corpus; repeats do not matter.
    """

    def __init__(self, titles: Iterable[str]) -> None:
        self._keys: set[str] = set()
        self._longest: dict[str, int] = defaultdict(int)
        for title in titles:
            key = title_key(title)
            if not key or _found_everywhere(key):
                continue
            words = key.split()
            self._keys.add(key)
            self._longest[words[0]] = max(self._longest[words[0]], len(words))

    def find(self, text: str, words: Sequence[Word]) -> list[Word]:
        """Keys of titles in a text and their character ranges, in order.

        A name that starts with a lower-case letter in the text is not one.

        Args:
            text: where to look.
            words: its :func:`folded_words`.
        """
        found, at = [], 0
        while at < len(words):
            word, start, _ = words[at]
            longest = 0 if text[start].islower() else self._longest.get(word, 0)
            step = 1
            for size in range(min(longest, len(words) - at), 0, -1):
                key = " ".join(w for w, _, _ in words[at : at + size])
                if key in self._keys:
                    found.append((key, start, words[at + size - 1][2]))
                    step = size
                    break
            at += step
        return found


def named(text: str, names: NameDictionary) -> Mapping[str, list[int]]:
    """Every name in a text, with the characters at which it starts.

    Args:
        text: any script. Scripts without case give the titles they spell, no other names; a
            title is found where it starts and ends with a word, so in scripts written without
            spaces only where punctuation sets it off.
        names: titles of the corpus.
    """
    words = folded_words(text)
    found: dict[str, list[int]] = {}
    titles = [(key, start) for key, start, _ in names.find(text, words)]
    for key, start in titles:
        found.setdefault(key, []).append(start)
    known = set(titles)
    at = 0
    for start, end in capitalised_offsets(text):
        while at < len(words) and words[at][1] < start:
            at += 1
        own = []
        while at < len(words) and words[at][2] <= end:
            own.append(words[at][0])
            at += 1
        key = name_key(own)
        unnamed = not key or key.isdigit() or _found_everywhere(key)
        if not unnamed and (key, start) not in known:
            found.setdefault(key, []).append(start)
    return found
