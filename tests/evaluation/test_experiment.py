"""Tables of the papers: their files, the published figures, and a run of one."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from rag_research.cli import main
from rag_research.config.compose import compose_experiment, config_folder
from rag_research.errors import ConfigError, DataError
from rag_research.evaluation.experiment import run_command
from rag_research.evaluation.paper_table import load_table, table_configs, table_names
from rag_research.evaluation.published import published_figures, published_table, published_tables
from rag_research.registry import SYSTEMS

FILES = sorted((config_folder() / "paper").glob("*.yaml"))
SPECIFICATION = (
    Path(__file__).resolve().parents[2] / ".." / "shared" / "specs" / "published-results.md"
)
OWN = """# Does one passage do?
published: t2rag_table1
metrics: [exact_match, token_f1]
reference: T2RAG
rows:
  standard: [system=overlap, system.k=1]
  IRCoT: null
  T2RAG: [system=overlap]
sizes:
  published:
    datasets:
      2wiki: [dataset=capitals]
      musique: [dataset=fewer_capitals]
  small:
    settings: [limit=3]
    rows:
      ours: [system=overlap, system.k=2]
    datasets:
      2wiki: [dataset=capitals]
"""


def needs_missing_system(text: str) -> bool:
    return any(name not in options("system") for name in re.findall(r"system=(\w+)", text))


def options(group: str) -> set[str]:
    return {path.stem for path in (config_folder() / group).glob("*.yaml")}


@pytest.mark.parametrize("size", ["published", "small"])
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_every_table_asks_a_question_and_builds_in_both_sizes(path: Path, size: str) -> None:
    text = path.read_text(encoding="utf-8")
    first = text.splitlines()[0]
    assert first.startswith("# ") and first.endswith("?")
    if needs_missing_system(text):
        pytest.skip("its system is not there yet")
    table = load_table(path.stem)
    configs = table_configs(table, size)
    published = published_table(table.published)
    assert table.reference in next(iter(configs.values()))
    figures = published.figures(table.published)
    assert set(configs) <= {figure.dataset for figure in figures} | {"story"}
    assert {figure.method for figure in figures} <= set(table.rows)
    assert {figure.metric for figure in figures} <= set(table.metrics)
    for rows in configs.values():
        models = [(config.llm, config.encoder, config.dataset) for config in rows.values()]
        assert all(other == models[0] for other in models)
        assert len({repr(config.system) for config in rows.values()}) == len(rows)
        remote = size == "published"
        assert all((c.llm.name == "openai_compatible") == remote for c in rows.values())
        assert all((getattr(c.dataset, "sample_questions", None) is None) == remote
                   for c in rows.values())  # fmt: skip


def test_tables_are_found_by_name() -> None:
    assert {"t2rag_table1", "threadrag_main", "tog3_ablation"} <= set(table_names())
    with pytest.raises(ConfigError, match=r"no table 't2rag_tabel1'.*Did you mean 't2rag_table1'"):
        load_table("t2rag_tabel1")


def test_published_figures_are_shares_of_known_systems_and_data() -> None:
    figures = published_figures()
    assert len(figures) > 200
    for figure in figures:
        assert 0 < figure.value < 1
        assert figure.dataset in options("dataset")
        assert figure.system is None or figure.system in SYSTEMS or figure.system == "tog3"
    for key, table in published_tables().items():
        methods = {figure.method for figure in table.figures(key)}
        assert set(table.systems) <= methods


def test_some_figures_by_hand() -> None:
    figures = {
        (f.table, f.reader, f.method, f.dataset, f.metric): f.value for f in published_figures()
    }
    first = ("t2rag_table1", "Gemini-2.5-flash", "T2RAG", "2wiki")
    assert figures[(*first, "exact_match")] == 0.693
    assert figures[(*first, "token_f1")] == 0.775
    assert figures["t2rag_table1", "GPT-4o-mini", "IRCoT", "medical", "token_f1"] == 0.529
    assert figures["tog3_table1", "Qwen2.5-32B-Instruct", "ToG-3", "musique", "token_f1"] == 0.174
    # .324 - 9.2 points
    assert figures["threadrag_ablation", "not stated", "LLM triplets", "musique",
                   "exact_match"] == 0.232  # fmt: skip
    t2rag = published_figures("t2rag", "2wiki")
    assert [f.value for f in t2rag if f.metric == "exact_match"] == [0.693, 0.667, 0.66]
    with pytest.raises(ConfigError, match="no table 't2rag_table'"):
        published_table("t2rag_table")


def test_figures_are_those_of_the_specification() -> None:
    if not SPECIFICATION.is_file():
        pytest.skip("the specification is not on this machine")
    text = SPECIFICATION.read_text(encoding="utf-8")
    missing = []
    for table in ("t2rag_table1", "tog3_table1"):
        scale = published_table(table).scale
        for reader, methods in published_table(table).readers.items():
            for method, datasets in methods.items():
                cells = [
                    "/".join(f"{v:.1f}" if scale == 100 else f"{v:.3f}"[1:] for v in values)
                    for values in datasets.values()
                ]
                if not re.search(rf"\| {re.escape(method)} \| {' . '.join(cells)} ", text):
                    missing.append((reader, method))
    assert missing == []


@pytest.fixture
def own_table(command_lab: Any) -> Any:
    (command_lab.root / "package" / "configs" / "paper" / "own.yaml").write_text(OWN)
    return command_lab


def words(lab: Any, *more: str) -> list[str]:
    return ["llm=scripted", "encoder=letters", f"run.store={lab.root / 'store'}",
            f"run.out={lab.root / 'out'}", *more]  # fmt: skip


def test_a_table_is_printed_with_published_figures_beside(
    own_table: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["experiment", "own", *words(own_table)]) == 0
    out = capsys.readouterr().out
    assert "T2RAG (arXiv 2508.02435), table 1: 2wiki, 10 questions" in out
    assert "T2RAG (arXiv 2508.02435), table 1: musique, 4 questions" in out
    rows = [re.split(r"\s{2,}", line.strip()) for line in out.splitlines()]
    head = next(row for row in rows if row[0] == "row")
    assert head[1:4] == ["EM", "EM, paper: Gemini-2.5-flash", "EM, paper: GPT-4o-mini"]
    [ircot] = [row for row in rows if row[0] == "IRCoT" and "61.6" in row]
    assert ircot[1:4] == ["-", "61.6", "60.7"]  # not run here
    [ours] = [row for row in rows if row[0] == "T2RAG" and "69.3" in row]
    assert ours[1:4] == ["60.0 ±30.0", "69.3", "66.7"]
    assert "Here: reader scripted, encoder letters." in out
    assert "encoder NV-Embed-v2" in out
    assert "Paired differences to T2RAG" in out
    told = json.loads((own_table.root / "out" / "experiment.json").read_text())
    assert [outcome["dataset"] for outcome in told["datasets"]] == ["2wiki", "musique"]
    assert told["not_run"] == {}
    assert {gap["name"] for gap in told["datasets"][0]["differences"]} == {"standard"}
    assert (own_table.root / "out" / "2wiki" / "T2RAG" / "results.json").is_file()
    requests = sum(len(script.requests) for script in own_table.scripts)
    # One summary and ten answers; the second data set is a part of the first, with its own summary.
    assert requests == 11 + 1
    assert main(["experiment", "own", *words(own_table), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == told
    assert sum(len(script.requests) for script in own_table.scripts) == requests


def test_the_small_size_has_its_own_rows_and_settings(own_table: Any) -> None:
    assert run_command("own", words(own_table, "size=small")) == 0
    [told] = json.loads((own_table.root / "out" / "experiment.json").read_text())["datasets"]
    assert [run["name"] for run in told["runs"]] == ["standard", "T2RAG", "ours"]
    assert {run["questions"] for run in told["runs"]} == {3}


def test_data_sets_and_rows_can_be_chosen(own_table: Any) -> None:
    assert run_command("own", words(own_table, "datasets=[musique]", "rows=[T2RAG]")) == 0
    [told] = json.loads((own_table.root / "out" / "experiment.json").read_text())["datasets"]
    assert (told["dataset"], [run["name"] for run in told["runs"]]) == ("musique", ["T2RAG"])
    for wrong, message in {
        "size=smal": "size: there is no 'smal'. Did you mean 'small'?",
        "datasets=[hotpot]": "datasets: there is no 'hotpot'.",
        "rows=[IRCoT]": "rows: there is no 'IRCoT'.",
        "limt=3": "limt: there is no such setting.",
    }.items():
        with pytest.raises(ConfigError, match=re.escape(message)):
            run_command("own", words(own_table, wrong))


def test_rows_that_the_budget_left_out_are_named(
    own_table: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command("own", words(own_table, "budget.calls=4")) == 1
    told = json.loads((own_table.root / "out" / "experiment.json").read_text())
    assert [run["partial"] for run in told["datasets"][0]["runs"]] == [True]
    assert told["not_run"] == {"2wiki": ["T2RAG"], "musique": ["standard", "T2RAG"]}
    note = "NOT RUN: 2wiki: T2RAG; musique: standard, T2RAG. The same command goes on there."
    assert note in capsys.readouterr().out
    assert (own_table.root / "out" / "experiment.md").read_text().endswith(note + "\n")


def test_missing_data_end_the_table_before_anything_is_run(own_table: Any) -> None:
    path = own_table.root / "package" / "configs" / "paper" / "own.yaml"
    path.write_text(OWN.replace("dataset=fewer_capitals", "dataset=jsonl, dataset.path=nowhere"))
    with pytest.raises(DataError, match="nowhere"):
        run_command("own", words(own_table))
    assert not (own_table.root / "out").exists()


def test_settings_reach_every_run(own_table: Any) -> None:
    table = load_table("own")
    configs = table_configs(table, "published", words(own_table, "seed=3"))
    assert {config.seed for rows in configs.values() for config in rows.values()} == {3}
    assert compose_experiment(["dataset=story"]).dataset.path.endswith("story")
