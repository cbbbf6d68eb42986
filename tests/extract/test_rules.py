"""Dependency rules on hand-written passages, with the real parser."""

from pathlib import Path
from typing import Any

import pytest

from rag_research.corpus.corpus import Corpus
from rag_research.errors import ModelNotFoundError
from rag_research.extract.rules import (
    BATCH,
    MASK,
    PIECE,
    Rules,
    RulesConfig,
    mask_title,
    piped,
    split_long,
)
from rag_research.extract.triplets import Extraction
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.runtime.weights import resolve_model
from rag_research.types import Passage, Triplet

spacy = pytest.importorskip("spacy")


def fetched() -> bool:
    try:
        resolve_model(RulesConfig().model)
    except ModelNotFoundError:
        return False
    return True


needs_model = pytest.mark.skipif(
    not fetched(), reason="run: rag-research models fetch en-core-web-sm"
)

CASES: list[tuple[str, str, tuple[str, str, str]]] = [
    ("Ilka Sund", "Ilka Sund was born in Paris.", ("Ilka Sund", "was born in", "Paris")),
    ("", "Anna married Peter in 1950.", ("Anna", "married", "Peter")),
    ("", "Anna married Peter in 1950.", ("Anna", "married Peter in", "1950")),
    ("", "John gave up the throne.", ("John", "gave up", "the throne")),
    ("", "The tower was not built by Peter.", ("The tower", "was not built by", "Peter")),
    ("", "Paris is the capital of France.", ("Paris", "is the capital of", "France")),
    ("", "Paris is the capital of France.", ("Paris", "is", "the capital of France")),
    ("", "John Smith, a French painter, lived in Rome.", ("John Smith", "is", "a French painter")),
    ("", "Peter and Anna visited London.", ("Anna", "visited", "London")),
    ("", "Peter visited London and Rome.", ("Peter", "visited", "Rome")),
    ("", "John's wife Mary moved to Berlin.", ("John", "wife", "Mary")),
    ("", "John's father was Peter Brown.", ("John", "father", "Peter Brown")),
    ("", "Mary met John, who founded the bank.", ("John", "founded", "the bank")),
    ("", "Mary began to work for Peter.", ("Mary", "began to work for", "Peter")),
    ("", "Mary lived in Rome from 1980 to 1981.", ("Mary", "lived from", "1980 to 1981")),
    ("", "Anna was a daughter of John Brown and his wife Mary.", ("John Brown", "wife", "Mary")),
    ("", "John was the son of Peter and Mary.", ("John", "was the son of", "Mary")),
    ("Ilka Sund", "Ilka Sund was a painter. She moved to Rome.", ("Ilka Sund", "moved to", "Rome")),
    ("Ilka Sund", "Ilka Sund was a painter. Sund loved Rome.", ("Ilka Sund", "loved", "Rome")),
    (
        "Ilka Sund",
        "Ilka Maria Sund was a painter. Her husband was John Brown.",
        ("Ilka Sund", "husband", "John Brown"),
    ),
    (
        "Ilka Sund",
        "Ilka Sund (3 May 1950 – 4 June 2000) was a painter.",
        ("Ilka Sund", "died on", "4 June 2000"),
    ),
    (
        "Night Tide (1990 film)",
        "Night Tide is a 1990 drama film directed by John Brown.",
        ("Night Tide (1990 film)", "was directed by", "John Brown"),
    ),
    (
        "Night Tide (1990 film)",
        "Night Tide is a 1990 drama film starring Mary Green, directed by John Brown.",
        ("Night Tide (1990 film)", "was directed by", "John Brown"),
    ),
    (
        "Night Tide (1990 film)",
        "Night Tide is a 1990 film written and directed by John Brown. The film won a prize.",
        ("Night Tide (1990 film)", "was written by", "John Brown"),
    ),
    (
        "Night Tide (1990 film)",
        "Night Tide is a 1990 film. The film was shot in Venice.",
        ("Night Tide (1990 film)", "was shot in", "Venice"),
    ),
    (
        "Who Goes There?",
        "Who Goes There? is a 1990 comedy film directed by John Brown.",
        ("Who Goes There?", "was directed by", "John Brown"),
    ),
    (
        "Night Tide",
        "Night Tide is a 1990 film. The music was composed by Mary Green.",
        ("Night Tide's music", "was composed by", "Mary Green"),
    ),
    (
        "Vell",
        "Vell is a village in Fasa County, Iran.",
        ("Vell", "is a village in", "Fasa County, Iran"),
    ),
]


def extract(store: Path, *passages: Passage, **settings: Any) -> Extraction:
    return Rules(RulesConfig(**settings)).extract(Corpus(passages), ArtifactStore(store))


