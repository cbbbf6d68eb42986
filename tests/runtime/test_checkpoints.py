"""Networks by name and by file."""

from pathlib import Path

from rag_research.runtime.carriers import sha256_of
from rag_research.runtime.checkpoints import checkpoint_hashes, find_checkpoint


def test_a_replaced_file_has_another_hash(tmp_path: Path) -> None:
    file = tmp_path / "mine.safetensors"
    hashes = []
    for content in (b"one", b"two"):
        file.write_bytes(content)
        hashes.append(checkpoint_hashes({"path_selector": str(file)})[str(file)])
    assert hashes[0] != hashes[1]


def test_released_networks_at_any_depth() -> None:
    settings = {"path_selector": "selector-minilm", "segmenter": {"checkpoint": "boundary-light"}}
    released = find_checkpoint("boundary-light", "boundary")
    found = checkpoint_hashes(settings)
    assert set(found) == {"selector-minilm", "boundary-light"}
    assert found["boundary-light"] == sha256_of(released)


def test_what_is_no_network_is_left_out() -> None:
    assert checkpoint_hashes({"path_selector": "nowhere", "checkpoint": None, "k": 3}) == {}
