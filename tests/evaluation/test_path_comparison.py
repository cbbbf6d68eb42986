"""Path selectors and baselines side by side, from candidates to the written report."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import numpy as np
import pytest

from rag_research.config import build
from rag_research.corpus.corpus import Corpus
from rag_research.embed.hashing import Hashing, HashingConfig
from rag_research.errors import ConfigError, DataError
from rag_research.evaluation.path_comparison import PathComparer, PathComparison, hub_passages
from rag_research.evaluation.path_config import RetrievalConfig
from rag_research.evaluation.path_plot import line_plot
from rag_research.evaluation.path_report import markdown, summary
from rag_research.evaluation.path_tokens import BUDGETS
from rag_research.evaluation.stages import StageRanks
from rag_research.graph.corpus_graph import build_corpus_graph
from rag_research.graph.path_candidates import CandidateConfig
from rag_research.graph.path_edges import EDGE_FEATURES
from rag_research.graph.path_features import NODE_FEATURES, SENTENCE_FEATURES
from rag_research.graph.selector_checkpoint import SelectorCheckpoint, load_selector, save_selector
from rag_research.models.path_selector import PathSelector, PathSelectorConfig
from rag_research.runtime.artifacts import ArtifactStore
from rag_research.types import Passage, Question

ROOT = Path(__file__).resolve().parents[2]
CORPUS = Corpus(
    [
        Passage("film", "Salt Road", "Salt Road is a film. Mia Orr directed Salt Road."),
        Passage("person", "Mia Orr", "Mia Orr was born in Keld. She liked bread."),
        Passage("place", "Keld", "Keld is a village."),
        Passage("bread", "Rye", "Rye is a grain."),
    ]
)
QUESTION = Question(
    "q1",
    "Where was the director of Salt Road born?",
    gold_passages=("film", "person"),
    supporting_facts=(("Salt Road", 1), ("Mia Orr", 0)),
)


def selector(folder: Path, name: str = "untrained", **candidates: int) -> SelectorCheckpoint:
    """Without training the network is the published pathfinding."""
    sizes = [sum(map(len, groups.values())) for groups in (NODE_FEATURES, EDGE_FEATURES)]
    network = PathSelector(*sizes, len(SENTENCE_FEATURES), PathSelectorConfig(width=4, steps=30))
    path = folder / f"{name}.safetensors"
    save_selector(path, network, {"candidates": build(CandidateConfig, candidates)})
    return load_selector(str(path))


def comparer(folder: Path, *selectors: SelectorCheckpoint) -> PathComparer:
    return PathComparer(CORPUS, Hashing(HashingConfig()), ArtifactStore(folder), selectors)


def test_every_row_ranks_the_same_candidates(tmp_path: Path) -> None:
    outcome = comparer(tmp_path, selector(tmp_path)).compare([QUESTION, Question("q2", "no gold")])
    assert outcome.questions == ["q1"] and outcome.passages == 4
    assert list(outcome.values) == [
        *("bm25", "dense", "hybrid", "edp_threshold", "edp_energy", "fused_pagerank"),
        *("idf_flow", "oracle", "random", "untrained"),
    ]
    assert set(outcome.curves) == {*outcome.values, "untrained, by sentence"}
    for row in ("edp_energy", "fused_pagerank", "idf_flow", "random", "untrained"):
        assert outcome.values[row]["returned"] == [4] and outcome.values[row]["found"] == [1.0]
    assert outcome.values["oracle"]["recall@2"] == [1.0]
    assert outcome.values["oracle"]["returned"] == [2]
    for curves in outcome.curves.values():
        assert set(curves) == {"whole", "touched", "sentences"}
        assert curves["touched"][0].max() <= 1
    assert outcome.curves["untrained"]["whole"][0][-1] == 1
    assert set(outcome.milliseconds) == {"encode", "candidates", "features", "network untrained"}


def test_an_untrained_selector_is_the_published_pathfinding(tmp_path: Path) -> None:
    outcome = comparer(tmp_path, selector(tmp_path)).compare([QUESTION])
    published, own = outcome.values["edp_energy"], outcome.values["untrained"]
    assert own["hub_mass"] == pytest.approx(published["hub_mass"], abs=1e-3)
    assert own["recall@2"] == published["recall@2"]
    assert outcome.stages[0].rankings["diffusion"] == outcome.stages[0].rankings["selector"]
    assert set(outcome.stages[0].gold["search"]) == {"film", "person"}


def test_a_selector_with_other_candidates_gets_its_own_graph(tmp_path: Path) -> None:
    near = selector(tmp_path, "near", found=1, front=1, titled=0, namers=0, shared=0, rounds=0)
    outcome = comparer(tmp_path, selector(tmp_path), near).compare([QUESTION])
    assert outcome.values["untrained"]["returned"] == [4]
    assert outcome.values["near"]["returned"][0] < 4
    assert len(outcome.milliseconds["candidates"]) == 1


def test_what_cannot_be_compared_is_refused(tmp_path: Path) -> None:
    one = selector(tmp_path)
    with pytest.raises(ConfigError, match="different names"):
        comparer(tmp_path, one, one)
    with pytest.raises(ConfigError, match="selectors"):
        comparer(tmp_path)
    with pytest.raises(DataError, match="gold"):
        comparer(tmp_path, one).compare([Question("q", "no gold")])


def test_hubs_are_the_titles_that_most_passages_name(tmp_path: Path) -> None:
    """Mia Orr is named by the film and herself, Keld by her and itself; Rye by itself only."""
    graph = build_corpus_graph(CORPUS, Hashing(HashingConfig()), ArtifactStore(tmp_path))
    hubs = {id for id, hub in zip(graph.ids, hub_passages(graph, 0.5), strict=True) if hub}
    assert hubs == {"person", "place"}
    assert not hub_passages(graph, 1.0)[graph.rows["bread"]]


def outcome_of(values: dict[str, list[float]]) -> PathComparison:
    """Rows whose metrics are all the same values."""
    count = len(next(iter(values.values())))
    outcome = PathComparison([f"q{n}" for n in range(count)], 7)
    for row, own in values.items():
        outcome.values[row] = dict.fromkeys(
            ("recall@2", "full_chain@2", "found", "returned", "hub_mass"), own
        )
        outcome.curves[row] = {"whole": [np.full(len(BUDGETS), value) for value in own]}
    ranks = {"search": ["a"]}
    outcome.stages = [StageRanks("q0", ranks, {"search": {"a": 1}})]
    outcome.milliseconds["encode"] = [1.0, 2.0, 9.0]
    return outcome


def test_the_summary_by_hand() -> None:
    told = summary(outcome_of({"low": [0, 0.5] * 20, "net": [1, 1] * 20}), "net", "two", 200)
    assert told["rows"]["low"]["recall@2"]["mean"] == 0.25
    gap = told["differences"]["recall@2"]["low"]
    assert gap["mean"] == -0.75 and gap["low"] <= -0.75 <= gap["high"] and gap["n"] == 40
    assert gap["p"] == gap["holm"] == pytest.approx(2 / 201)
    assert set(told["differences"]) == {
        *("recall@2", "full_chain@2", "whole@256", "whole@512", "whole@1024")
    }
    own = told["evidence"]["whole"]["net"]
    assert own["area"] == 1 and own["tokens_at_90"] == 64 and own["512"]["mean"] == 1
    assert told["evidence"]["whole"]["low"]["tokens_at_90"] is None
    assert told["milliseconds"] == {"encode": 2.0}


def test_the_tables_show_percent() -> None:
    outcome = outcome_of({"low": [0.5] * 4, "net": [1.0] * 4})
    text = markdown(summary(outcome, "net", "two", 50), outcome)
    assert "two: 7 passages, 4 questions" in text
    assert "| low | 50.0 ±0.0 | 50.0 ±0.0 | 50.0 ±0.0 | 0.5 | 50.0 |" in text
    assert "-50.0 [-50.0, -50.0]" in text and "| net | 100.0 ±0.0" in text


def test_a_plot_is_valid_and_puts_points_where_they_belong() -> None:
    drawing = line_plot("a < b", "tokens", "%", [0, 50, 100], {"up & down": [0, 100, 50]})
    root = ElementTree.fromstring(drawing)
    (line,) = (e for e in root.iter() if e.tag.endswith("polyline"))
    points = [tuple(map(float, p.split(","))) for p in line.attrib["points"].split()]
    (left, bottom), (middle, top), (right, half) = points
    assert middle == (left + right) / 2 and half == (top + bottom) / 2 and top < bottom
    texts = [e.text for e in root.iter() if e.tag.endswith("text")]
    assert "a < b" in texts and "up & down" in texts


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("retrieval", ROOT / "evaluate" / "retrieval.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_script_writes_the_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    selector(tmp_path, "one")
    selector(tmp_path, "two")
    files = ",".join(str(tmp_path / f"{name}.safetensors") for name in ("one", "two"))
    common = ["encoder=hashing", f"run.store={tmp_path / 'store'}", "limit=6"]
    common += ["evaluation.bootstrap_samples=20"]
    out = tmp_path / "out"
    assert script().main([*common, f"--selectors=[{files}]", f"run.out={out}"]) == 0
    printed = capsys.readouterr().out
    assert "| oracle |" in printed and "| two |" in printed
    told = json.loads((out / "comparison.json").read_text())
    assert told["questions"] == 6 and told["first"] == "one"
    assert told["rows"]["one"] == told["rows"]["two"]
    assert told["differences"]["recall@5"]["two"]["mean"] == 0
    assert (out / "comparison.md").read_text().strip() == printed.strip()
    assert len((out / "stages.jsonl").read_text().splitlines()) == 6
    ElementTree.parse(out / "recall_tokens_whole.svg")
    assert script().main([*common, f"selectors=[{tmp_path / 'none.safetensors'}]"]) == 2
    assert "error: There is no selector network" in capsys.readouterr().err


def test_without_a_selector_the_script_compares_searches(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert script().main(["encoder=hashing", f"run.store={tmp_path}"]) == 0
    printed = capsys.readouterr().out
    assert "| hybrid |" in printed and "recall@10" in printed


def test_the_settings() -> None:
    values = {"system": "bm25_rag", "dataset": "sample_world", "llm": "scripted"}
    config = build(RetrievalConfig, {**values, "encoder": "hashing", "selectors": ["a"]})
    assert config.selectors == ("a",) and config.training is None
