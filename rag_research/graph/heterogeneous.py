"""One graph of chunks, triplets and communities, all in one vector space.

Nodes are chunks of text, triplets taken from them, and communities of entities with their
summaries. Three kinds of edges, none of them stored twice:

* OPENREL: two triplets share an entity (a triplet is an open relation between two entities);
* MENTIONEDIN: a triplet was taken from a chunk;
* SUMMARYFOR: a community's summary covers an entity, and so the triplets of that entity.

Source: ToG-3 (arXiv 2509.21710), the heterogeneous index.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from rag_research.errors import DataError
from rag_research.index.selection import Rows, Scores, top_hits
from rag_research.text.entities import entity_key
from rag_research.text.normalise import text_key
from rag_research.types import Entity, Hit, Triplet

__all__ = [
    "HUB_LIMIT",
    "KINDS",
    "Entity",
    "HeterogeneousGraph",
    "Kind",
    "Node",
    "Origin",
    "Relation",
    "VectorSearch",
    "chunk_node_id",
    "community_node_id",
    "triplet_node_id",
]

Kind = Literal["chunk", "triplet", "community"]
Origin = Literal["extracted", "refined", "inferred"]
Vectors = NDArray[np.float32]

KINDS: tuple[Kind, ...] = ("chunk", "triplet", "community")
HUB_LIMIT = 50


class VectorSearch(Protocol):
    """What ranks the nodes of one kind; a dense retriever does."""

    def search_vectors(self, queries: Vectors, k: int) -> list[list[Hit]]:
        """[B, D] -> B lists of at most k hits, sorted by ``(-score, id)``."""
        ...


@dataclass(frozen=True, slots=True)
class Relation:
    """A triplet with where it comes from.

    Args:
        triplet: subject, predicate, object.
        chunk: id of the chunk node it was taken from; empty when it was taken from none.
        origin: taken from the text, rewritten from such a one, or added by a model.
    """

    triplet: Triplet
    chunk: str = ""
    origin: Origin = "extracted"

    @property
    def text(self) -> str:
        """How it is embedded and shown."""
        return self.triplet.proposition

    @property
    def entity_keys(self) -> tuple[str, ...]:
        """Keys of subject and object; one key where both are the same entity."""
        keys = (entity_key(self.triplet.subject), entity_key(self.triplet.object))
        return tuple(dict.fromkeys(keys))


@dataclass(frozen=True, slots=True)
class Node:
    """A node of any kind.

    Args:
        id: ``chunk:...``, ``triplet:...`` or ``community:...``; the same text gives the same id.
        kind: which of the three.
        text: what is embedded and what the model reads.
    """

    id: str
    kind: Kind
    text: str


def chunk_node_id(chunk: str) -> str:
    """Id of the node of a chunk."""
    return f"chunk:{chunk}"


def triplet_node_id(relation: Relation) -> str:
    """Id of the node of a triplet of one chunk; the same in every build."""
    return f"triplet:{text_key(*relation.triplet, relation.chunk)[:16]}"


def community_node_id(members: Iterable[str]) -> str:
    """Id of the node of a community of entity keys, in any order."""
    return f"community:{text_key(*sorted(members))[:16]}"


class HeterogeneousGraph:
    """Nodes of three kinds, their vectors and their edges.

    Args:
        nodes: in any order; they are put into the canonical one: chunks, triplets,
            communities, each sorted by id.
        vectors: of ``nodes``, in the same order, unit length. [V, D]
        entities: by :func:`~rag_research.text.entities.entity_key`; those of ``relations`` that
            are not there are added, with the name alone.
        relations: by id of the triplet node.
        members: entity keys of each community, by id of its node.
        passage_of: passage behind each chunk, by id of the chunk node; a chunk that is not
            there is taken to be the passage of that name.
        searchers: what ranks the nodes of a kind, where an index is there; other kinds are
            compared one by one.
        hub_limit: most neighbours that one node gets over one kind of edge. Where there are
            more, those most similar to it are taken (ties by id), so an entity with ten
            thousand relations costs one product of that size and brings ``hub_limit`` nodes.

    Raises:
        DataError: an id occurs twice, or nodes, vectors and relations do not fit together.
    """

    def __init__(
        self,
        nodes: Iterable[Node],
        vectors: Vectors,
        entities: Mapping[str, Entity],
        relations: Mapping[str, Relation],
        members: Mapping[str, Sequence[str]] | None = None,
        passage_of: Mapping[str, str] | None = None,
        searchers: Mapping[Kind, VectorSearch] | None = None,
        hub_limit: int = HUB_LIMIT,
    ) -> None:
        given = list(nodes)
        order = sorted(range(len(given)), key=lambda i: _place(given[i]))
        self.nodes = tuple(given[i] for i in order)
        self.vectors: Vectors = vectors if order == sorted(order) else vectors[order]
        self.relations = dict(sorted(relations.items()))
        self.members = {id: tuple(sorted(keys)) for id, keys in sorted((members or {}).items())}
        self.passage_of = dict(sorted((passage_of or {}).items()))
        self.hub_limit = hub_limit
        self._searchers = dict(searchers or {})
        self._row = {node.id: row for row, node in enumerate(self.nodes)}
        self._check()
        self._rows = _rows(self.nodes)
        self._keys = {id: relation.entity_keys for id, relation in self.relations.items()}
        self.entities = dict(sorted((self._mentioned() | dict(entities)).items()))
        self._triplets_of = _grouped((k, id) for id, keys in self._keys.items() for k in keys)
        self._triplets_in = _grouped((r.chunk, id) for id, r in self.relations.items())
        self._communities_of = _grouped((k, id) for id, keys in self.members.items() for k in keys)

    def __len__(self) -> int:
        return len(self.nodes)

    def __contains__(self, id: object) -> bool:
        return id in self._row

    def node(self, id: str) -> Node:
        """The node with this id.

        Raises:
            DataError: there is none.
        """
        return self.nodes[self.row(id)]

    def row(self, id: str) -> int:
        """Where a node stands in :attr:`nodes` and :attr:`vectors`.

        Raises:
            DataError: there is no such node.
        """
        try:
            return self._row[id]
        except KeyError:
            raise DataError(f"The graph has no node with the id {id!r}.") from None

    def of_kind(self, kind: Kind) -> tuple[Node, ...]:
        """The nodes of one kind, sorted by id."""
        rows = self._rows[kind]
        return self.nodes[rows.start : rows.stop]

    def triplets_of(self, key: str) -> tuple[str, ...]:
        """All triplet nodes that name an entity, sorted by id."""
        return self._triplets_of.get(key, ())

    def triplets_in(self, chunk: str) -> tuple[str, ...]:
        """All triplet nodes taken from a chunk node, sorted by id."""
        return self._triplets_in.get(chunk, ())

    def communities_of(self, key: str) -> tuple[str, ...]:
        """All community nodes that an entity belongs to, sorted by id."""
        return self._communities_of.get(key, ())

    def triplets_inside(self, community: str) -> tuple[str, ...]:
        """Triplet nodes whose subject and object both belong to a community, sorted by id."""
        members = set(self.members.get(community, ()))
        touching = {id for key in members for id in self.triplets_of(key)}
        inside = (id for id in touching if members.issuperset(self._keys[id]))
        return tuple(sorted(inside))

    def neighbours(self, id: str) -> tuple[str, ...]:
        """Nodes one edge away, sorted by id, at most ``hub_limit`` over each kind of edge.

        Raises:
            DataError: there is no such node.
        """
        node = self.node(id)
        found: set[str] = set()
        if node.kind == "chunk":
            found.update(self._nearest(id, self.triplets_in(id)))
        elif node.kind == "triplet":
            keys = self._keys[id]
            found.update(self._nearest(id, {t for key in keys for t in self.triplets_of(key)}))
            found.update(self._nearest(id, {c for key in keys for c in self.communities_of(key)}))
            found.update({self.relations[id].chunk} & self._row.keys())
        else:
            keys = self.members[id]
            found.update(self._nearest(id, {t for key in keys for t in self.triplets_of(key)}))
        return tuple(sorted(found - {id}))

    def search(self, vectors: Vectors, k: int, kinds: Collection[Kind] = KINDS) -> list[list[Hit]]:
        """The nodes with the highest cosine, sorted by ``(-score, id)``.

        Args:
            vectors: unit vectors of the queries. [B, D]
            k: at most this many hits a query.
            kinds: which nodes compete; all of them in one list.
        """
        queries = np.ascontiguousarray(vectors, np.float32)
        pooled: list[list[Hit]] = [[] for _ in queries]
        for kind in KINDS:
            if kind in kinds and self._rows[kind] and k > 0:
                for found, hits in zip(pooled, self._search(kind, queries, k), strict=True):
                    found.extend(hits)
        return [sorted(found, key=lambda hit: (-hit.score, hit.id))[:k] for found in pooled]

    def passages(self, id: str) -> tuple[str, ...]:
        """Ids of the passages behind a node.

        That of a chunk; that of a triplet's chunk; those of the triplets inside a community,
        the passages of most triplets first, then by id.

        Raises:
            DataError: there is no such node.
        """
        node = self.node(id)
        if node.kind == "chunk":
            return (self._passage(id),)
        if node.kind == "triplet":
            chunk = self.relations[id].chunk
            return (self._passage(chunk),) if chunk else ()
        chunks = (self.relations[t].chunk for t in self.triplets_inside(id))
        counts = Counter(self._passage(chunk) for chunk in chunks if chunk)
        return tuple(sorted(counts, key=lambda passage: (-counts[passage], passage)))

    def _search(self, kind: Kind, queries: Vectors, k: int) -> list[list[Hit]]:
        if kind in self._searchers:
            return self._searchers[kind].search_vectors(queries, k)
        rows = self._rows[kind]
        stored = self.vectors[rows.start : rows.stop]

        def candidates(which: NDArray[np.intp], m: int) -> tuple[Scores, Rows]:
            scores = queries[which] @ stored.T
            best = np.argsort(-scores, axis=1, kind="stable")[:, :m]
            return np.take_along_axis(scores, best, axis=1), best.astype(np.int64)

        ids = [node.id for node in self.of_kind(kind)]
        return top_hits(candidates, ids, len(queries), k)

    def _nearest(self, id: str, others: Iterable[str]) -> list[str]:
        """``hub_limit`` of ``others`` by similarity to a node, ties by id."""
        ids = sorted(set(others) - {id})
        if len(ids) <= self.hub_limit:
            return ids
        rows = [self._row[other] for other in ids]
        scores = np.round(self.vectors[rows] @ self.vectors[self._row[id]], 6)
        best = np.argsort(-scores, kind="stable")[: self.hub_limit]
        return [ids[i] for i in best]

    def _mentioned(self) -> dict[str, Entity]:
        """The entities of the relations."""
        return {
            keys[place]: Entity(name)
            for id, keys in self._keys.items()
            for place, name in (
                (0, self.relations[id].triplet.subject),
                (-1, self.relations[id].triplet.object),
            )
        }

    def _passage(self, chunk: str) -> str:
        return self.passage_of.get(chunk, chunk.removeprefix("chunk:"))

    def _check(self) -> None:
        if len(self._row) != len(self.nodes):
            twice = next(id for id, n in Counter(n.id for n in self.nodes).items() if n > 1)
            raise DataError(f"The graph has two nodes with the id {twice!r}. Ids must be unique.")
        if self.vectors.ndim != 2 or len(self.vectors) != len(self.nodes):
            raise DataError(
                f"The graph has {len(self.nodes)} nodes and vectors of shape "
                f"{self.vectors.shape}; expected one vector a node."
            )
        for kind, keyed in (("triplet", self.relations), ("community", self.members)):
            nodes = {node.id for node in self.nodes if node.kind == kind}
            if odd := sorted(nodes ^ keyed.keys()):
                raise DataError(
                    f"The graph's {kind} nodes and what is known of them do not fit: {odd[0]!r} "
                    f"is in one of them only ({len(odd)} such ids)."
                )


def _place(node: Node) -> tuple[int, str]:
    return KINDS.index(node.kind), node.id


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    groups: dict[str, list[str]] = {}
    for key, id in pairs:
        groups.setdefault(key, []).append(id)
    return {key: tuple(sorted(ids)) for key, ids in groups.items()}


def _rows(nodes: Sequence[Node]) -> dict[Kind, range]:
    """Where the nodes of each kind stand among all, which are in canonical order."""
    counts = Counter(node.kind for node in nodes)
    ends = np.cumsum([counts[kind] for kind in KINDS]).tolist()
    return {k: range(end - counts[k], end) for k, end in zip(KINDS, ends, strict=True)}
