"""From a set of spans to text: order, blocks, and the words between them."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rag_research.graph.candidates import Candidates

GAP = " ... "
Relevance = Literal["highest", "sum", "retrieval"]
Linearise = Callable[["Kept"], "list[Block]"]


@dataclass(frozen=True, slots=True)
class Kept:
    """Spans to be shown.

    Args:
        candidates: with their energies.
        nodes: numbers of the kept spans.
        relevance: what orders documents.
        seed: of shuffling.
    """

    candidates: Candidates
    nodes: Sequence[int]
    relevance: Relevance = "highest"
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Block:
    """Spans shown together, in this order, below a title."""

    title: str
    nodes: Sequence[int]


def document_ranking(kept: Kept) -> list[tuple[str, float]]:
    """Documents of the kept spans with their relevance, best first.

    Relevance is the highest energy of a kept span (or the sum, or the retrieval score); ties
    go by retrieval score, then id.
    """
    candidates = kept.candidates
    energies: dict[str, list[float]] = {}
    for number in kept.nodes:
        document = candidates.graph.nodes[number].span.document_id
        energies.setdefault(document, []).append(float(candidates.energy[number]))
    found = {d: candidates.retrieval.get(d, 0.0) for d in energies}
    value = {
        "highest": {d: max(held) for d, held in energies.items()},
        "sum": {d: sum(held) for d, held in energies.items()},
        "retrieval": found,
    }[kept.relevance]
    order = sorted(energies, key=lambda d: (-value[d], -found[d], d))
    return [(document, value[document]) for document in order]


def document_order(kept: Kept) -> list[Block]:
    """A block for each document, the most relevant first, its spans by offset."""
    nodes = kept.candidates.graph.nodes
    spans: dict[str, list[int]] = {}
    for number in sorted(kept.nodes, key=lambda n: nodes[n].key):
        spans.setdefault(nodes[number].span.document_id, []).append(number)
    ranked = [document for document, _ in document_ranking(kept)]
    return [Block(nodes[spans[d][0]].title, spans[d]) for d in ranked]


def energy_order(kept: Kept) -> list[Block]:
    """No linearisation: bare spans, the highest energy first."""
    energy = kept.candidates.energy
    order = sorted(kept.nodes, key=lambda n: (-energy[n], n))
    return [Block("", [number]) for number in order]


def shuffled(kept: Kept) -> list[Block]:
    """Bare spans in an order drawn by seed and question."""
    order = sorted(kept.nodes)
    random.Random(f"{kept.seed}:{kept.candidates.query.text}").shuffle(order)
    return [Block("", [number]) for number in order]


LINEARISATIONS: dict[str, Linearise] = {
    "document_order": document_order,
    "energy_order": energy_order,
    "shuffled": shuffled,
}


def block_text(block: Block, kept: Kept, texts: Mapping[str, str]) -> str:
    """Title, then the spans: neighbours with the original text between them, else a gap.

    Args:
        block: its spans are of one document.
        kept: where its numbers point to.
        texts: text of each document.
    """
    pieces: list[tuple[int, int]] = []
    document, last = "", -2
    for number in block.nodes:
        node = kept.candidates.graph.nodes[number]
        document = node.span.document_id
        if node.position == last + 1:
            pieces[-1] = (pieces[-1][0], node.span.end)
        else:
            pieces.append((node.span.start, node.span.end))
        last = node.position
    runs = [run for start, end in pieces if (run := texts[document][start:end].strip())]
    return f"{block.title}\n{GAP.join(runs)}" if block.title else GAP.join(runs)
