"""``wandb sync`` takes an offline run: the real program, against a server of this test."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from rag_research.evaluation.runner import evaluate

pytest.importorskip("wandb", minversion="0.31")

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


def test_wandb_sync_takes_an_offline_run(
    lab: Any, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = lab.root / "home"
    for name in ("WANDB_CONFIG_DIR", "WANDB_CACHE_DIR", "WANDB_DATA_DIR"):
        monkeypatch.setenv(name, str(home / name))
    monkeypatch.delenv("WANDB_MODE", raising=False)
    monkeypatch.setenv("WANDB_SILENT", "true")
    config = lab.config(logger={"wandb": "offline", "group": "g"}, limit=3)
    results = evaluate(config, lab.models(config)[0])
    [run] = (results.directory / "wandb").glob("offline-run-*")
    done = subprocess.run(
        [str(Path(sys.executable).with_name("wandb")), "sync", "--yes", str(run)],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        env={
            **os.environ,
            "HOME": str(home),
            "WANDB_BASE_URL": server,
            "WANDB_API_KEY": "0" * 40,
            "WANDB_SILENT": "false",
        },
    )
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
