from hypothesis import given
from hypothesis import strategies as st

from rag_research.solve.placeholders import count_variables
from rag_research.solve.query_triplets import (
    QueryTriplets,
    consume,
    count_question_marks,
    retain,
    unify_named,
    unify_nothing,
)
from rag_research.types import Triplet

DIRECTOR = Triplet("Salt Road", "director", "?d")
BIRTH = Triplet("?d", "born in", "?place")
slots = st.sampled_from(["?", "?a", "?b", "Ann", "Bob", "Who?"])
triplets = st.lists(st.builds(Triplet, slots, st.sampled_from(["r", "s"]), slots), max_size=6)


def test_sorted_by_number_of_variables() -> None:
    fact = Triplet("Ann", "knows", "Bob")
    state = QueryTriplets.sort([BIRTH, DIRECTOR, fact, DIRECTOR])
    assert state == QueryTriplets((fact,), (DIRECTOR,), (BIRTH,))


def test_a_bound_variable_makes_a_fuzzy_triplet_searchable_without_a_call() -> None:
    state = QueryTriplets.sort([DIRECTOR, BIRTH])
    after = state.fill([Triplet("Salt Road", "director", "Mia Orr")])
    assert after.resolved == (Triplet("Salt Road", "director", "Mia Orr"),)
    assert after.searchable == (Triplet("Mia Orr", "born in", "?place"),)
    assert after.fuzzy == ()


def test_without_unification_the_fuzzy_triplet_waits() -> None:
    state = QueryTriplets.sort([DIRECTOR, BIRTH])
    after = state.fill([Triplet("Salt Road", "director", "Mia Orr")], unify=unify_nothing)
    assert after.fuzzy == (BIRTH,)
    assert after.searchable == ()


def test_an_unanswered_triplet_stays_to_be_tried_again() -> None:
    other = Triplet("Dune Sea", "director", "?e")
    state = QueryTriplets.sort([DIRECTOR, other])
    after = state.fill([Triplet("Salt Road", "director", "Mia Orr")])
    assert after.searchable == (other,)


def test_a_fact_answers_the_triplet_it_was_meant_for() -> None:
    shown = Triplet("Salt Road", "shown in", "?town")
    after = QueryTriplets.sort([shown, DIRECTOR]).fill([Triplet("Salt Road", "director", "Mia")])
    assert after.searchable == (shown,)
    reworded = Triplet("Salt Road", "was shown at", "Keld")
    assert QueryTriplets.sort([DIRECTOR, shown]).fill([reworded]).searchable == (DIRECTOR,)


def test_a_chain_of_one_relation_is_filled_from_its_known_end() -> None:
    chain = [Triplet("Ann", "father", "?f"), Triplet("?f", "father", "?g")]
    after = QueryTriplets.sort(chain).fill([Triplet("Ann", "father", "Bob")])
    assert after.resolved == (Triplet("Ann", "father", "Bob"),)
    assert after.searchable == (Triplet("Bob", "father", "?g"),)


def test_a_fuzzy_triplet_is_upgraded_in_place() -> None:
    fuzzy = Triplet("?film", "directed by", "?d")
    after = QueryTriplets.sort([fuzzy]).fill([Triplet("Salt Road", "directed by", "?d")])
    assert after == QueryTriplets((), (Triplet("Salt Road", "directed by", "?d"),), ())


def test_a_new_triplet_with_two_variables_is_kept() -> None:
    new = Triplet("?x", "spouse", "?y")
    after = QueryTriplets.sort([DIRECTOR]).fill([new])
    assert after.fuzzy == (new,)
    assert after.searchable == (DIRECTOR,)


def test_an_echoed_triplet_changes_nothing() -> None:
    state = QueryTriplets.sort([DIRECTOR, BIRTH])
    assert state.fill([DIRECTOR, BIRTH]) == state


def test_two_values_of_one_variable_are_both_facts_and_the_first_is_carried_over() -> None:
    state = QueryTriplets.sort([DIRECTOR, BIRTH])
    first, second = (Triplet("Salt Road", "director", name) for name in ("Mia Orr", "Jo Fen"))
    after = state.fill([first, second])
    assert after.resolved == (first, second)
    assert after.searchable == (Triplet("Mia Orr", "born in", "?place"),)


def test_released_code_consumes_what_it_hands_over() -> None:
    state = QueryTriplets.sort([DIRECTOR, Triplet("Dune Sea", "director", "?e"), BIRTH])
    lost = Triplet("?x", "spouse", "?y")
    filled = [Triplet("Salt Road", "director", "Mia Orr"), lost]
    after = consume(state, filled, unify_named, count_question_marks)
    assert after == QueryTriplets((Triplet("Salt Road", "director", "Mia Orr"),), (), ())
    kept = retain(state, filled, unify_named, count_variables)
    assert Triplet("Dune Sea", "director", "?e") in kept.searchable and lost in kept.fuzzy


def test_released_code_counts_characters() -> None:
    title = Triplet("Whatever Happened to Baby Jane?", "director", "?d")
    assert QueryTriplets.sort([title], count_question_marks).fuzzy == (title,)
    assert QueryTriplets.sort([title], count_variables).searchable == (title,)


@given(triplets, triplets)
def test_resolved_facts_only_grow_and_nothing_is_listed_twice(
    start: list[Triplet], filled: list[Triplet]
) -> None:
    before = QueryTriplets.sort(start)
    after = before.fill(filled)
    assert set(before.resolved) <= set(after.resolved)
    everything = [*after.resolved, *after.searchable, *after.fuzzy]
    assert len(everything) == len(set(everything))
    assert all(count_variables(t) == 0 for t in after.resolved)
    assert all(count_variables(t) == 1 for t in after.searchable)
    assert all(count_variables(t) >= 2 for t in after.fuzzy)
