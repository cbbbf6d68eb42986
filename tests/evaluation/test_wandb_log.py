"""wandb logging works without network and without a key, and is off by default."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from rag_research.errors import MissingExtraError
from rag_research.evaluation.runner import evaluate
from rag_research.evaluation.wandb_log import scalars
from rag_research.runtime.figures import read_summary


def keyless(monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
    """No key in the environment or in a file, and nobody at a terminal."""
    for name in ("WANDB_API_KEY", "WANDB_MODE", "WANDB_IDENTITY_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NETRC", str(root / "no-netrc"))
    for name in ("WANDB_CONFIG_DIR", "WANDB_CACHE_DIR", "WANDB_DATA_DIR"):
        monkeypatch.setenv(name, str(root / "wandb-home"))
    monkeypatch.setenv("WANDB_SILENT", "true")
    monkeypatch.setattr("builtins.input", lambda *_: pytest.fail("asked for input"))


@pytest.mark.parametrize("mode", ["offline", "online"])
def test_a_run_without_a_key_is_kept_offline(
    lab: Any, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    pytest.importorskip("wandb")
    keyless(monkeypatch, lab.root)
    config = lab.config(logger={"wandb": mode, "group": "g", "tags": ["t"]}, limit=3)
    results = evaluate(config, lab.models(config)[0])
    [folder] = (results.directory / "wandb").glob("offline-run-*")
    assert list(folder.glob("run-*.wandb"))
    [table] = folder.rglob("predictions*.table.json")
    assert '"q0"' in table.read_text()


def test_the_offline_run_is_complete(
    lab: Any, monkeypatch: pytest.MonkeyPatch, wandb_records: Any
) -> None:
    """What ``wandb sync`` would upload: settings, group, numbers, tables, plots, files."""
    pytest.importorskip("wandb")
    keyless(monkeypatch, lab.root)
    config = lab.config(logger={"wandb": "offline", "group": "g", "tags": ["t"]}, limit=3)
    results = evaluate(config, lab.models(config)[0])
    records = wandb_records(results.directory)
    [run] = [r.run for r in records if r.WhichOneof("record_type") == "run"]
    assert (run.run_group, run.job_type, list(run.tags)) == ("g", "evaluate", ["t"])
    assert {"system", "dataset", "evaluation", "seed"} <= {u.key for u in run.config.update}
    logged = {item.nested_key[0]: item.value_json for r in records for item in r.history.item}
    assert float(logged["test/exact_match"]) == results.metrics["exact_match"].mean  # type: ignore[union-attr]
    assert {"test/predictions", "query/calls", "test/recall_plot_table"} <= set(logged)
    artifacts = {r.artifact.type: r.artifact for r in records if r.artifact.type}
    files = {entry.path for entry in artifacts["results"].manifest.contents}
    assert {"results.json", "config.yaml", "predictions.jsonl", "traces.jsonl"} <= files
    assert [r.exit.exit_code for r in records if r.WhichOneof("record_type") == "exit"] == [0]


def test_the_environment_names_the_group_of_a_sweep(
    lab: Any, monkeypatch: pytest.MonkeyPatch, wandb_records: Any
) -> None:
    pytest.importorskip("wandb")
    keyless(monkeypatch, lab.root)
    monkeypatch.setenv("WANDB_RUN_GROUP", "a-sweep")
    config = lab.config(logger={"wandb": "offline"}, limit=1)
    records = wandb_records(evaluate(config, lab.models(config)[0]).directory)
    assert [r.run.run_group for r in records if r.run.run_id] == ["a-sweep"]


def test_a_run_folder_alone_has_the_same_numbers(lab: Any) -> None:
    config = lab.config(limit=3)
    results = evaluate(config, lab.models(config)[0])
    assert read_summary(results.directory) == pytest.approx(scalars(results))


def test_logged_numbers_are_named_split_slash_metric(lab: Any) -> None:
    config = lab.config()
    values = scalars(evaluate(config, lab.models(config)[0]))
    assert values["test/exact_match"] == pytest.approx(0.6)
    assert values["test/rounds"] == 1.0
    assert values["query/calls"] == 10
    assert values["index/calls"] == 1
    assert all("/" in name for name in values)


def test_disabled_never_imports_wandb(lab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    config = lab.config(limit=1)
    assert evaluate(config, lab.models(config)[0]).answered == 1


def test_a_missing_wandb_gives_its_install_line(lab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    config = lab.config(limit=1, logger={"wandb": "offline"})
    with pytest.raises(MissingExtraError, match=r"rag-research\[wandb\]"):
        evaluate(config, lab.models(config)[0])