@pytest.fixture(scope="module")
def all_cases(tmp_path_factory: pytest.TempPathFactory) -> Extraction:
    passages = [Passage(str(n), title, text) for n, (title, text, _) in enumerate(CASES)]
    return extract(tmp_path_factory.mktemp("rules"), *passages)


@needs_model
@pytest.mark.parametrize("number", range(len(CASES)), ids=[" ".join(c[2])[:50] for c in CASES])
def test_sentence(all_cases: Extraction, number: int) -> None:
    assert Triplet(*CASES[number][2]) in all_cases.triplets[str(number)]


@needs_model
def test_incremental_equals_scratch_and_batches_do_not_matter(tmp_path: Path) -> None:
    passages = [Passage(str(n), title, text) for n, (title, text, _) in enumerate(CASES)]
    extract(tmp_path / "grown", *passages[::3])
    grown = extract(tmp_path / "grown", *passages)
    scratch = extract(tmp_path / "scratch", *passages, batch_size=3)
    assert grown.triplets == scratch.triplets
    assert grown.report["reused"] >= len(passages[::3])
    assert scratch.report["reused"] < len(passages)
    again = extract(tmp_path / "grown", *passages)
    assert again.report["reused"] == len(passages)


@needs_model
def test_a_file_name_is_no_subject(tmp_path: Path) -> None:
    text = "Ovarian cancer is a disease. It affects women."
    extraction = extract(tmp_path, Passage("1", "32_Ovarian Cancer_processed", text))
    assert Triplet("Ovarian cancer", "affects", "women") in extraction.triplets["1"]


@needs_model
def test_odd_passages(tmp_path: Path) -> None:
    long = " ".join(f"Anna met Peter in {1000 + n}." for n in range(300))
    passages = [
        Passage("empty", "", ""),
        Passage("title", "Only a title", ""),
        Passage("cjk", "東京", "東京は日本の首都です。"),
        Passage("emoji", "", "🙂🙂 (🙂)"),
        Passage("long", "", long),
        Passage("no-space", "", "x" * (PIECE + 5)),
        Passage("list", "", "They met " + "Anna and " * 1200 + "Peter."),
        Passage("blank", " ", "It is a film."),
        Passage("reserved", MASK, f"{MASK} (born) ((( is a film."),
    ]
    extraction = extract(tmp_path, *passages)
    assert list(extraction.triplets) == [p.id for p in passages]
    assert extraction.triplets["empty"] == extraction.triplets["title"] == ()
    assert Triplet("Anna", "met Peter in", "1299") in extraction.triplets["long"]
    assert extraction.report["failed"] == 0


@pytest.mark.parametrize("text", ["", "a b. C d.", "x" * (2 * PIECE + 7), "Ab c. " * PIECE])
def test_long_texts_are_cut_without_loss(text: str) -> None:
    pieces = split_long(text)
    assert "".join(piece for _, piece in pieces) == text
    assert all(len(piece) <= PIECE for _, piece in pieces)
    assert all(text.startswith(piece[:50], offset) for offset, piece in pieces)


def test_batches_are_short_enough_together() -> None:
    batches: list[list[str]] = []

    class Pipeline:
        def pipe(self, texts: list[tuple[str, int]], as_tuples: bool) -> list[tuple[str, int]]:
            assert as_tuples
            batches.append([text for text, _ in texts])
            return texts

    lengths = [10, BATCH - 10, 1, BATCH + 5, 3, 3, 3, 3, BATCH - 1, 1]
    pieces = [("x" * length, place) for place, length in enumerate(lengths)]
    assert list(piped(Pipeline(), iter(pieces), 3)) == pieces
    assert [[len(text) for text in batch] for batch in batches if batch] == [
        [10, BATCH - 10], [1], [BATCH + 5], [3, 3, 3], [3], [BATCH - 1, 1],
    ]  # fmt: skip
    assert list(piped(Pipeline(), iter([]), 3)) == []


def test_only_titles_of_works_are_masked() -> None:
    assert (
        mask_title("Go! is a 1990 film. Go! won.", "Go! (film)")
        == f"{MASK} is a 1990 film. {MASK} won."
    )
    person = "Ilka Sund is a film director and singer."
    assert mask_title(person, "Ilka Sund") == person
    assert mask_title("Elsewhere it is a film.", "Go!") == "Elsewhere it is a film."


def test_an_unknown_model_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match="no-such-model"):
        extract(tmp_path, Passage("1", "", "x"), model="no-such-model")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "x.txt").write_text("x")
    with pytest.raises(ModelNotFoundError, match=r"extractor\.model"):
        extract(tmp_path, Passage("1", "", "x"), model=str(tmp_path / "folder"))
