"""Sweeps of a tiny program, run as a user runs them."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from rag_research.cli import main

PROGRAM = Path(__file__).with_name("tiny.py")
ROOT = Path(__file__).resolve().parents[3]
X = {"values": [0, 1, 2, 3]}


def sweep_file(folder: Path, **changes: Any) -> Path:
    content = {
        "program": str(PROGRAM),
        "method": "grid",
        "metric": {"name": "val/loss", "goal": "minimize"},
        "parameters": {"x": X},
        **changes,
    }
    file = folder / "sweep.yaml"
    file.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return file


def run(file: Path, *words: str) -> int:
    return main(["sweep", str(file), f"out={file.parent / 'out'}", *words])


def found(file: Path) -> Mapping[str, Any]:
    text = (file.parent / "out" / "trials.json").read_text(encoding="utf-8")
    value: Mapping[str, Any] = json.loads(text)
    return value


def starts(file: Path) -> list[str]:
    """Folders of the trials that began, in order."""
    notes = file.parent / "out" / "starts.txt"
    return [line.split()[0] for line in notes.read_text().splitlines()] if notes.exists() else []


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return sweep_file(tmp_path)


def test_a_grid_runs_in_order_and_tells_the_best(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(small) == 0
    trials = found(small)["trials"]
    assert [(t["number"], t["parameters"]["x"], t["value"]) for t in trials] == [
        (0, 0, 4.0),
        (1, 1, 1.0),
        (2, 2, 0.0),
        (3, 3, 1.0),
    ]
    assert trials[0]["history"] == [5.0]
    shown = capsys.readouterr().out
    assert "| 2     | finished |" in shown.splitlines()[7]  # best first
    assert "4 trials: 4 finished." in shown
    assert "Best, trial 2, val/loss 0: x=2" in shown
    with (small.parent / "out" / "trials.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["trial"], row["x"], row["value"]) for row in rows][2] == ("2", "2", "0.0")


def test_the_same_command_again_runs_nothing(small: Path) -> None:
    assert run(small) == 0
    assert run(small) == 0
    assert starts(small) == ["0000", "0001", "0002", "0003"]


def test_settings_for_every_trial_take_the_place_of_parameters(small: Path) -> None:
    assert run(small, "x=1.5", "y=10") == 0
    [trial] = found(small)["trials"]
    assert (trial["value"], trial["parameters"]) == (10.25, {"x": "1.5", "y": "10"})


def test_more_trials_can_be_asked_for_later(tmp_path: Path) -> None:
    file = sweep_file(tmp_path, method="random", parameters={"x": {"min": -5.0, "max": 5.0}})
    assert run(file) == 2  # no end
    assert run(file, "trials=2") == 0
    first = found(file)["trials"]
    assert run(file, "trials=4", "workers=2") == 0
    assert found(file)["trials"][:2] == first
    assert sorted(starts(file)) == ["0000", "0001", "0002", "0003"]


def test_a_bayes_sweep_finds_the_minimum(tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    file = sweep_file(
        tmp_path, method="bayes", run_cap=16, parameters={"x": {"min": -5.0, "max": 5.0}}
    )
    assert run(file, "workers=2") == 0
    outcome = found(file)
    best = outcome["trials"][outcome["best"]]
    assert best["value"] == min(t["value"] for t in outcome["trials"]) < 1


def test_failed_trials_are_counted_and_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = sweep_file(tmp_path, parameters={"fail": {"values": [False, True]}, "x": {"value": 2}})
    assert run(file) == 1
    states = [t["state"] for t in found(file)["trials"]]
    assert states == ["finished", "failed"]
    shown = capsys.readouterr().out
    assert "    ValueError: the parabola broke" in shown
    assert "FAILED: trial 1: ValueError: the parabola broke" in shown
    assert run(file, "retry=true") == 1
    assert starts(file) == ["0000", "0001", "0001-2"]


def test_a_sweep_whose_trials_all_fail_ends(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(small, "fail=True", "failures=2") == 1
    assert starts(small) == ["0000", "0001"]
    assert "Every trial failed" in capsys.readouterr().out


def test_a_trial_without_the_figure_says_which_there_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = sweep_file(tmp_path, metric={"name": "val/los"})
    assert run(file, "x=1") == 1
    assert "has no figure 'val/los'. Did you mean 'val/loss'?" in capsys.readouterr().out


def test_a_bad_trial_is_stopped_early(tmp_path: Path) -> None:
    slow = tmp_path / "slow.py"  # the last trial takes its time between epochs
    slow.write_text(
        "import sys\n"
        "sys.argv += ['pause=3'] if '--x=40' in sys.argv else []\n"
        f"exec(open({str(PROGRAM)!r}).read())\n"
    )
    file = sweep_file(
        tmp_path,
        program=str(slow),
        parameters={"x": {"values": [2, 2, 2, 40]}, "epochs": {"value": 6}},
        early_terminate={"type": "hyperband", "min_iter": 2},
    )
    assert run(file) == 0
    *rest, last = found(file)["trials"]
    assert [t["state"] for t in rest] == ["finished"] * 3
    assert last["state"] == "stopped" and 2 <= len(last["history"]) < 6
    assert last["value"] == last["history"][-1] == 38**2 + 1 / len(last["history"])


def test_an_evaluation_is_swept_as_it_is(tmp_path: Path) -> None:
    """``evaluate/run.py`` with no model weights: the figure is that of its ``results.json``."""
    pytest.importorskip("faiss")
    words = ["experiment=debug", "system=dense_rag", "limit=4", "llm.replies=[a,b,c,d]"]
    words.append(f"run.store={tmp_path / 'store'}")
    file = sweep_file(
        tmp_path,
        program=str(ROOT / "evaluate" / "run.py"),
        metric={"name": "test/recall@5", "goal": "maximize"},
        command=["${env}", "${interpreter}", "${program}", *words, "${args_no_hyphens}"],
        parameters={"system.k": {"values": [1, 8]}},
    )
    assert run(file) == 0
    outcome = found(file)
    for trial, k in zip(outcome["trials"], (1, 8), strict=True):
        folder = tmp_path / "out" / "trials" / f"{trial['number']:04d}"
        results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
        assert trial["value"] == results["metrics"]["recall@5"]["mean"]
        assert f"k: {k}\n" in (folder / "config.yaml").read_text(encoding="utf-8")
    assert outcome["trials"][1]["value"] > outcome["trials"][0]["value"]
    assert outcome["best"] == 1


def test_the_target_ends_a_sweep(tmp_path: Path) -> None:
    file = sweep_file(tmp_path, metric={"name": "val/loss", "goal": "minimize", "target": 1.0})
    assert run(file) == 0
    assert starts(file) == ["0000", "0001"]


def test_a_folder_belongs_to_one_sweep(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(small, "trials=1") == 0
    assert run(small, "y=1") == 2
    assert "trials of another sweep" in capsys.readouterr().err


def sweep_process(file: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [
            sys.executable,
            str(ROOT / "evaluate" / "sweep.py"),
            str(file),
            f"out={file.parent / 'out'}",
            *words,
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Where the tests run in the background of a shell, they ignore Ctrl-C, and so would this.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def alive(process: int) -> bool:
    """Whether it runs; a zombie does not."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def wait_for(file: Path, count: int) -> None:
    deadline = time.monotonic() + 120
    while len(starts(file)) < count and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(starts(file)) >= count


