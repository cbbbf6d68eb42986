"""How kept spans are shown to the reader: as paths of text, or as a knowledge graph's facts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rag_research.graph.linearise import Block, Kept, block_text
from rag_research.text.entities import entity_key
from rag_research.types import Triplet

MOST_STEPS = 4
NodeKey = tuple[str, int, int]


@dataclass(frozen=True, slots=True)
class Material:
    """What a format may draw on.

    Args:
        kept: spans and their energies.
        blocks: the spans in the order of a linearisation.
        texts: text of each document.
        facts: triplets of each span, by its key; empty unless the format needs them.
    """

    kept: Kept
    blocks: Sequence[Block]
    texts: Mapping[str, str]
    facts: Mapping[NodeKey, Sequence[Triplet]]


Show = Callable[[Material], str]


def stg_paths(material: Material) -> str:
    """Verbatim text, block by block (the paper's STG-Paths)."""
    shown = (block_text(block, material.kept, material.texts) for block in material.blocks)
    return "\n\n".join(text for text in shown if text)


def kg_triplets(material: Material) -> str:
    """One triplet a line (KG-Triplets)."""
    return "\n".join(f"({t.subject}, {t.predicate}, {t.object})" for t in _facts(material))


def kg_texts(material: Material) -> str:
    """Triplets as sentences, one paragraph a block (KG-Texts)."""
    paragraphs = (
        " ".join(f"{t.proposition}." for t in _facts_of(block, material))
        for block in material.blocks
    )
    return "\n\n".join(paragraph for paragraph in dict.fromkeys(paragraphs) if paragraph)


def kg_paths(material: Material) -> str:
    """Triplets chained where the object of one is the subject of the next (KG-Paths).

    Chains start at triplets that name an entity of the question, then at the rest, and have
    at most :data:`MOST_STEPS` triplets; every triplet is in one chain.
    """
    wanted = material.kept.candidates.query.entities
    left = dict.fromkeys(_facts(material))
    starts = sorted(left, key=lambda t: entity_key(t.subject) not in wanted)
    lines = []
    for start in starts:
        if start not in left:
            continue
        chain = [start]
        del left[start]
        while len(chain) < MOST_STEPS:
            end = entity_key(chain[-1].object)
            following = next((t for t in left if end and entity_key(t.subject) == end), None)
            if following is None:
                break
            chain.append(following)
            del left[following]
        steps = "".join(f" - {t.predicate} -> {t.object}" for t in chain)
        lines.append(f"{start.subject}{steps}")
    return "\n".join(lines)


FORMATS: dict[str, Show] = {
    "stg_paths": stg_paths,
    "kg_triplets": kg_triplets,
    "kg_paths": kg_paths,
    "kg_texts": kg_texts,
}
NEED_FACTS = frozenset(FORMATS) - {"stg_paths"}


def _facts(material: Material) -> list[Triplet]:
    found = [t for block in material.blocks for t in _facts_of(block, material)]
    return list(dict.fromkeys(found))


def _facts_of(block: Block, material: Material) -> list[Triplet]:
    nodes = material.kept.candidates.graph.nodes
    return [t for number in block.nodes for t in material.facts.get(nodes[number].key, ())]
