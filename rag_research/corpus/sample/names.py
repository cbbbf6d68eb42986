"""Invented names: a one-to-one map from numbers to pronounceable words."""

from __future__ import annotations

from functools import cache
from random import Random

SIMPLE = ("b", "d", "f", "g", "h", "j", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z")
ONSETS = (*SIMPLE, "br", "dr", "kr", "sk", "st", "tr")
VOWELS = ("a", "e", "i", "o", "u")
# Endings of few real words, so that hardly any invented name is one.
OPEN = ("ardo", "ennu", "illo", "avia", "osko", "elva", "ulo", "unda", "orva", "alge", "irne")
LIQUID = ("orin", "undar", "olm", "ivar", "emir", "ofen", "istal", "ettin", "umber")
ENDINGS = (*OPEN, *LIQUID, "eth", "ilt", "ond", "ask")
SYLLABLES = tuple(onset + vowel for onset in ONSETS for vowel in VOWELS)
LAST = tuple(onset + ending for onset in ONSETS for ending in ENDINGS)


def root(index: int, seed: int) -> str:
    """The word with this number.

    Words are one open syllable, a consonant and an ending; when those (58,080) run out, two
    syllables (6 million), and so on. Every word can be cut into its parts in one way only, so
    different numbers give different words; neighbouring numbers give words that have nothing
    in common.

    Args:
        index: from 0.
        seed: chooses the order in which words are used up.
    """
    syllables = 1
    size = _size(syllables)
    while index >= size:
        index -= size
        syllables += 1
        size = _size(syllables)
    factor, offset = _scramble(size, seed)
    number = (index * factor + offset) % size
    number, last = divmod(number, len(LAST))
    word = LAST[last]
    for _ in range(syllables):
        number, position = divmod(number, len(SYLLABLES))
        word = SYLLABLES[position] + word
    return word.capitalize()


def _size(syllables: int) -> int:
    return int(len(SYLLABLES) ** syllables * len(LAST))


@cache
def _scramble(size: int, seed: int) -> tuple[int, int]:
    """A factor without a common divisor with ``size`` (2, 3, 5 and 11 only), and an offset."""
    draw = Random(f"{seed}:{size}:names")
    while True:
        factor = draw.randrange(size // 3, size)
        if all(factor % prime for prime in (2, 3, 5, 11)):
            return factor, draw.randrange(size)
