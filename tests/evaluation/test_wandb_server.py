"""wandb's real programs against a server of this test: runs are synced, sweeps registered."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
import yaml

from rag_research.cli import main
from rag_research.evaluation.runner import evaluate

pytest.importorskip("wandb", minversion="0.31")

ROOT = Path(__file__).resolve().parents[2]
_PROJECT = {"id": "p", "name": "rag_research", "entity": {"id": "e", "name": "me"}}
_BUCKET = {"id": "b", "name": "run", "displayName": "run", "config": "{}", "project": _PROJECT}
# A committed artefact is one whose files the server has: nothing is uploaded for it.
_ARTIFACT = {
    "id": "a",
    "state": "COMMITTED",
    "artifactSequence": {"id": "s", "latestArtifact": None},
}
_ANSWERS: dict[str, Any] = {
    "Viewer": {"viewer": {"id": "u", "entity": "me", "username": "me", "flags": "{}"}},
    "RunResumeStatus": {"model": None},
    "UpsertBucket": {"upsertBucket": {"bucket": _BUCKET, "inserted": True}},
    "CreateRunFiles": {"createRunFiles": {"runID": "b", "uploadHeaders": [], "files": []}},
    "UpsertSweep": {
        "upsertSweep": {
            "sweep": {"name": "abc", "project": _PROJECT},
            "configValidationWarnings": [],
        }
    },
    "CreateArtifact": {"createArtifact": {"artifact": _ARTIFACT}},
}


class Recorder(BaseHTTPRequestHandler):
    """Answers as little as wandb needs, and keeps what it was sent."""

    operations: ClassVar[list[tuple[str, Any]]] = []
    streamed: ClassVar[list[Any]] = []

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self._reply({})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        if self.path == "/graphql":
            request = json.loads(body)
            name = request.get("operationName") or request["query"].split()[1].partition("(")[0]
            self.operations.append((name, request.get("variables")))
            self._reply({"data": _ANSWERS.get(name, {})})
            return
        if self.path.endswith("/file_stream"):
            self.streamed.append(json.loads(body))
        self._reply({})

    def _reply(self, value: Any) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def server() -> Iterator[str]:
    Recorder.operations, Recorder.streamed = [], []
    try:
        http = ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
    except OSError as error:
        pytest.skip(f"this machine lets no server listen: {error}")
    thread = threading.Thread(target=http.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{http.server_port}"
    http.shutdown()
    http.server_close()


@pytest.fixture
def at_server(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Runs a command that is logged in at the server of this test."""
    for name in ("WANDB_CONFIG_DIR", "WANDB_CACHE_DIR", "WANDB_DATA_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "home" / name))
    monkeypatch.delenv("WANDB_MODE", raising=False)

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
            env={
                **os.environ,
                "HOME": str(tmp_path / "home"),
                "PYTHONPATH": str(ROOT),
                "WANDB_BASE_URL": server,
                "WANDB_API_KEY": "0" * 40,
                "WANDB_SILENT": "false",
            },
        )

    return run


def test_wandb_sync_takes_an_offline_run(lab: Any, at_server: Callable[..., Any]) -> None:
    config = lab.config(logger={"wandb": "offline", "group": "g"}, limit=3)
    results = evaluate(config, lab.models(config)[0])
    [run] = (results.directory / "wandb").glob("offline-run-*")
    done = at_server(str(Path(sys.executable).with_name("wandb")), "sync", "--yes", str(run))
    assert done.returncode == 0, done.stderr
    assert "Finished syncing" in done.stdout + done.stderr
    created = [sent for name, sent in Recorder.operations if name == "UpsertBucket"]
    assert created[0]["groupName"] == "g"
    assert json.loads(created[-1]["config"])["system"]["value"]["name"] == "overlap"
    artifacts = [sent["input"] for name, sent in Recorder.operations if name == "CreateArtifact"]
    assert "results" in {artifact["artifactTypeName"] for artifact in artifacts}
    history = [
        json.loads(line)
        for sent in Recorder.streamed
        for line in sent.get("files", {}).get("wandb-history.jsonl", {}).get("content", [])
    ]
    values = {key: value for row in history for key, value in row.items()}
    mean = results.metrics["exact_match"]
    assert mean is not None and values["test/exact_match"] == mean.mean


def test_a_sweep_is_registered(at_server: Callable[..., Any]) -> None:
    program = str(ROOT / "evaluate" / "sweep.py")
    done = at_server(sys.executable, program, "t2rag", "--register", "limit=7")
    assert done.returncode == 0, done.stderr
    assert "Run trials with: wandb agent rag_research/abc" in done.stdout
    [sent] = [sent for name, sent in Recorder.operations if name == "UpsertSweep"]
    file = yaml.safe_load((ROOT / "configs" / "sweep" / "t2rag.yaml").read_text(encoding="utf-8"))
    registered = yaml.safe_load(sent["config"])
    assert (registered["method"], registered["metric"]) == (file["method"], file["metric"])
    assert registered["parameters"]["limit"]["value"] == "7"
    assert registered["parameters"]["system.k"]["values"] == [2, 3, 5, 8]


def test_without_a_key_a_sweep_is_not_registered(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WANDB_MODE", "offline")
    assert main(["sweep", "t2rag", "register=online"]) == 2
    assert "wandb login" in capsys.readouterr().err
