"""The store encodes each text once, survives kills, and refuses strangers' vectors."""

import json
import multiprocessing
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

import rag_research.embed.store as store_module
from rag_research.embed.base import Role, Vectors
from rag_research.embed.hashing import Hashing, HashingConfig
from rag_research.embed.store import EmbeddingStore
from rag_research.errors import ArtifactError


class Counting(Hashing):
    """Notes what it encodes, and dies when told to."""

    def __init__(self, dimension: int = 16, dies_after: int | None = None) -> None:
        super().__init__(HashingConfig(dimension=dimension))
        self.encoded: list[str] = []
        self.dies_after = dies_after

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        if self.dies_after is not None and len(self.encoded) + len(texts) > self.dies_after:
            raise KeyboardInterrupt
        self.encoded += texts
        return super().encode(texts, role)


def _folder(root: Path) -> Path:
    (folder,) = (root / "embeddings").iterdir()
    return folder


def _texts(count: int, start: int = 0) -> list[str]:
    return [f"passage number {i}" for i in range(start, start + count)]


def test_only_missing_texts_are_encoded_once_each(tmp_path: Path) -> None:
    first = Counting()
    EmbeddingStore(tmp_path, first).vectors(["a", "b", "a"])
    assert first.encoded == ["a", "b"]
    second = Counting()
    vectors = EmbeddingStore(tmp_path, second).vectors(["c", "b", "", "a"])
    assert second.encoded == ["c", ""]
    assert (vectors == Counting().encode(["c", "b", "", "a"], "passage")).all()


def test_texts_in_stored_order_are_memory_mapped(tmp_path: Path) -> None:
    store = EmbeddingStore(tmp_path, Counting())
    assert isinstance(store.vectors(_texts(5)), np.memmap)
    assert isinstance(store.vectors(_texts(3, start=1)), np.memmap)


def test_growing_equals_encoding_at_once(tmp_path: Path) -> None:
    grown = EmbeddingStore(tmp_path / "grown", Counting())
    grown.vectors(_texts(7))
    at_once = EmbeddingStore(tmp_path / "scratch", Counting()).vectors(_texts(20))
    assert (grown.vectors(_texts(20)) == at_once).all()
    names = ("keys.bin", "vectors.f32")
    a, b = _folder(tmp_path / "grown"), _folder(tmp_path / "scratch")
    assert all((a / name).read_bytes() == (b / name).read_bytes() for name in names)


def test_a_death_loses_at_most_one_chunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "LARGEST_CHUNK", 4)
    with pytest.raises(KeyboardInterrupt):
        EmbeddingStore(tmp_path, Counting(dies_after=9)).vectors(_texts(20))
    again = Counting()
    vectors = EmbeddingStore(tmp_path, again).vectors(_texts(20))
    assert again.encoded == _texts(12, start=8)
    assert (vectors == Counting().encode(_texts(20), "passage")).all()


@pytest.mark.parametrize(("keys_lost", "bytes_lost"), [(0, 7), (5, 0), (20, 30), (16, 0), (0, 64)])
def test_torn_tails_are_cut_off(tmp_path: Path, keys_lost: int, bytes_lost: int) -> None:
    EmbeddingStore(tmp_path, Counting()).vectors(_texts(10))
    for name, lost in (("keys.bin", keys_lost), ("vectors.f32", bytes_lost)):
        path = _folder(tmp_path) / name
        path.write_bytes(path.read_bytes()[: path.stat().st_size - lost])
    again = Counting()
    vectors = EmbeddingStore(tmp_path, again).vectors(_texts(12))
    assert 2 < len(again.encoded) <= 4
    assert (vectors == Counting().encode(_texts(12), "passage")).all()
    assert (_folder(tmp_path) / "keys.bin").stat().st_size == 12 * 16
    assert (_folder(tmp_path) / "vectors.f32").stat().st_size == 12 * 16 * 4


