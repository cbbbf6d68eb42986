"""`rag-research export`: files of the graph, and what happens to an index without one."""

from __future__ import annotations

from pathlib import Path

import networkx
import pytest

from rag_research.cli import main
from rag_research.corpus.corpus import Corpus
from rag_research.registry import SYSTEMS
from rag_research.systems.saved import build_index
from rag_research.types import Passage

CORPUS = Corpus([Passage("a", "Otters", "Otters eat fish."), Passage("b", "", "Fish swim.")])
REPLIES = """llm.replies=['[["otters", "eat", "fish"]]','[]']"""
SCRIPTED = ["encoder=hashing", "llm=scripted", REPLIES]


def test_an_index_without_a_graph_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    build_index(CORPUS, tmp_path / "index", ["system=bm25_rag", "llm=scripted"])
    words = ["export", str(tmp_path / "index"), "--format", "graphml", "--out", str(tmp_path / "o")]
    assert main(words) == 2
    assert "system=bm25_rag, which has no graph" in capsys.readouterr().err
    assert not (tmp_path / "o").exists()


@pytest.mark.skipif("tog3" not in SYSTEMS, reason="the system tog3 is not registered")
def test_a_tog3_index_is_written_in_every_format(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("faiss")
    pytest.importorskip("pyarrow")
    settings = ["system=tog3", "system.graph.communities=none", "run.concurrency=1"]
    build_index(CORPUS, tmp_path / "index", [*settings, *SCRIPTED])
    for name, files in (
        ("graphml", {"graph.graphml"}),
        ("parquet", {"nodes.parquet", "edges.parquet"}),
        ("neo4j", {"nodes.csv", "relationships.csv", "load.cypher"}),
    ):
        out = tmp_path / name
        words = ["export", str(tmp_path / "index"), "--format", name, "--out", str(out)]
        assert main(words) == 0
        assert {path.name for path in out.iterdir()} == files
        assert "3 nodes" in capsys.readouterr().out
    graph = networkx.read_graphml(tmp_path / "graphml" / "graph.graphml")
    assert graph.nodes["chunk:a"]["text"] == "Otters\nOtters eat fish."
    assert graph.edges["entity:otters", "entity:fish"]["predicate"] == "eat"


def test_an_unknown_format_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["export", "index", "--format", "png", "--out", "o"])
    assert "graphml" in capsys.readouterr().err
