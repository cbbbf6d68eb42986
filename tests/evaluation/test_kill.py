"""``kill -9`` in the middle of an evaluation, then the same command again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

# The command: conftest's system and data, one call noted in a file before it is answered, and
# a pause, so that the kill falls into the middle.
SCRIPT = """
import importlib.util, pathlib, sys, time
spec = importlib.util.spec_from_file_location("lab", sys.argv[1])
module = importlib.util.module_from_spec(spec)
sys.modules["lab"] = module
spec.loader.exec_module(module)
from rag_research.evaluation.runner import evaluate
root, pause = pathlib.Path(sys.argv[2]), float(sys.argv[3])

def reply(request):
    with (root / "calls.txt").open("a") as file:
        file.write(request.purpose + "\\n")
    time.sleep(pause)
    return module.read_the_passage(request)

for registry, name, component in module.COMPONENTS:
    registry.register(name)(component)
lab = module.Lab(root)
config = lab.config(run={"concurrency": 2})
evaluate(config, lab.models(config, reply=reply)[0])
"""
CONFTEST = Path(__file__).with_name("conftest.py")


def command(root: Path, pause: float) -> list[str]:
    return [sys.executable, "-c", SCRIPT, str(CONFTEST), str(root), str(pause)]


def answers_asked(root: Path) -> int:
    calls = root / "calls.txt"
    return calls.read_text().count("answer\n") if calls.exists() else 0


def test_only_questions_under_way_are_asked_twice_and_the_files_are_equal(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    whole.mkdir()
    killed.mkdir()
    subprocess.run(command(whole, 0), check=True, timeout=300)
    assert answers_asked(whole) == 10

    process = subprocess.Popen(command(killed, 0.5))
    deadline = time.monotonic() + 240
    while answers_asked(killed) < 5 and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait(timeout=60) == -signal.SIGKILL
    before = answers_asked(killed)
    assert 5 <= before < 10
    assert not (killed / "out" / "results.json").exists()

    subprocess.run(command(killed, 0), check=True, timeout=300)
    again = answers_asked(killed) - (10 - before) - before
    assert 0 <= again <= 2  # at most the two under way
    for name in ("predictions.jsonl", "failures.jsonl"):
        assert (killed / "out" / name).read_bytes() == (whole / "out" / name).read_bytes()
    rows = [json.loads(line) for line in (killed / "out" / "predictions.jsonl").open()]
    assert [row["id"] for row in rows] == [f"q{i}" for i in range(10)]
