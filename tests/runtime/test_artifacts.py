import json
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_research.errors import ArtifactError
from rag_research.runtime.artifacts import ArtifactStore, ItemLog

INPUTS = {"corpus": "c1", "encoder": {"model": "small", "dimension": 3}}


def write_one(directory: Path) -> dict[str, int]:
    (directory / "data.txt").write_text("done")
    return {"items": 1}


def never(directory: Path) -> dict[str, int]:
    raise AssertionError(f"built again in {directory}")


def test_a_second_call_finds_the_first_result(tmp_path: Path) -> None:
    first = ArtifactStore(tmp_path).ensure("stage", 1, INPUTS, write_one)
    again = ArtifactStore(tmp_path, read_only=True).ensure("stage", 1, INPUTS, never)
    assert again.path == first.path
    assert again.counts == {"items": 1}
    assert again.manifest["inputs"] == INPUTS
    assert (again.path / "data.txt").read_text() == "done"


@pytest.mark.parametrize(
    ("version", "inputs"),
    [(2, INPUTS), (1, {**INPUTS, "corpus": "c2"}), (1, {**INPUTS, "encoder": {"model": "large"}})],
)
def test_a_changed_input_or_version_is_another_artefact(
    tmp_path: Path, version: int, inputs: dict[str, Any]
) -> None:
    store = ArtifactStore(tmp_path)
    first = store.ensure("stage", 1, INPUTS, write_one)
    other = store.ensure("stage", version, inputs, write_one)
    assert other.path != first.path
    assert len(store.manifests("stage")) == 2


def test_nothing_is_visible_before_the_build_has_ended(tmp_path: Path) -> None:
    store = ArtifactStore(tmp_path)
    seen: list[int] = []

    def look(directory: Path) -> dict[str, int]:
        seen.append(len(store.manifests("stage")))
        return write_one(directory)

    store.ensure("stage", 1, INPUTS, look)
    assert seen == [0]
    assert len(store.manifests("stage")) == 1
    assert not list(tmp_path.glob("stage/.draft-*"))


def test_a_failed_build_publishes_nothing_and_is_taken_up_again(tmp_path: Path) -> None:
    store = ArtifactStore(tmp_path)

    def fail(directory: Path) -> dict[str, int]:
        (directory / "half.txt").write_text("half")
        raise RuntimeError("disk full")

    with pytest.raises(RuntimeError, match="disk full"):
        store.ensure("stage", 1, INPUTS, fail)
    assert store.manifests("stage") == []

    found: list[str] = []

    def resume(directory: Path) -> dict[str, int]:
        found.extend(p.name for p in directory.iterdir())
        return write_one(directory)

    store.ensure("stage", 1, INPUTS, resume)
    assert found == ["half.txt"]


KILLED = """
import os, signal, sys
from pathlib import Path
from rag_research.runtime.artifacts import ArtifactStore

store = ArtifactStore(sys.argv[1])
stop_after = int(sys.argv[2])

def build(directory):
    log = store.items("work", 1, {})
    for number in range(5):
        key = str(number)
        if key in log:
            continue
        print("worked", key, flush=True)
        log.add(key, number * number)
        if number == stop_after:
            os.kill(os.getpid(), signal.SIGKILL)
    (directory / "sum.txt").write_text(str(sum(log[str(n)] for n in range(5))))
    return {"items": len(log)}

store.ensure("stage", 1, {}, build)
"""


