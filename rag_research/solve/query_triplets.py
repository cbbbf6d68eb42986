"""The evolving set of query triplets of one question: resolved, searchable, fuzzy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from rag_research.solve.placeholders import (
    count_variables,
    is_variable,
    match,
    same_text,
    substitute,
    unique,
)
from rag_research.types import Triplet

Counter = Callable[[Triplet], int]
Unifier = Callable[[Iterable[Triplet], Mapping[str, str]], list[Triplet]]


def count_question_marks(triplet: Triplet) -> int:
    """Variables counted by character, as the released T2RAG code does (``compat: released``)."""
    return sum(slot.count("?") for slot in triplet)


def unify_named(pending: Iterable[Triplet], bindings: Mapping[str, str]) -> list[Triplet]:
    """Substitute every bound variable everywhere."""
    return [substitute(t, bindings) for t in pending]


def unify_nothing(pending: Iterable[Triplet], bindings: Mapping[str, str]) -> list[Triplet]:
    """The null object of unification: pending triplets stay as they are."""
    return list(pending)


@dataclass(frozen=True, slots=True)
class QueryTriplets:
    """Query triplets by number of variables: none, exactly one, two or more.

    Args:
        resolved: facts found so far; they only ever grow.
        searchable: one variable each; their known slots make the retrieval queries.
        fuzzy: too little known to search for.
    """

    resolved: tuple[Triplet, ...] = ()
    searchable: tuple[Triplet, ...] = ()
    fuzzy: tuple[Triplet, ...] = ()

    @classmethod
    def sort(cls, triplets: Iterable[Triplet], count: Counter = count_variables) -> QueryTriplets:
        """Sort triplets by their number of variables.

        Args:
            triplets: in the order they should keep.
            count: number of variables of one triplet.
        """
        kinds: tuple[list[Triplet], list[Triplet], list[Triplet]] = ([], [], [])
        for triplet in unique(triplets):
            kinds[min(count(triplet), 2)].append(triplet)
        return cls(*(tuple(kind) for kind in kinds))

    @property
    def pending(self) -> tuple[Triplet, ...]:
        """What is still to be found, searchable triplets first."""
        return self.searchable + self.fuzzy

    def fill(
        self,
        filled: Iterable[Triplet],
        unify: Unifier = unify_named,
        count: Counter = count_variables,
    ) -> QueryTriplets:
        """Take in what the model filled, bind variables everywhere, and sort again.

        A filled triplet replaces the pending triplets it answers: among those it matches with
        most known ends, the ones of its predicate, else the one of the most similar predicate.
        One that matches none is taken as new. Pending triplets nobody filled stay pending, to
        be tried again.

        Args:
            filled: triplets with as few variables as the model could leave.
            unify: carries bindings over to the other pending triplets.
            count: number of variables of one triplet.
        """
        pending = list(self.pending)
        fresh: list[Triplet] = []
        bindings: dict[str, str] = {}
        for fact in filled:
            taken = _meant(fact, [p for p in pending if _narrows(p, fact, count)])
            for pattern in taken:
                for name, value in (match(pattern, fact) or {}).items():
                    bindings.setdefault(name, value)
            pending = [p for p in pending if p not in taken]
            if taken or fact not in self.pending:
                fresh.append(fact)
        return QueryTriplets.sort([*self.resolved, *unify([*fresh, *pending], bindings)], count)


def _narrows(pattern: Triplet, fact: Triplet, count: Counter) -> bool:
    return count(fact) < count(pattern) and match(pattern, fact) is not None


def _meant(fact: Triplet, candidates: list[Triplet]) -> list[Triplet]:
    """The candidates a fact answers: those with most known ends, then the same predicate.

    Known ends come first, or the father of Ann would also be taken as the father of ?father.
    """
    if not candidates:
        return []
    most = min(_variable_ends(p) for p in candidates)
    anchored = [p for p in candidates if _variable_ends(p) == most]
    exact = [p for p in anchored if same_text(p.predicate, fact.predicate)]
    words = set(fact.predicate.lower().split())
    best = max(anchored, key=lambda p: len(words & set(p.predicate.lower().split())))
    return exact or [best]


def _variable_ends(triplet: Triplet) -> int:
    return is_variable(triplet.subject) + is_variable(triplet.object)


def consume(
    state: QueryTriplets, filled: Iterable[Triplet], unify: Unifier, count: Counter
) -> QueryTriplets:
    """The released code's update: what was handed to the model is gone afterwards.

    An unanswered triplet is not tried again, and a new one with two or more variables is lost.
    """
    new = QueryTriplets.sort(filled, count)
    return QueryTriplets(unique([*state.resolved, *new.resolved]), new.searchable, ())


def retain(
    state: QueryTriplets, filled: Iterable[Triplet], unify: Unifier, count: Counter
) -> QueryTriplets:
    """The paper's update: :meth:`QueryTriplets.fill`."""
    return state.fill(filled, unify, count)