def test_a_killed_sweep_keeps_what_is_finished_and_repeats_what_ran(tmp_path: Path) -> None:
    # Trials from the third on wait for a file that is there in the second half of this test.
    waiting = tmp_path / "waiting.py"
    waiting.write_text(
        "import sys, time, pathlib\n"
        "x = int(next(w for w in sys.argv if 'x=' in w).partition('=')[2])\n"
        f"exec(open({str(PROGRAM)!r}).read().partition('loss =')[0])\n"
        f"while x > 1 and not pathlib.Path({str(tmp_path / 'go')!r}).exists(): time.sleep(0.05)\n"
        f"exec('loss =' + open({str(PROGRAM)!r}).read().partition('loss =')[2])\n"
    )
    values = [0, 1, 2, 3, 4, 5]
    file = sweep_file(tmp_path, program=str(waiting), parameters={"x": {"values": values}})
    process = sweep_process(file, "workers=2")
    wait_for(file, 4)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait(60) == -signal.SIGKILL
    notes = (tmp_path / "out" / "starts.txt").read_text().splitlines()
    if sys.platform == "linux":  # trials do not outlive their sweep
        time.sleep(0.5)
        assert not any(alive(int(line.split()[1])) for line in notes)

    (tmp_path / "go").touch()
    assert run(file, "workers=2") == 0
    outcome = found(file)
    assert [(t["number"], t["state"], t["value"]) for t in outcome["trials"]] == [
        (x, "finished", float((x - 2) ** 2)) for x in range(6)
    ]
    assert [t["attempt"] for t in outcome["trials"]] == [1, 1, 2, 2, 1, 1]
    assert sorted(starts(file)) == sorted(
        ["0000", "0001", "0002", "0003", "0002-2", "0003-2", "0004", "0005"]
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_the_trials_too(tmp_path: Path, number: signal.Signals) -> None:
    file = sweep_file(tmp_path, parameters={"x": X, "pause": {"value": 60}})
    process = sweep_process(file)
    wait_for(file, 1)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "stopped; the same command goes on" in errors
    [line] = (tmp_path / "out" / "starts.txt").read_text().splitlines()
    assert not alive(int(line.split()[1]))
    assert [t["state"] for t in found(file)["trials"]] == ["running"]


def test_two_processes_do_not_run_one_sweep(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = sweep_file(tmp_path, parameters={"x": X, "pause": {"value": 60}})
    process = sweep_process(file)
    wait_for(file, 1)
    assert run(file) == 2
    assert "another process is running this sweep" in capsys.readouterr().err
    process.terminate()
    process.communicate(timeout=60)


def test_a_setting_that_is_not_yaml_is_named(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(small, "workers=[") != 0
    told = capsys.readouterr().err
    assert "workers: '[' is not YAML" in told and "Traceback" not in told
