"""What a result says about code and machine is true."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path

import pytest

from rag_research.runtime import provenance as module
from rag_research.runtime.provenance import (
    code_state,
    machine,
    package_versions,
    peak_memory_mib,
    provenance,
    resources,
)


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    done = subprocess.run(
        ["git", "-C", str(folder), *identity, *arguments],
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


def test_commit_and_changes_of_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CHECKOUT", tmp_path)
    assert code_state() == {"commit": None, "dirty": None}  # an installed package
    git(tmp_path, "init", "-q")
    (tmp_path / "a.txt").write_text("a")
    git(tmp_path, "add", "a.txt")
    git(tmp_path, "commit", "-qm", "a")
    assert code_state() == {"commit": git(tmp_path, "rev-parse", "HEAD"), "dirty": False}
    (tmp_path / "a.txt").write_text("b")
    assert code_state()["dirty"] is True


def test_without_git_the_commit_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.setattr(module, "_CHECKOUT", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert code_state() == {"commit": None, "dirty": None}


def test_versions_are_those_installed() -> None:
    found = package_versions()
    assert found["numpy"] == metadata.version("numpy")
    assert "no-such-package" not in found


def test_machine_and_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["run.py", "prompts=my prompts"])
    facts = provenance()
    assert facts["command"] == "run.py 'prompts=my prompts'"
    assert facts["date"].endswith("+00:00")
    assert machine()["python"] == platform.python_version()
    assert machine()["memory_gib"] > 0.1
    assert json.loads(json.dumps(facts)) == facts


def test_clocks_tell_work_from_waiting() -> None:
    start = resources()
    time.sleep(0.05)
    spent = resources().since(start)
    assert spent["wall_seconds"] >= 0.05
    assert spent["cpu_seconds"] < spent["wall_seconds"]


def test_peak_memory_grows_with_what_is_held() -> None:
    before = peak_memory_mib()["process"]
    held = bytearray(b"x") * (int(before + 64) * 2**20)
    assert peak_memory_mib()["process"] >= before + 32
    assert held[0]
