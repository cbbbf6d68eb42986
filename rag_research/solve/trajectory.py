"""What a question has led to so far: the state that the agents of ToG-3 read and extend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rag_research.graph.heterogeneous import Relation
from rag_research.graph.subgraph import Element, Subgraph, readable
from rag_research.solve.evidence import EVIDENCE_WORDS, fitting
from rag_research.solve.placeholders import same_text
from rag_research.text.normalise import normalise_answer
from rag_research.types import Hit

UNKNOWN = "Unknown"
NOTHING = ("", "none", "nothing", "null", "unknown", "no question", "na")
_UNKNOWN = ("unknown", "not known", "not stated", "not mentioned")


@dataclass(frozen=True, slots=True)
class Round:
    """One query and what came of it.

    Args:
        query: the question itself, or a sub-question.
        subgraph: retrieved and evolved for it.
        kept: elements that the reranker kept for the responder.
        answer: of the responder; empty before it was asked.
        read: ids of the chunks that the constructor read for this query.
    """

    query: str
    subgraph: Subgraph
    kept: tuple[Element, ...] = ()
    answer: str = ""
    read: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Trajectory:
    """H of the paper's algorithm: all rounds so far, never changed, only extended.

    Args:
        question: as asked.
        rounds: the first is the question's own; the last is the present one.
        words: most words of evidence in one prompt.
    """

    question: str
    rounds: tuple[Round, ...]
    words: int = EVIDENCE_WORDS

    @classmethod
    def start(cls, question: str, subgraph: Subgraph, words: int = EVIDENCE_WORDS) -> Trajectory:
        """``H = [(q, G)]``."""
        return cls(question, (Round(question, subgraph),), words)

    def keep(self, elements: Sequence[Element]) -> Trajectory:
        """With what the reranker kept in this round."""
        return self._with(replace(self.present, kept=tuple(elements)))

    def answered(self, answer: str) -> Trajectory:
        """With the answer of this round."""
        return self._with(replace(self.present, answer=answer))

    def evolved(self, query: str, subgraph: Subgraph, read: tuple[str, ...] = ()) -> Trajectory:
        """``H.append((q', G))``; the round before keeps its answer."""
        return replace(self, rounds=(*self.rounds, Round(query, subgraph, read=read)))

    @property
    def present(self) -> Round:
        """The round under way."""
        return self.rounds[-1]

    @property
    def query(self) -> str:
        """What is being asked now."""
        return self.present.query

    @property
    def subgraph(self) -> Subgraph:
        """G of the paper's algorithm."""
        return self.present.subgraph

    @property
    def chunks_read(self) -> frozenset[str]:
        """Chunks that the constructor has read, for whichever query."""
        return frozenset(id for r in self.rounds for id in r.read)

    def asked(self, query: str) -> bool:
        """Whether a query was asked before, in these words."""
        return any(same_text(query, r.query) for r in self.rounds)

    @property
    def findings(self) -> str:
        """Queries that were answered, with their answers, one a line.

        Those that were not are left out: they tell a reader nothing, and a small model repeats
        the word ``Unknown`` when it sees it.
        """
        lines = [f"{r.query} {r.answer}" for r in self.rounds if not is_unknown(r.answer)]
        return "\n".join(dict.fromkeys(lines)) or "nothing"

    @property
    def chunks(self) -> frozenset[str]:
        """Ids of all chunks in any sub-graph."""
        return frozenset(e.id for r in self.rounds for e in r.subgraph.chunks)

    @property
    def relations(self) -> tuple[Relation, ...]:
        """All triplets in any sub-graph, each once, in order."""
        found = [x for r in self.rounds for x in r.subgraph.relations]
        return tuple({x.triplet: x for x in reversed(found)}.values())[::-1]

    @property
    def evidence(self) -> str:
        """Every element of every round, each text once, as far as they fit; kept ones first."""
        return readable(self._evidence[0])

    @property
    def left_out(self) -> int:
        """How many texts of the sub-graphs are not in :attr:`evidence`, for their length."""
        return self._evidence[1]

    @property
    def present_evidence(self) -> str:
        """The present sub-graph, as far as it fits; kept elements first."""
        return readable(fitting(self.subgraph.elements, self.words, self.present.kept)[0])

    @property
    def kept_evidence(self) -> str:
        """What the reranker kept of the present sub-graph, as far as it fits."""
        return readable(fitting(self.present.kept, self.words)[0])

    def passages(self) -> tuple[Hit, ...]:
        """Passages behind the trajectory, without repeats.

        First those of what the reranker kept, round by round, then the rest by score.
        """
        kept = [e for r in self.rounds for e in r.kept]
        rest = [e for r in self.rounds for e in r.subgraph.elements]
        rest.sort(key=lambda e: (-e.score, e.id))
        hits: dict[str, Hit] = {}
        for element in (*kept, *rest):
            for id in element.passages:
                hits.setdefault(id, Hit(id, element.score))
        return tuple(hits.values())

    @property
    def _evidence(self) -> tuple[tuple[Element, ...], int]:
        elements = [e for r in self.rounds for e in r.subgraph.elements]
        return fitting(elements, self.words, [e for r in self.rounds for e in r.kept])

    def _with(self, present: Round) -> Trajectory:
        return replace(self, rounds=(*self.rounds[:-1], present))


def is_unknown(answer: str) -> bool:
    """Whether an answer says nothing, or that it cannot be told; ``A`` and ``The The`` do not."""
    form = normalise_answer(answer)
    return form in _UNKNOWN if form else not any(map(str.isalnum, answer))
