"""Folders of finished runs written by hand: three systems' traces over made-up questions."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from rag_research.evaluation.records import write_lines
from rag_research.evaluation.results import Results
from rag_research.evaluation.statistics import Interval
from rag_research.types import Usage

Line = dict[str, Any]


def triplet(subject: str, predicate: str, object: str) -> dict[str, str]:
    return {"subject": subject, "predicate": predicate, "object": object}


def call(purpose: str, reply: str) -> Line:
    messages = [
        {"role": "system", "content": f"You do the work called {purpose}. " * 5},
        {"role": "user", "content": f"What is asked of {purpose}?"},
    ]
    cost = {"calls": 1, "cached_calls": 0, "input_tokens": 100, "output_tokens": 10}
    return {"purpose": purpose, "messages": messages, "reply": reply, "cached": False, **cost,
            "seconds": 0.5}  # fmt: skip


def line(seq: int, step: str, calls: Sequence[Line] = (), **fields: Any) -> Line:
    return {"seq": seq, "parent": None, "step": step, **fields, "calls": list(calls),
            "seconds": 0.25}  # fmt: skip


def t2rag_trace(number: int) -> list[Line]:
    city, river = f"City {number}", f"River {number}"
    first = triplet(city, "lies on", "?river")
    second = triplet("?river", "flows into", "?sea")
    found = [triplet(city, "lies on", river), triplet(river, "flows into", "?sea")]
    return [
        line(0, "decompose", [call("decompose", "[]")], fallback=False,
             state={"resolved": [], "searchable": [first], "fuzzy": [second]}),
        line(1, "retrieve", round=1, queries=[f"{city} lies on"], propositions=["a fact"],
             sources=[{"id": f"p{number}", "score": 0.9}]),
        line(2, "resolve", [call("resolve", "[]")], round=1, filled=[found[0]], kept=[found[0]],
             state={"resolved": [found[0]], "searchable": [found[1]], "fuzzy": []}),
        line(3, "synthesise", [call("answer", "the sea")], facts=[found[0]], answer="the sea"),
    ]  # fmt: skip


def threadrag_trace(number: int) -> list[Line]:
    spans = [
        ["d1", 0, 20, "The first span here."],
        ["d1", 20, 42, " The second span here."],
        ["d2", 0, 19, "Another document's."],
    ]
    keys = [span[:3] for span in spans]
    return [
        line(0, "retrieve", round=1, queries=["q"], new=["d1@0"],
             hits=[{"id": "d1@0", "score": 0.8}, {"id": "d2@0", "score": 0.1}]),
        line(1, "topology", round=1, nodes=3, added=3, edges={"narrative": 1, "all": 2},
             spans=spans, links=[[0, 1, 0.3, 1, 0, 0], [0, 2, 0.2, 0, 0.6, 0.4]]),
        line(2, "pathfind", round=1, anchors=[[*keys[0], 0.5]],
             energy=[[*keys[0], 0.6], [*keys[2], 0.3], [*keys[1], 0.1]],
             selected=[keys[0], keys[2]], kept=[keys[0]], evidence=f"Evidence {number}"),
        line(3, "discriminate", [call("discriminate", "{}")], round=1,
             verdict={"sufficient": True, "missing": []}, queries=[]),
        line(4, "synthesise", [call("answer", "x")], answer=f"Answer {number}"),
    ]  # fmt: skip


def tog3_trace(number: int) -> list[Line]:
    nodes = [["chunk:p1@0", 0.7], ["triplet:aa", 0.6], ["community:bb", 0.2]]
    old = ["Ann", "wrote", "Salt Road", "extracted"]
    return [
        line(0, "retrieve", query="q", nodes=nodes, triplets=[old],
             communities={"community:bb": "Ann and what she wrote."}),
        line(1, "rerank", round=1, query="q", kept=["community:bb", "triplet:aa"]),
        line(2, "respond", [call("respond", "Unknown")], round=1, query="q", answer="Unknown"),
        line(3, "reflect", [call("reflect", "{}")], round=1,
             verdict={"sufficient": False, "missing": "where Ann was born"}),
        line(4, "evolve_subgraph", [call("refine", "[]")], round=1, query="Where was Ann born?",
             found={"nodes": [["triplet:dd", 0.5]], "communities": {},
                    "triplets": [["Ann", "saw", "Orm", "extracted"]]},
             nodes=[*nodes[:1], ["triplet:cc", 0.35]],
             triplets=[["Ann", "was born in", "Keld", "inferred"]], communities={}),
        line(5, "synthesise", [call("answer", "Keld")], stop="horizon", answer="Keld"),
    ]  # fmt: skip


TRACES: Mapping[str, Callable[[int], list[Line]]] = {
    "t2rag": t2rag_trace,
    "threadrag": threadrag_trace,
    "tog3": tog3_trace,
}


def prediction(number: int, right: bool, text: str | None = None) -> Line:
    score = float(right)
    return {
        "id": f"q{number}",
        "question": text or f"Which sea does the river of City {number} flow into?",
        "answer": "the sea" if right else "the lake",
        "golds": ["the sea"],
        "type": "bridge",
        "gold_passages": [f"p{number}"],
        "evidence": [[f"p{number}", 0.9]],
        "rounds": 1 + number % 2,
        "facts": [],
        "stats": {},
        "metrics": {"exact_match": score, "token_f1": score, "recall@5": 1.0},
        "tokens": {"answer": {"calls": 1, "in": 100, "out": 10}},
    }


class RunFolders:
    """Writes folders of finished runs."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(
        self,
        system: str,
        right: Callable[[int], bool],
        size: int = 6,
        failed: Sequence[int] = (),
        texts: Mapping[int, str] | None = None,
        name: str | None = None,
        dataset: str = "rivers",
    ) -> Path:
        """One folder.

        Args:
            system: whose traces it has.
            right: which questions are answered right.
            size: how many questions.
            failed: numbers of those that ended in an error.
            texts: wordings by number, in place of the made-up ones.
            name: of the folder; the system's by default.
            dataset: name of the data set.
        """
        folder = self.root / (name or system)
        folder.mkdir(parents=True)
        ids = [n for n in range(size) if n not in failed]
        rows = [prediction(n, right(n), (texts or {}).get(n)) for n in ids]
        traces = {n: TRACES[system](n) for n in range(size)}
        write_lines(folder / "predictions.jsonl", rows)
        write_lines(folder / "costs.jsonl", [{"id": row["id"], "seconds": 1.5} for row in rows])
        write_lines(folder / "failures.jsonl", [_failure(n) for n in failed])
        write_lines(
            folder / "traces.jsonl",
            ({"question": f"q{n}", **step} for n, steps in traces.items() for step in steps),
        )
        share = sum(map(right, ids)) / size
        interval = Interval(share, max(0.0, share - 0.1), min(1.0, share + 0.1), size)
        Results(
            name=system,
            system=system,
            dataset=dataset,
            fingerprint="0123456789abcdef",
            questions=size,
            asked=size,
            answered=len(ids),
            failed=len(failed),
            partial=False,
            metrics={"exact_match": interval, "token_f1": interval, "recall@5": interval},
            means={"rounds": 1.5},
            index_usage={},
            query_usage={"answer": Usage(size, 0, 100 * size, 10 * size, 3.0)},
            seconds={"a_question": 0.5},
            provenance={
                "seed": 0,
                "config": {"dataset": {"name": "no_such_loader"}},
                "dataset": {"name": dataset, "asked_fingerprint": f"{dataset} {size} {texts}"},
                "resources": {"query": {"wall_seconds": 3.0}},
            },
            directory=folder,
        ).save()
        return folder


def _failure(number: int) -> Line:
    row = prediction(number, False)
    usage = {"answer": {"calls": 2, "cached_calls": 0, "input_tokens": 7, "output_tokens": 3,
                        "seconds": 0.0}}  # fmt: skip
    kept = ("id", "question", "golds", "gold_passages")
    return {**{k: row[k] for k in kept}, "error": "LLMError: it broke", "details": "",
            "usage": usage}  # fmt: skip


@pytest.fixture
def folders(tmp_path: Path) -> RunFolders:
    return RunFolders(tmp_path / "runs")


@pytest.fixture
def embedded() -> Callable[[str, str], Any]:
    """The value that a page holds under an id."""
    import base64
    import gzip
    import re

    def read(html: str, id: str) -> Any:
        found = re.search(rf'<script type="([^"]+)" id="{id}">(.*?)</script>', html, re.S)
        assert found is not None, id
        text = found[2]
        if found[1] == "text/plain":
            text = gzip.decompress(base64.b64decode(text)).decode()
        return json.loads(text)

    return read
