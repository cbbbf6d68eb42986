"""Entities and how triplets connect them: what communities are found in."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rag_research.graph.heterogeneous import Relation, chunk_node_id, triplet_node_id
from rag_research.text.entities import entity_key
from rag_research.types import Entity, Triplet

Edge = tuple[str, str, float]


@dataclass(frozen=True, slots=True)
class EntityGraph:
    """An undirected weighted graph; the same triplets give the same graph in any order.

    Args:
        entities: by key, sorted.
        relations: by id of the triplet node, sorted. A triplet that two chunks hold is there
            twice.
        edges: pairs of keys, the smaller one first, sorted; the weight is the number of
            relations between the two. A relation of an entity with itself is no edge.
    """

    entities: Mapping[str, Entity]
    relations: Mapping[str, Relation]
    edges: tuple[Edge, ...]


def build_entity_graph(
    triplets: Mapping[str, Sequence[Triplet]], described: Mapping[str, Sequence[Entity]]
) -> EntityGraph:
    """The entities of all chunks, equal ones merged.

    Of several mentions the most frequent name and type and the longest description are kept
    (ties: the first in the alphabet).

    Args:
        triplets: by chunk id. One whose subject or object has no letter or digit is left out.
        described: what is said of entities, by chunk id; need not be complete.
    """
    relations: dict[str, Relation] = {}
    weights: Counter[tuple[str, str]] = Counter()
    mentions: dict[str, list[Entity]] = defaultdict(list)
    for chunk, rows in triplets.items():
        for triplet in rows:
            relation = Relation(triplet, chunk_node_id(chunk))
            keys = relation.entity_keys
            if not all(keys):
                continue
            relations[triplet_node_id(relation)] = relation
            for name in (triplet.subject, triplet.object):
                mentions[entity_key(name)].append(Entity(name))
            if len(keys) == 2:
                weights[min(keys), max(keys)] += 1
    for entity in (e for rows in described.values() for e in rows):
        if (key := entity_key(entity.name)) in mentions:
            mentions[key].append(entity)
    return EntityGraph(
        {key: _merged(mentions[key]) for key in sorted(mentions)},
        dict(sorted(relations.items())),
        tuple((a, b, float(weights[a, b])) for a, b in sorted(weights)),
    )


def components(edges: Iterable[Edge]) -> list[list[Edge]]:
    """The edges of each connected component, in the given order; components by first edge."""
    parent: dict[str, str] = {}

    def root(key: str) -> str:
        while parent.setdefault(key, key) != key:
            parent[key] = parent[parent[key]]
            key = parent[key]
        return key

    kept = list(edges)
    for a, b, _ in kept:
        parent[root(b)] = root(a)
    groups: dict[str, list[Edge]] = {}
    for edge in kept:
        groups.setdefault(root(edge[0]), []).append(edge)
    return list(groups.values())


def _merged(mentions: Sequence[Entity]) -> Entity:
    return Entity(
        _most_frequent(m.name for m in mentions),
        _most_frequent(m.type for m in mentions if m.type),
        min((m.description for m in mentions), key=lambda text: (-len(text), text)),
    )


def _most_frequent(values: Iterable[str]) -> str:
    counts = Counter(values)
    return min(counts, key=lambda value: (-counts[value], value), default="")
