"""Names by spelling: hand cases, scripts, and work that grows with the text only."""

import sys
from collections.abc import Callable

import pytest

from rag_research.graph.corpus_entities import (
    NameDictionary,
    folded_words,
    key_hash,
    leading_name,
    name_key,
    named,
    title_key,
)


def _found(text: str, *titles: str) -> dict[str, list[str]]:
    """Each name with what the text spells from where it starts."""
    return {
        key: [text[at : at + len(key)] for at in sorted(places)]
        for key, places in named(text, NameDictionary(titles)).items()
    }


def test_a_title_inside_a_text_is_found_without_its_disambiguation() -> None:
    text = "She joined Machine (the band) after the machine broke."
    assert _found(text, "Machine (band)") == {"machine": ["Machine"]}


def test_the_longest_title_wins_and_words_are_used_once() -> None:
    text = "in New York City and New York"
    names = NameDictionary(["New York", "New York City", "York"])
    found = names.find(text, folded_words(text))
    assert [(key, text[a:b]) for key, a, b in found] == [
        ("new york city", "New York City"),
        ("new york", "New York"),
    ]


@pytest.mark.parametrize("text", ["a lone oak stood", "an OAKEN table", "soak"])
def test_a_lower_case_word_and_a_part_of_a_word_are_no_mention(text: str) -> None:
    assert "oak" not in named(text, NameDictionary(["Oak"]))


def test_case_of_later_words_does_not_count() -> None:
    text = "the War And peace novel"
    assert named(text, NameDictionary(["War and Peace"]))["war and peace"] == [4]


def test_articles_and_spelling_variants_meet() -> None:
    assert title_key("The Beatles") == title_key("Beatles (group)") == "beatles"
    assert title_key("The") == "the"
    assert name_key(["a", "b"]) == "b"
    assert set(_found("We saw The Beatles and Ｂeatles.", "Beatles")) >= {"beatles"}
    assert len(named("The Beatles. Ｂeatles.", NameDictionary(["Beatles"]))["beatles"]) == 2


def test_accents_do_not_count() -> None:
    assert title_key("Émile Chautard") == title_key("Emile Chautard") == "emile chautard"
    assert title_key("E\u0301mile") == "emile"
    assert title_key("Ёлка") == title_key("Елка")
    assert title_key("한국") == "한국"


def test_titles_that_would_be_everywhere_are_not_looked_for() -> None:
    names = NameDictionary(["The", "It", "X", "  ", "", "(band)", "Os"])
    text = "The It X Os"
    assert names.find(text, folded_words(text)) == []


def test_runs_of_capitals_are_names_too() -> None:
    text = "In 1920 Anna of Bohemia met King John II near Ulm."
    assert _found(text) == {
        "anna of bohemia": ["Anna of Bohemia"],
        "king john ii": ["King John II"],
        "ulm": ["Ulm"],
    }


def test_numbers_alone_are_names_only_as_titles() -> None:
    assert _found("1984 appeared in 1949.") == {}
    assert _found("1984 appeared in 1949.", "1984") == {"1984": ["1984"]}


def test_a_title_that_is_a_capitalised_run_is_counted_once_a_place() -> None:
    found = named("Ulm is old. Ulm is big.", NameDictionary(["Ulm", "Ulm", "ULM (city)"]))
    assert found == {"ulm": [0, 12]}


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("首都は「東京」です。", "東京"),
        ("زار أحمد مدينة القاهرة في الصيف", "القاهرة"),
        ("Столица — Москва.", "Москва"),
        ("Der Weg nach STRASSE führt", "Straße"),
    ],
)
def test_any_script(text: str, title: str) -> None:
    assert title_key(title) in named(text, NameDictionary([title]))


def test_a_script_without_spaces_hides_titles_inside_its_runs() -> None:
    assert named("東京は首都です。", NameDictionary(["東京"])) == {}


def test_hashes_are_stable_and_sixty_four_bits() -> None:
    assert key_hash("ulm") == key_hash("ulm") != key_hash("Ulm")
    assert 0 <= key_hash("東京") < 2**64


def _steps(run: Callable[[], object]) -> int:
    """Lines of this package that running takes: a measure of work without a clock."""
    count = 0

    def trace(frame: object, event: str, _: object) -> object:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)  # type: ignore[arg-type]
    try:
        run()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("unit", ["Rome. ", "Old Rome fell of the ", "a b ", "of the "])
def test_work_grows_with_the_length_of_the_text(unit: str) -> None:
    names = NameDictionary(["Rome", "Old Rome Fell Again"])
    short, long = unit * (2_000 // len(unit)), unit * (20_000 // len(unit))
    assert _steps(lambda: named(long, names)) <= 12 * _steps(lambda: named(short, names))


def test_a_text_of_two_hundred_thousand_characters_with_one_name() -> None:
    text = "Rome. " * 33_334
    # A look-up of each place among all the earlier ones would take half a billion steps here.
    assert len(named(text, NameDictionary(["Rome"]))["rome"]) == 33_334


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Mira Okafor (1891) made films.", "mira okafor"),
        ("The Golden Wheel is a boat.", "golden wheel"),
        ('"Silent Harbour" is a film by Mira Okafor.', "silent harbour"),
        ("Ulm lies on a river.", ""),
        ("In Old Ulm there was a tower.", ""),
        ("She met Mira Okafor.", ""),
        ("no names here", ""),
        ("", ""),
    ],
)
def test_the_name_a_text_starts_with(text: str, name: str) -> None:
    assert leading_name(text) == name
