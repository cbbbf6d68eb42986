"""Dependency rules: from a parsed sentence to triplets.

Works on spaCy parses with ClearNLP labels (``nsubj``, ``nsubjpass``, ``dobj``, ``attr``,
``agent``, ``prep``/``pobj``, ``appos``, ``relcl``, ``acl``, ``poss``), as the English models
have them. Verbs give one triplet for every argument; nouns give triplets for appositions,
possessives and "the capital of".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rag_research.extract.mentions import Mentions
from rag_research.extract.phrases import chain, children, conjoined, has_word, noun_phrase, word_set
from rag_research.types import Triplet

Token = Any  # spacy.tokens.Token, which is untyped

SUBJECTS = frozenset(("nsubj", "nsubjpass", "csubj"))
OBJECTS = frozenset(("dobj", "attr", "oprd", "dative"))
MOST_WORDS = 24
_KINSHIP = word_set(
    "father mother parent son daughter child brother sister sibling twin wife husband spouse "
    "partner grandfather grandmother grandson granddaughter uncle aunt nephew niece cousin "
    "stepson stepdaughter stepfather stepmother widow mentor successor predecessor"
)
_MAKING = word_set(
    "direct write produce compose release publish create adapt edit film base record"
)
_EMPTY_OBJECTS = frozenset(("which", "that", "who", "whom", "what", "itself", "himself", "herself"))


def sentence_triplets(sentence: Any, mentions: Mentions) -> Iterator[Triplet]:
    """Triplets of one sentence, in the order of their words; repeats are not removed.

    Args:
        sentence: a parsed ``spacy.tokens.Span``.
        mentions: names what pronouns and short forms stand for.
    """
    for token in sentence:
        if token.pos_ in ("VERB", "AUX") and token.dep_ not in ("aux", "auxpass"):
            for subject in verb_subjects(token, mentions):
                yield from _clause(token, subject, mentions)
        if token.pos_ in ("NOUN", "PROPN"):
            yield from _apposition(token, mentions)
            yield from _possessive(token, mentions)


def verb_subjects(verb: Token, mentions: Mentions, depth: int = 0) -> list[str]:
    """What does or undergoes ``verb``, as names; empty when nothing can be told."""
    own = [c for c in verb.children if c.dep_ in SUBJECTS]
    if own and own[-1].lower_ not in ("who", "which", "that"):
        return [n for s in conjoined(own[-1]) if (n := mentions.name(s))]
    if depth > 6:
        return []
    if verb.dep_ == "relcl":
        return _referents(verb.head, mentions, depth) if own or _object_gap_filled(verb) else []
    if verb.dep_ == "acl":
        if verb.tag_ not in ("VBN", "VBG"):
            return []
        return _referents(_maker_skipped(verb), mentions, depth)
    if verb.dep_ in ("conj", "xcomp", "advcl", "ccomp", "pcomp"):
        head = verb.head
        while head.dep_ == "prep":
            head = head.head
        if head.pos_ in ("VERB", "AUX"):
            return verb_subjects(head, mentions, depth + 1)
        return _referents(head, mentions, depth) if head.pos_ in ("NOUN", "PROPN") else []
    return []  # "including", "following" and the like are tagged as verbs, but are none


def _maker_skipped(verb: Token) -> Token:
    """ "a film starring A, directed by B": B directed the film, whatever the parser says."""
    noun = verb.head
    if verb.lemma_ not in _MAKING or not children(verb, "agent"):
        return noun
    while noun.dep_ in ("conj", "dobj", "pobj", "appos") and (
        noun.ent_type_ == "PERSON" or (verb.lemma_ == "direct" and noun.pos_ == "PROPN")
    ):
        noun = noun.head
        while noun.pos_ in ("VERB", "ADP") and noun.dep_ in ("acl", "agent", "prep", "conj"):
            noun = noun.head
    return noun


def _object_gap_filled(verb: Token) -> bool:
    return not any(c.dep_ in SUBJECTS for c in verb.children) and bool(children(verb, "agent"))


def _referents(noun: Token, mentions: Mentions, depth: int) -> list[str]:
    """A predicate noun or apposition stands for what it is said of: "a film" -> its title."""
    if noun.pos_ == "NOUN" and first_of(noun).dep_ in ("attr", "oprd", "appos"):
        noun = first_of(noun)
    if noun.dep_ in ("attr", "oprd") and noun.head.pos_ in ("VERB", "AUX"):
        return verb_subjects(noun.head, mentions, depth + 1)
    if noun.dep_ == "appos" and noun.pos_ == "NOUN" and depth <= 6:
        return _referents(noun.head, mentions, depth + 1)
    name = mentions.name(noun)
    return [name] if name else []


def _clause(verb: Token, subject: str, mentions: Mentions) -> Iterator[Triplet]:
    predicate = verb_phrase(verb)
    direct = [c for c in verb.children if c.dep_ in OBJECTS]
    if verb.dep_ == "relcl" and any(c.lower_ in _EMPTY_OBJECTS for c in direct):
        yield from _triplet(subject, predicate, verb.head, mentions)  # "Anna, whom he married"
    direct = [c for c in direct if c.lower_ not in _EMPTY_OBJECTS]
    for label in children(verb, "nsubj")[:-1]:  # "The daughter of X, she was born in ..."
        yield from _triplet(subject, "is", label, mentions)
        yield from _noun_relations(subject, "is", label, mentions)
    for argument in direct:
        for item in conjoined(argument):
            yield from _triplet(subject, predicate, item, mentions)
            yield from _noun_relations(subject, predicate, item, mentions)
    prefix = predicate
    if direct and direct[0].dep_ in ("dobj", "attr", "oprd"):
        prefix = f"{predicate} {_short(direct[0])}"
    for adjective in children(verb, "acomp"):
        if not children(adjective, "prep"):
            yield from _triplet(subject, predicate, adjective, mentions)
        for prep in children(adjective, "prep"):
            lead = f"{predicate} {adjective.text}"
            yield from _prepositional(subject, lead, prep, mentions)
    for prep in _prepositions(verb):
        yield from _prepositional(subject, prefix, prep, mentions)
    for time in children(verb, "npadvmod"):
        if time.ent_type_ == "DATE":
            yield from _triplet(subject, prefix, time, mentions)


def _prepositions(verb: Token) -> list[Token]:
    own = children(verb, "prep", "agent")
    if not own and not any(c.dep_ in OBJECTS for c in verb.children) and verb.tag_ == "VBN":
        # "written and directed by": the agent hangs on the last verb only
        return [p for c in children(verb, "conj") for p in children(c, "agent")]
    return own


def _prepositional(subject: str, lead: str, prep: Token, mentions: Mentions) -> Iterator[Triplet]:
    for inner in children(prep, "prep"):
        starts, ends = children(prep, "pobj"), children(inner, "pobj")
        if prep.lower_ == "from" and inner.lower_ in ("to", "until") and starts and ends:
            span = f"{noun_phrase(starts[0])} {inner.text} {noun_phrase(ends[0])}"
            yield Triplet(subject, f"{lead} from", span)
            return
        yield from _prepositional(subject, f"{lead} {prep.text}", inner, mentions)
    for target in children(prep, "pobj"):
        predicate = f"{lead} {prep.lower_}"
        for item in conjoined(target):
            yield from _triplet(subject, predicate, item, mentions)
            yield from _noun_relations(subject, predicate, item, mentions)
        # "born in Durlach in 1560": the parser often hangs the date on the place
        for late in children(target, "prep"):
            for date in children(late, "pobj"):
                if date.ent_type_ == "DATE" and target.pos_ == "PROPN":
                    yield from _triplet(subject, f"{lead} {late.lower_}", date, mentions)


def _noun_relations(
    subject: str, predicate: str, noun: Token, mentions: Mentions
) -> Iterator[Triplet]:
    """ "was the son of X and Y" -> ``(subject, was the son of, X)`` and the same with Y."""
    first = first_of(noun)
    as_role = first.dep_ == "pobj" and first.head.lower_ == "as" and noun.pos_ == "NOUN"
    if first.dep_ in ("attr", "nsubj") or as_role:
        for prep in children(noun, "prep"):
            for target in children(prep, "pobj"):
                head = noun_phrase(noun, without=("prep",))
                for item in conjoined(target):
                    yield from _triplet(
                        subject, f"{predicate} {head} {prep.lower_}", item, mentions
                    )
    yield from _by_relations(subject, noun, mentions)


def _by_relations(subject: str, noun: Token, mentions: Mentions) -> Iterator[Triplet]:
    """ "with music by X" -> ``(subject, music by, X)``."""
    for item in conjoined(noun):
        if item.pos_ != "NOUN":
            continue
        for prep in children(item, "prep", "agent"):
            if prep.lower_ != "by":
                continue
            for target in children(prep, "pobj"):
                for name in conjoined(target):
                    yield from _triplet(subject, f"{item.text} by", name, mentions)


def _apposition(noun: Token, mentions: Mentions) -> Iterator[Triplet]:
    for other in children(noun, "appos"):
        name, description = (noun, other) if noun.pos_ == "PROPN" else (other, noun)
        if name.pos_ != "PROPN" or not name.text[0].isupper() or description.pos_ != "NOUN":
            continue
        if description.dep_ in ("attr", "oprd"):  # said of the subject already
            continue
        subject = mentions.name(name)
        owner = children(description, "poss")
        if not subject:
            continue
        for item in conjoined(description):
            if item.pos_ != "NOUN" or item == name:
                continue
            if not owner:
                yield from _triplet(subject, "is", item, mentions)
            for prep in children(item, "prep"):
                for target in children(prep, "pobj"):
                    lead = f"is {noun_phrase(item, without=('prep',))} {prep.lower_}"
                    for each in conjoined(target):
                        yield from _triplet(subject, lead, each, mentions)


def _possessive(noun: Token, mentions: Mentions) -> Iterator[Triplet]:
    """ "his wife Anna", "X's father, Y", "his father was Y" -> ``(X, father, Y)``."""
    for owner in children(noun, "poss"):
        whose = mentions.name(owner)
        if owner.pos_ == "PRON" and noun.dep_ == "conj" and noun.head.pos_ == "PROPN":
            whose = noun_phrase(noun.head)  # "daughter of John and his wife Mary": John's
        if not whose:
            continue
        if noun.pos_ == "PROPN":  # "Anna's husband Karl": Karl is the head
            role = [c for c in noun.children if c.dep_ in ("compound", "nmod") and c.pos_ == "NOUN"]
            if role and role[-1].lemma_.lower() in _KINSHIP:
                name = noun_phrase(noun, without=("poss",), skip=role)
                yield Triplet(whose, role[-1].lower_, name)
            continue
        relation = noun_phrase(noun, without=("poss", "prep"))
        for name in children(noun, "appos"):
            if name.pos_ == "PROPN":
                yield from _triplet(whose, relation, name, mentions)
        if noun.dep_ in SUBJECTS and noun.head.lemma_ == "be":
            for value in children(noun.head, "attr"):
                for item in conjoined(value):
                    yield from _triplet(whose, relation, item, mentions)


def first_of(noun: Token) -> Token:
    """The first of conjoined or listed nouns, whose label in the clause holds for all."""
    while noun.dep_ == "conj" or (noun.dep_ == "appos" and noun.pos_ == noun.head.pos_ == "NOUN"):
        noun = noun.head
    return noun


def verb_phrase(verb: Token) -> str:
    """The verb with auxiliaries, negation and particle; chains of verbs are joined.

    Example: "was born", "did not give up", "began to work".
    """
    parts = [c for c in verb.children if c.dep_ in ("aux", "auxpass", "neg", "prt")]
    text = " ".join(t.lower_ for t in sorted([*parts, verb], key=lambda t: t.i))
    if verb.dep_ == "xcomp" and verb.head.pos_ in ("VERB", "AUX"):
        return f"{verb_phrase(verb.head)} {text}"
    if verb.tag_ == "VBN" and not children(verb, "aux", "auxpass"):
        first = verb
        while first.dep_ == "conj":
            first = first.head
        if first.dep_ in ("acl", "advcl", "relcl") or children(first, "auxpass"):
            return f"was {text}"
    return text


def _triplet(subject: str, predicate: str, item: Token, mentions: Mentions) -> Iterator[Triplet]:
    if item.lower_ in _EMPTY_OBJECTS or item.pos_ in ("VERB", "AUX", "SCONJ"):
        return
    text = mentions.object_name(item)
    if not text or text == subject or not has_word(text) or len(text.split()) > MOST_WORDS:
        return
    yield Triplet(subject, predicate, text)
    if item.pos_ == "NOUN" and item.dep_ not in ("attr", "oprd"):
        # "the director John Smith": the name is what is asked for
        for name in children(item, "appos"):
            if name.pos_ == "PROPN":
                yield Triplet(subject, predicate, noun_phrase(name))


def _short(noun: Token) -> str:
    text = noun_phrase(noun, without=("prep",))
    return text if len(text.split()) <= 6 else chain(noun)
