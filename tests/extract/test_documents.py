"""Documents for the graph: entities by span, what is asked again, triplets as spans."""

from pathlib import Path

import pytest

from rag_research.config import build
from rag_research.extract.capitalised import Capitalised, CapitalisedConfig
from rag_research.extract.documents import (
    Document,
    span_documents,
    triplet_documents,
    with_facts,
    with_title_entity,
)
from rag_research.extract.named_entities import NamedEntities
from rag_research.extract.sentences import Sentences, SentencesConfig
from rag_research.extract.spans import Source, merge_passages
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.types import Passage, Triplet

TEXT = "Elin Marrow drew it. It stands in Port Aldis, near Keld. No name here."


class Counted(Capitalised):
    """Counts the texts it was given."""

    asked = 0

    def mentions(self, texts):
        type(self).asked += len(texts)
        return super().mentions(texts)


def documents(store: Path, *texts: str) -> list[Document]:
    sources = merge_passages(Passage(f"p{n}", "Torvane (tower)", t) for n, t in enumerate(texts))
    finder = Counted(CapitalisedConfig())
    return span_documents(sources, Sentences(SentencesConfig()), finder, ArtifactStore(store))


def test_a_mention_belongs_to_the_span_it_starts_in(tmp_path: Path) -> None:
    (document,) = documents(tmp_path, TEXT)
    assert [sorted(node.entities) for node in document.nodes] == [
        ["elin marrow"],
        ["keld", "port aldis"],
        ["no"],
    ]
    assert "".join(node.span.text for node in document.nodes) == TEXT
    assert [node.position for node in document.nodes] == [0, 1, 2]


def test_finished_documents_are_not_asked_again(tmp_path: Path) -> None:
    Counted.asked = 0
    first = documents(tmp_path, TEXT, "")
    assert documents(tmp_path, TEXT, "") == first
    assert Counted.asked == 2
    assert documents(tmp_path, TEXT, "", "New.")[:2] == first
    assert Counted.asked == 3
    assert first[1].nodes == ()


def test_title_as_an_entity(tmp_path: Path) -> None:
    (document,) = with_title_entity(documents(tmp_path, TEXT))
    assert all("torvane" in node.entities for node in document.nodes)
    untitled = Document(Source("x", "", "A.", {"x": (0, 2)}), ())
    assert with_title_entity([untitled]) == [untitled]


def test_which_spans_an_interval_meets(tmp_path: Path) -> None:
    (document,) = documents(tmp_path, TEXT)
    first_end = document.nodes[0].span.end
    assert document.overlapping(0, first_end) == slice(0, 1)
    assert document.overlapping(first_end - 1, first_end + 1) == slice(0, 2)
    assert document.overlapping(0, len(TEXT)) == slice(0, 3)
    assert document.overlapping(0, 0) == slice(0, 0)
    assert document.overlapping(999, 1000) == slice(3, 3)


def test_passages_of_a_merged_document() -> None:
    source = Source("f", "", "abc\ndef", {"f#1": (0, 3), "f#3": (4, 7)})
    document = Document(source, ())
    assert [document.passage_of(n, n + 1) for n in (0, 2, 3, 4)] == ["f#1", "f#1", "f#1", "f#3"]


def test_triplets_as_spans() -> None:
    source = Source("f", "F", "long text", {"f#1": (0, 4), "f#2": (4, 9)})
    facts = {"f#1": [Triplet("Keld", "lies on", "the Esk")], "f#2": [Triplet("a", "b", "c")]}
    (document,) = triplet_documents([source], facts)
    assert [node.span.text for node in document.nodes] == ["Keld lies on the Esk.\n", "a b c.\n"]
    assert document.source.text == "Keld lies on the Esk.\na b c.\n"
    assert document.nodes[0].entities == {"keld", "esk"}
    second = document.nodes[1].span
    assert document.passage_of(second.start, second.end) == "f#2"
    (late,) = triplet_documents([source], {"f#2": facts["f#2"]})
    assert late.passage_of(0, 5) == "f#2"  # f#1 has no triplet
    assert not document.verbatim
    (empty,) = triplet_documents([source], {})
    assert (empty.nodes, empty.source.text) == ((), "")


def test_facts_go_to_the_span_that_says_them(tmp_path: Path) -> None:
    (document,) = documents(tmp_path, TEXT)
    facts = [Triplet("Torvane", "stands in", "Port Aldis"), Triplet("Elin Marrow", "drew", "it")]
    given = with_facts(document, {"p0": facts}).facts
    assert given == {document.nodes[1].key: (facts[0],), document.nodes[0].key: (facts[1],)}


def test_named_entities_leave_numbers_out() -> None:
    try:
        finder = NamedEntities(build(NamedEntities.Config, {}))
        text = "In 1931 Ilka Sundmark moved to Norway with three friends."
        (found,) = finder.mentions([text])
    except ImportError as error:
        pytest.skip(str(error))
    except Exception as error:
        if type(error).__name__ != "ModelNotFoundError":
            raise
        pytest.skip(str(error))
    names = {text[a:b] for a, b in found}
    assert {"Ilka Sundmark", "Norway"} <= names
    assert not names & {"1931", "three"}
    assert finder.mentions(["", "x"]) == [[], []]
