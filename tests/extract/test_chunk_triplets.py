"""Described triplets of chunks: every malformed reply is counted, none is fatal or guessed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_research.config.build import build
from rag_research.corpus.corpus import Corpus
from rag_research.errors import ConfigError, ParseError
from rag_research.extract.chunk_triplets import (
    ChunkTriplets,
    ChunkTripletsConfig,
    read_described,
    reply_schema,
)
from rag_research.extract.triplets import Extraction
from rag_research.llm.base import Request
from rag_research.llm.scripted import Scripted
from rag_research.llm.structured import read_reply
from rag_research.prompts.library import PromptLibrary
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.types import Entity, Passage, Triplet

PROMPTS = PromptLibrary()
FOUNDED = {
    "subject": "Ilka Sundmark",
    "subject_type": "person",
    "subject_description": "physicist",
    "relation": "founded",
    "object": "the Vellamy",
    "object_type": "observatory",
    "object_description": "on a mountain",
}
GOOD = json.dumps([FOUNDED])
ILKA = Triplet("Ilka Sundmark", "founded", "the Vellamy")


class Model(Scripted):
    """A scripted model with one identity whatever it answers, so that runs share a store."""

    @property
    def identity(self) -> dict[str, str]:
        return {"backend": "scripted", "model": "test"}


def run(
    store: Path, script: Callable[[Request], str], *texts: str
) -> tuple[Extraction, list[Request]]:
    llm = Model.of(script)
    corpus = Corpus(Passage(f"p{n}", "", text) for n, text in enumerate(texts))
    extractor = ChunkTriplets(ChunkTripletsConfig())
    return extractor.extract(corpus, ArtifactStore(store), llm, PROMPTS, 2), llm.requests


def test_one_call_a_chunk_gives_triplets_and_entities(tmp_path: Path) -> None:
    extraction, requests = run(tmp_path, lambda r: GOOD, "Ilka founded it.")
    assert extraction.triplets == {"p0": (ILKA,)}
    assert extraction.entities == {
        "p0": (
            Entity("Ilka Sundmark", "person", "physicist"),
            Entity("the Vellamy", "observatory", "on a mountain"),
        )
    }
    assert extraction.usage["extract"].calls == len(requests) == 1
    assert requests[0].schema == reply_schema(2)
    assert requests[0].messages[-1].content == "Ilka founded it."
    assert "at most 2 objects" in requests[0].messages[0].content


def many(count: int) -> str:
    return json.dumps([{**FOUNDED, "object": f"thing {n}"} for n in range(count)])


@pytest.mark.parametrize(
    ("reply", "kept", "report"),
    [
        (f"Here:\n```json\n{GOOD}\n```\nDone.", [ILKA], {}),
        (GOOD[:-60], [ILKA], {}),
        (f"<think>hm</think>{GOOD}", [ILKA], {}),
        ("[]", [], {"empty": 1}),
        ('[["Ilka Sundmark", "founded", "the Vellamy"]]', [ILKA], {}),
        ('{"triplets": [["Ilka Sundmark", "founded", "the Vellamy"]]}', [ILKA], {}),
        (json.dumps([FOUNDED, FOUNDED]), [ILKA], {"duplicates": 1}),
        (json.dumps([{"head": "Ilka Sundmark"}, FOUNDED, "x", None]), [ILKA], {"rejects": 3}),
        (json.dumps([FOUNDED, {**FOUNDED, "object": "Ilka  SUNDMARK"}]), [ILKA], {"rejects": 1}),
        (json.dumps([{**FOUNDED, "object": "!!!"}]), [], {"rejects": 1, "empty": 1}),
        (
            many(10_000),
            [Triplet("Ilka Sundmark", "founded", f"thing {n}") for n in (0, 1)],
            {"excess": 9_998},
        ),
    ],
)
def test_replies_that_are_nearly_right(
    tmp_path: Path, reply: str, kept: list[Triplet], report: dict[str, int]
) -> None:
    extraction, requests = run(tmp_path, lambda r: reply, "text")
    assert list(extraction.triplets["p0"]) == kept
    counted = ("empty", "rejects", "duplicates", "excess", "failed", "repaired")
    assert {n: extraction.report.get(n, 0) for n in counted} == dict.fromkeys(counted, 0) | report
    assert len(requests) == 1


@pytest.mark.parametrize("reply", ["", "I cannot.", '{"answer": 42}', '[{"a": 1}]', '["x", "y"]'])
def test_a_hopeless_reply_is_repaired_once_counted_and_asked_again(
    tmp_path: Path, reply: str
) -> None:
    def script(request: Request) -> str:
        return GOOD if "good text" in str(request.messages) else reply

    first, requests = run(tmp_path, script, "good text", "bad text")
    assert len(requests) == 3
    assert (first.report["failed"], first.report["empty"]) == (1, 0)
    assert first.triplets == {"p0": (ILKA,), "p1": ()}
    assert first.usage["extract"].calls == 3
    second, requests = run(tmp_path, lambda r: GOOD, "good text", "bad text")
    assert [r.messages[-1].content for r in requests] == ["bad text"]
    assert (second.report["failed"], second.report["reused"]) == (0, 1)


def test_a_repaired_reply_is_counted(tmp_path: Path) -> None:
    def script(request: Request) -> str:
        return GOOD if len(request.messages) > 7 else "hm"

    extraction, requests = run(tmp_path, script, "text")
    assert (len(requests), extraction.report["repaired"]) == (2, 1)
    assert extraction.triplets["p0"] == (ILKA,)


def test_nested_entities_and_the_fullest_description() -> None:
    nested = {
        "subject": {"name": "Ilka Sundmark", "type": "person", "description": "a physicist"},
        "predicate": "founded",
        "object": {"name": "the Vellamy"},
    }
    found = read_described([nested, {**FOUNDED, "relation": "built"}], 1)
    assert found.triplets == (ILKA,)
    assert found.entities == (
        Entity("Ilka Sundmark", "person", "a physicist"),
        Entity("the Vellamy", "observatory", "on a mountain"),
    )
    assert found.excess == 1


def test_an_empty_chunk_is_not_asked(tmp_path: Path) -> None:
    extraction, requests = run(tmp_path, lambda r: GOOD, " ")
    assert requests == []
    assert (extraction.triplets, extraction.report["empty"]) == ({"p0": ()}, 1)


def test_settings_below_one_are_refused() -> None:
    with pytest.raises(ConfigError, match="limit"):
        build(ChunkTripletsConfig, {"limit": 0}, "extractor")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from([*FOUNDED, "triplets", "name"]), inner, max_size=5)
    ),
    max_leaves=20,
)


@given(JSON)
def test_any_value_is_read_or_refused(value: object) -> None:
    try:
        found = read_described(value, 2)
    except ParseError:
        return
    assert len(found.triplets) <= 2
    assert {e.name for e in found.entities} <= {
        n for t in found.triplets for n in (t.subject, t.object)
    }


@given(st.integers(0, len(GOOD)))
def test_a_reply_cut_anywhere_is_read_or_refused(length: int) -> None:
    try:
        found = read_reply(GOOD[:length], lambda v: read_described(v, 2))
    except ParseError:
        return
    assert all(t.subject == "Ilka Sundmark" for t in found.triplets)
