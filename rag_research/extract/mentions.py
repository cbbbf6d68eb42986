"""What pronouns and short forms in an encyclopaedic passage stand for: mostly its title."""

from __future__ import annotations

import re
from typing import Any

from rag_research.extract.phrases import noun_phrase, word_set
from rag_research.text.entities import entity_key, plain_title

Token = Any  # spacy.tokens.Token, which is untyped

_PERSONAL = frozenset(("he", "she", "it", "him", "her", "they", "them"))
_POSSESSIVE = frozenset(("his", "her", "its", "their"))
_OTHER = word_set(
    "i you we me us who whom which that what this these those there one some others whose all "
    "many himself herself itself"
)
_FILE_NAME = re.compile(r"_|/|\.[a-z]{2,5}$")
_WORK_PARTS = word_set(
    "music score soundtrack screenplay script story lyrics cinematography plot cast album artwork"
)


class Mentions:
    """Names of things in one passage.

    A passage is about its title when the first sentence holds half of its words, and the title
    is no file name. Then pronouns, parts of the title's name, and "the film" where the first
    sentence says "is a film" are read as the title. Otherwise pronouns take the last subject
    that was named.

    Args:
        title: the passage's title; may be empty.
        first: the first parsed sentence, or ``None`` for an empty passage.
        alias: a word the title may have been replaced by before parsing.
    """

    def __init__(self, title: str, first: Any = None, alias: str = "") -> None:
        self.title = title
        self._own = set(entity_key(plain_title(title)).split())
        self._alias = set(entity_key(alias).split())
        self._words = self._own | self._alias
        self.about_title = False
        self.person = False
        self.full_name = ""
        self._kinds: set[str] = set()
        self._first_subject: Token = None
        self._opening = 0
        self._last = ""
        if title.strip():  # "1914 Aggies football team": what "the team" stands for
            self._kinds.add(plain_title(title).split()[-1].lower())
        if first is not None and title:
            self._read_first(first)

    def _read_first(self, sentence: Any) -> None:
        spoken = set(entity_key(sentence.text).split())
        shared = len(self._own & spoken) >= len(self._own) / 2 and bool(self._own & spoken)
        shared = shared or bool(self._alias & spoken)
        self.about_title = shared and not _FILE_NAME.search(self.title)
        if not self.about_title:
            return
        finite = [t.i for t in sentence if t.tag_ in ("VBD", "VBZ", "VBP") and t.lower_ != "born"]
        name = re.escape(plain_title(self.title))
        renamed = re.search(
            rf"\b(?:known|called|credited|billed|name)\b[^.]{{0,40}}{name}", sentence.text
        )
        if renamed or self._words & set(entity_key(sentence[: 2 + len(self._words)].text).split()):
            self._opening = finite[0] if finite else 0
        for token in sentence:
            subject = token.dep_ in ("nsubj", "nsubjpass") and token.head == sentence.root
            said = renamed or self._words & set(entity_key(noun_phrase(token)).split())
            if subject and said and self._first_subject is None:
                self._first_subject = token
                self.full_name = noun_phrase(token)
                self.person = any(t.ent_type_ == "PERSON" for t in token.subtree)
            if token.dep_ in ("attr", "conj") and token.pos_ == "NOUN":
                self._kinds.add(token.lemma_.lower())

    def is_part_of_title(self, name: str) -> bool:
        """Does a name hold no word that the title lacks?"""
        return set(entity_key(name).split()) <= self._words

    def name(self, token: Token) -> str:
        """The name behind a subject or owner; empty when it cannot be told."""
        text = self._resolve(token)
        if text and token.dep_ in ("nsubj", "nsubjpass"):
            self._last = text
        return text

    def name_ending_at(self, token: Token) -> str:
        """The name whose last word is ``token``, as a parenthesis behind it means it."""
        if token.i < self._opening and token.sent.start == 0:
            return self.title
        chunk = next((c for c in token.doc.noun_chunks if c.end - 1 == token.i), None)
        if chunk is None:
            return ""
        noun = chunk.root
        while noun.head.pos_ == "PROPN" or (noun.dep_ == "pobj" and noun.head.lower_ == "of"):
            above = noun.head.head if noun.dep_ == "pobj" else noun.head
            if above.pos_ != "PROPN" or noun.dep_ not in ("pobj", "appos"):
                break
            noun = above  # "Philipp, Count of Hanau": the parenthesis is about Philipp
        return self.name(noun)

    def object_name(self, token: Token) -> str:
        """The name behind an object; possessive words inside stay as they are."""
        if token.pos_ == "PRON":
            return self._pronoun(token)
        text = noun_phrase(token)
        definite = token.pos_ == "NOUN" and self.about_title and self._is_short_form(token, text)
        return self.title if definite else text

    def _resolve(self, token: Token) -> str:
        if token.pos_ == "PRON" or token.lower_ in _POSSESSIVE:
            return self._pronoun(token)
        text = noun_phrase(token)
        if not self.about_title:
            return "" if text.lower().startswith("whose ") else text
        if token == self._first_subject or self._is_short_form(token, text):
            return self.title
        owner = next((c for c in token.children if c.dep_ == "poss"), None)
        if owner is not None and owner.lower_ != "whose" and (whose := self._resolve(owner)):
            return f"{whose}'s {noun_phrase(token, without=('poss',))}"
        if text.lower().startswith("the ") and token.lemma_.lower() in _WORK_PARTS:
            return f"{self.title}'s {text[4:]}"
        return "" if owner is not None and owner.lower_ == "whose" else text

    def _pronoun(self, token: Token) -> str:
        if token.lower_ in _PERSONAL or token.lower_ in _POSSESSIVE:
            return self.title if self.about_title else self._last
        return "" if token.lower_ in _OTHER else noun_phrase(token)

    def _is_short_form(self, token: Token, text: str) -> bool:
        """ "Frederick" for "Ernest Frederick", "the film" for a title that is a film."""
        tokens = text.split()
        plain = len(tokens) == 2 and tokens[0].lower() in ("the", "this")
        if plain and token.lemma_.lower() in self._kinds:
            return True
        if token.pos_ == "PROPN":
            named = set(entity_key(text).split())
            return bool(named) and named <= self._words
        return False