def test_deposited_vectors_are_not_encoded_again(tmp_path: Path) -> None:
    store = EmbeddingStore(tmp_path, Counting(dies_after=0))
    vectors = Counting().encode(["a", "b", "a", "c"], "passage")
    for _ in range(2):  # what is there stays
        store.add(["a", "b", "a", "c"], vectors)
    assert (_folder(tmp_path) / "keys.bin").stat().st_size == 3 * 16
    store.add(["b", "d"], np.zeros((2, 16), dtype=np.float32))
    expected = np.concatenate([vectors[[3, 1]], np.zeros((1, 16), dtype=np.float32)])
    assert (store.vectors(["c", "b", "d"]) == expected).all()
    store.add([], vectors[:0])


def test_a_deposit_cuts_a_torn_tail_off(tmp_path: Path) -> None:
    store = EmbeddingStore(tmp_path, Counting())
    store.vectors(_texts(5))
    path = _folder(tmp_path) / "vectors.f32"
    path.write_bytes(path.read_bytes()[:-7])
    store.add(_texts(8), Counting().encode(_texts(8), "passage"))
    assert (store.vectors(_texts(8)) == Counting().encode(_texts(8), "passage")).all()
    assert path.stat().st_size == 8 * 16 * 4


def test_deposits_of_another_shape_are_refused(tmp_path: Path) -> None:
    store = EmbeddingStore(tmp_path, Counting())
    for shape in ((2, 16), (1, 15)):
        with pytest.raises(ArtifactError, match=r"expected \(1, 16\)"):
            store.add(["a"], np.ones(shape, dtype=np.float32))


def test_encoders_and_roles_are_kept_apart(tmp_path: Path) -> None:
    EmbeddingStore(tmp_path, Counting(16)).vectors(["a"], role="passage")
    EmbeddingStore(tmp_path, Counting(16)).vectors(["a"], role="query")
    EmbeddingStore(tmp_path, Counting(32)).vectors(["a"], role="query")
    assert len(list((tmp_path / "embeddings").iterdir())) == 3


def test_vectors_of_another_encoder_are_refused(tmp_path: Path) -> None:
    EmbeddingStore(tmp_path, Counting()).vectors(["a"])
    meta = _folder(tmp_path) / "meta.json"
    stored = json.loads(meta.read_text())
    meta.write_text(json.dumps(stored | {"identity": {"encoder": "something else"}}))
    with pytest.raises(ArtifactError, match=r"another encoder.*something else.*delete the folder"):
        EmbeddingStore(tmp_path, Counting()).vectors(["a"])


class Lying(Counting):
    """Promises another dimension than it gives."""

    @property
    def dimension(self) -> int:
        return 8

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        return np.ones((len(texts), 9), dtype=np.float32)

    @property
    def identity(self) -> Mapping[str, str]:
        return {"encoder": "lying"}


def test_vectors_of_another_dimension_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match=r"shape \(1, 9\), expected \(1, 8\)"):
        EmbeddingStore(tmp_path, Lying()).vectors(["a"])


def test_damaged_settings_say_what_to_do(tmp_path: Path) -> None:
    EmbeddingStore(tmp_path, Counting()).vectors(["a"])
    (_folder(tmp_path) / "meta.json").write_text("{")
    with pytest.raises(ArtifactError, match="Delete"):
        EmbeddingStore(tmp_path, Counting()).vectors(["a"])


def test_no_texts_and_odd_texts(tmp_path: Path) -> None:
    store = EmbeddingStore(tmp_path, Counting())
    assert store.vectors([]).shape == (0, 16)
    assert store.vectors(["", "日本語", "عربي", "😀", "x" * 100_000, "\ud800"]).shape == (6, 16)


def _fill(root: Path, start: int) -> None:
    EmbeddingStore(root, Hashing(HashingConfig(dimension=16))).vectors(_texts(200, start))


def test_two_processes_share_a_store(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_fill, args=(tmp_path, start)) for start in (0, 100)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0]
    nothing_left = Counting(dies_after=0)
    vectors = EmbeddingStore(tmp_path, nothing_left).vectors(_texts(300))
    assert (vectors == Counting().encode(_texts(300), "passage")).all()
    assert (_folder(tmp_path) / "keys.bin").stat().st_size == 300 * 16