def run_killed(root: Path, stop_after: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", KILLED, str(root), str(stop_after)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_after_kill_9_only_unfinished_items_are_done_again(tmp_path: Path) -> None:
    first = run_killed(tmp_path, stop_after=2)
    assert first.returncode == -signal.SIGKILL
    assert first.stdout.split() == ["worked", "0", "worked", "1", "worked", "2"]
    assert ArtifactStore(tmp_path).manifests("stage") == []
    second = run_killed(tmp_path, stop_after=-1)
    assert second.returncode == 0, second.stderr
    assert second.stdout.split() == ["worked", "3", "worked", "4"]
    (path,) = tmp_path.glob("stage/*/sum.txt")
    assert path.read_text() == "30"  # 0 + 1 + 4 + 9 + 16


def test_two_builders_at_once_build_once(tmp_path: Path) -> None:
    built: list[int] = []
    gate = threading.Barrier(2)

    def slow(directory: Path) -> dict[str, int]:
        built.append(1)
        time.sleep(0.2)
        return write_one(directory)

    def work() -> None:
        gate.wait()
        ArtifactStore(tmp_path).ensure("stage", 1, INPUTS, slow)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert built == [1]


def test_a_read_only_store_says_which_input_differs(tmp_path: Path) -> None:
    ArtifactStore(tmp_path).ensure("dense-index", 1, INPUTS, write_one)
    store = ArtifactStore(tmp_path, read_only=True)
    asked = {"corpus": "c1", "encoder": {"model": "large", "dimension": 3}}
    with pytest.raises(ArtifactError) as caught:
        store.ensure("dense-index", 1, asked, never)
    message = str(caught.value)
    assert "no dense-index artefact" in message
    assert "encoder.model: built with 'small', asked for 'large'" in message
    assert "dimension" not in message
    assert "rag-research index" in message


def test_a_read_only_store_says_when_nothing_was_built(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="Nothing of this stage was ever built"):
        ArtifactStore(tmp_path, read_only=True).ensure("stage", 1, INPUTS, never)


def test_an_unreadable_manifest_names_the_file_and_the_remedy(tmp_path: Path) -> None:
    artifact = ArtifactStore(tmp_path).ensure("stage", 1, INPUTS, write_one)
    (artifact.path / "manifest.json").write_text("{half")
    with pytest.raises(ArtifactError, match=r"not readable JSON.*Delete"):
        ArtifactStore(tmp_path).ensure("stage", 1, INPUTS, never)


def test_item_logs_of_different_inputs_are_apart(tmp_path: Path) -> None:
    store = ArtifactStore(tmp_path)
    store.items("extract", 1, {"prompt": "a"}).add("p1", [1])
    assert "p1" in store.items("extract", 1, {"prompt": "a"})
    assert "p1" not in store.items("extract", 1, {"prompt": "b"})
    assert "p1" not in store.items("extract", 2, {"prompt": "a"})


def test_a_read_only_store_reads_items_and_takes_none(tmp_path: Path) -> None:
    ArtifactStore(tmp_path).items("extract", 1, {"prompt": "a"}).add("p1", [1])
    store = ArtifactStore(tmp_path, read_only=True)
    log = store.items("extract", 1, {"prompt": "a"})
    assert log["p1"] == [1]
    with pytest.raises(ArtifactError, match="read-only"):
        log.add("p2", [2])
    with pytest.raises(ArtifactError, match=r'no items of the stage extract .*"prompt":"b"'):
        store.items("extract", 1, {"prompt": "b"})
    assert len(ArtifactStore(tmp_path).items("extract", 1, {"prompt": "a"})) == 1


def test_later_lines_win(tmp_path: Path) -> None:
    log = ItemLog(tmp_path / "log.jsonl")
    log.add("a", 1)
    log.add("a", 2)
    assert ItemLog(log.path)["a"] == 2
    assert len(ItemLog(log.path)) == 1


@given(
    values=st.lists(st.text(max_size=6), min_size=1, max_size=5),
    cut=st.floats(min_value=0, max_value=1),
)
def test_a_log_torn_at_any_byte_keeps_whole_lines_and_goes_on(
    values: list[str], cut: float
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        log = ItemLog(path)
        for number, value in enumerate(values):
            log.add(str(number), value)
        data = path.read_bytes()
        torn = data[: round(cut * len(data))]
        path.write_bytes(torn)
        kept = torn.count(b"\n")
        reopened = ItemLog(path)
        assert len(reopened) == kept
        reopened.add("new", "line")
        rows = [json.loads(line) for line in path.read_bytes().splitlines()]
        expected = [*((str(n), values[n]) for n in range(kept)), ("new", "line")]
        assert [(r["key"], r["value"]) for r in rows] == expected
