"""One pass gives pooled, sentence and token vectors; the store reads each text once."""

import json
import multiprocessing
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rag_research.embed.token_store as store_module
from rag_research.config.build import build
from rag_research.embed.base import Role, Vectors
from rag_research.embed.hashing import Hashing, HashingConfig
from rag_research.embed.sentence_encoder import SentenceEncoder
from rag_research.embed.store import EmbeddingStore
from rag_research.embed.token_store import TokenStore, TokenTables
from rag_research.errors import ArtifactError, ConfigError, ModelNotFoundError
from rag_research.runtime.weights import resolve_model

TEXTS = [
    "Oslo\nThe fjord is deep. Ferries cross it! Nobody swims.",
    "",
    "日本語の文章です。次の文もあります。",
    "One sentence only",
    "😀 \ud800 café",
    "   ",
]
FILES = ("keys.bin", "ends.i64", "sentences.i32", "sentences.f16", "tokens.i8")


class Counting(Hashing):
    """Notes whose tokens it reads, and dies when told to."""

    def __init__(self, dimension: int = 32, dies_after: int | None = None) -> None:
        super().__init__(HashingConfig(dimension=dimension))
        self.read: list[str] = []
        self.dies_after = dies_after

    def token_states(self, texts: Sequence[str], role: Role) -> Iterator[tuple[list[int], Any]]:
        if texts and not texts[0].startswith("aa "):  # the sample for the basis
            if self.dies_after is not None and len(self.read) + len(texts) > self.dies_after:
                raise KeyboardInterrupt
            self.read += texts
        return super().token_states(texts, role)


def _store(root: Path, encoder: Hashing | None = None, dimension: int = 8) -> TokenStore:
    return TokenStore(root, encoder or Counting(), dimension)


def _folder(root: Path) -> Path:
    (folder,) = (root / "tokens").iterdir()
    return folder


def _texts(count: int, start: int = 0) -> list[str]:
    return [f"passage number {i}. It has {'more ' * (i % 4)}words." for i in range(start, count)]


def _same(one: TokenTables, other: TokenTables) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in one.__slots__)


def _of(tables: TokenTables, n: int) -> tuple[Any, ...]:
    s, t = tables.sentence_start, tables.token_start
    return (
        tables.vectors[n],
        tables.sentence_offsets[s[n] : s[n + 1]],
        tables.sentence_vectors[s[n] : s[n + 1]],
        tables.tokens[t[n] : t[n + 1]],
    )


def test_shapes_and_types(tmp_path: Path) -> None:
    tables = _store(tmp_path).tables(TEXTS)
    kinds = {
        name: (getattr(tables, name).dtype, getattr(tables, name).ndim) for name in tables.__slots__
    }
    assert kinds == {
        "vectors": (np.float32, 2),
        "sentence_start": (np.int64, 1),
        "sentence_offsets": (np.int32, 2),
        "sentence_vectors": (np.float16, 2),
        "token_start": (np.int64, 1),
        "tokens": (np.int8, 2),
        "basis": (np.float32, 2),
    }
    assert len(tables.sentence_start) == len(tables.token_start) == len(TEXTS) + 1
    assert tables.sentence_start[-1] == len(tables.sentence_vectors) == len(tables.sentence_offsets)
    assert tables.token_start[-1] == len(tables.tokens)
    assert (np.diff(tables.sentence_start) >= 1).all()
    lengths = np.linalg.norm(tables.sentence_vectors.astype(np.float32), axis=1)
    assert np.allclose(lengths, 1, atol=2e-3)


def test_vectors_are_those_of_encode_and_stored_once(tmp_path: Path) -> None:
    tables = _store(tmp_path).tables(TEXTS)
    assert (tables.vectors == Counting().encode(TEXTS, "passage")).all()

    class Silent(Counting):
        def encode(self, texts: Sequence[str], role: Role) -> Vectors:
            raise AssertionError("everything is stored")

    assert (EmbeddingStore(tmp_path, Silent()).vectors(TEXTS) == tables.vectors).all()


def test_sentence_vectors_are_means_of_the_words_in_them(tmp_path: Path) -> None:
    text = "Oslo\nThe fjord is deep. Ferries cross it!"
    tables = _store(tmp_path).tables([text], heads=[5])
    assert tables.sentence_offsets.tolist() == [[5, 24], [24, 41]]
    for row, words in ((0, "The fjord is deep ."), (1, "Ferries cross it !")):
        mean = Counting().encode(words.split(), "passage").mean(axis=0)
        expected = mean / np.linalg.norm(mean)
        assert np.allclose(tables.sentence_vectors[row], expected, atol=1e-3)


def test_without_heads_the_title_is_part_of_the_first_sentence(tmp_path: Path) -> None:
    tables = _store(tmp_path).tables(["Oslo\nThe fjord. It is"])
    assert tables.sentence_offsets.tolist() == [[0, 16], [16, 21]]
    mean = Counting().encode(["Oslo", "The", "fjord", "."], "passage").mean(axis=0)
    assert np.allclose(tables.sentence_vectors[0], mean / np.linalg.norm(mean), atol=1e-3)


@pytest.mark.parametrize(
    ("text", "head", "ranges"),
    [("", 0, [[0, 0]]), ("Title\n", 6, [[6, 6]]), ("ab", 9, [[2, 2]]), (" \n ", 0, [[0, 3]])],
)
def test_a_text_without_words_in_sentences_has_one_with_its_own_vector(
    tmp_path: Path, text: str, head: int, ranges: list[list[int]]
) -> None:
    tables = _store(tmp_path).tables(["Before. After.", text, "z"], heads=[0, head, 0])
    _, offsets, sentences, _ = _of(tables, 1)
    assert offsets.tolist() == ranges
    assert np.allclose(sentences[0], tables.vectors[1], atol=1e-3)


def test_tokens_are_unit_projections_in_order_of_the_text(tmp_path: Path) -> None:
    tables = _store(tmp_path).tables(["deep fjord, deep", "", "x"])
    assert tables.token_start.tolist() == [0, 4, 4, 5]
    assert np.allclose(tables.basis.T @ tables.basis, np.eye(8), atol=1e-5)
    states = Counting().encode(["deep", "fjord", ",", "deep", "x"], "passage")
    projected = states @ tables.basis
    projected /= np.linalg.norm(projected, axis=1, keepdims=True)
    assert np.abs(tables.tokens - 127 * projected).max() <= 0.501


def test_chinese_sentences_are_found(tmp_path: Path) -> None:
    tables = _store(tmp_path).tables([TEXTS[2]])
    pieces = [TEXTS[2][a:b] for a, b in tables.sentence_offsets]
    assert pieces == ["日本語の文章です。", "次の文もあります。"]


def test_only_missing_texts_are_read_once_each(tmp_path: Path) -> None:
    first = Counting()
    _store(tmp_path, first).tables(["a", "b", "a"])
    assert first.read == ["a", "b"]
    second = Counting()
    tables = _store(tmp_path, second).tables(["c", "b", "", "a", "c"])
    assert second.read == ["c", ""]
    assert _same(tables, _store(tmp_path / "new").tables(["c", "b", "", "a", "c"]))


def test_another_head_is_another_reading(tmp_path: Path) -> None:
    encoder = Counting()
    store = _store(tmp_path, encoder)
    whole, body = store.tables(["T\nA b."]), store.tables(["T\nA b."], heads=[2])
    assert encoder.read == 2 * ["T\nA b."]
    assert whole.sentence_offsets.tolist() == [[0, 6]]
    assert body.sentence_offsets.tolist() == [[2, 6]]


def test_any_order_gives_the_same_rows(tmp_path: Path) -> None:
    store = _store(tmp_path)
    texts = TEXTS + _texts(30)
    tables = store.tables(texts)
    order = np.random.default_rng(0).permutation(len(texts))[:25]
    shuffled = store.tables([texts[i] for i in order])
    for n, i in enumerate(order):
        pairs = zip(_of(shuffled, n), _of(tables, int(i)), strict=True)
        assert all(np.array_equal(a, b) for a, b in pairs)


def test_texts_in_stored_order_are_memory_mapped(tmp_path: Path) -> None:
    store = _store(tmp_path)
    store.tables(_texts(9))
    for texts in (_texts(9), _texts(6, start=2)):
        tables = store.tables(texts)
        for name in ("vectors", "sentence_offsets", "sentence_vectors", "tokens"):
            assert isinstance(getattr(tables, name), np.memmap), name
        assert _same(tables, _store(tmp_path / str(len(texts))).tables(texts))


def test_growing_equals_reading_at_once(tmp_path: Path) -> None:
    _store(tmp_path / "grown").tables(_texts(7))
    grown = _store(tmp_path / "grown").tables(_texts(20))
    assert _same(grown, _store(tmp_path / "scratch").tables(_texts(20)))
    a, b = _folder(tmp_path / "grown"), _folder(tmp_path / "scratch")
    assert all((a / name).read_bytes() == (b / name).read_bytes() for name in FILES)


def test_a_death_loses_at_most_one_chunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "LARGEST_CHUNK", 4)
    with pytest.raises(KeyboardInterrupt):
        _store(tmp_path, Counting(dies_after=9)).tables(_texts(20))
    again = Counting()
    tables = _store(tmp_path, again).tables(_texts(20))
    assert again.read == _texts(20, start=8)
    assert _same(tables, _store(tmp_path / "new").tables(_texts(20)))


@pytest.mark.parametrize("lost", [1, 16, 100])
@pytest.mark.parametrize("name", FILES)
def test_torn_tails_are_cut_off(tmp_path: Path, name: str, lost: int) -> None:
    _store(tmp_path).tables(_texts(10))
    path = _folder(tmp_path) / name
    path.write_bytes(path.read_bytes()[: path.stat().st_size - lost])
    again = Counting()
    tables = _store(tmp_path, again).tables(_texts(12))
    assert 2 < len(again.read) < 12
    assert _same(tables, _store(tmp_path / "new").tables(_texts(12)))
    a, b = _folder(tmp_path), _folder(tmp_path / "new")
    assert all((a / name).read_bytes() == (b / name).read_bytes() for name in FILES)


def test_what_a_death_between_two_writes_left_is_cut_off(tmp_path: Path) -> None:
    """Rows without keys: the next write starts after the last whole text."""
    _store(tmp_path).tables(_texts(10))
    for file in FILES[1:]:
        with (_folder(tmp_path) / file).open("ab") as stream:
            stream.write(b"\x01" * 333)
    tables = _store(tmp_path).tables(_texts(14))
    assert _same(tables, _store(tmp_path / "new").tables(_texts(14)))


def test_encoders_and_dimensions_are_kept_apart(tmp_path: Path) -> None:
    bases = [_store(tmp_path, Counting(d), k).tables(["a"]).basis for d, k in ((32, 8), (32, 9))]
    assert (bases[0] == bases[1][:, :8]).all()
    _store(tmp_path, Counting(16)).tables(["a"])
    assert len(list((tmp_path / "tokens").iterdir())) == 3


def test_files_of_another_encoder_and_damaged_ones_are_refused(tmp_path: Path) -> None:
    _store(tmp_path).tables(["a"])
    meta = _folder(tmp_path) / "meta.json"
    stored = meta.read_text()
    meta.write_text(json.dumps(json.loads(stored) | {"token_dimension": 9}))
    with pytest.raises(ArtifactError, match=r"token_dimension is 9.*delete the folder"):
        _store(tmp_path).tables(["a"])
    meta.write_text(stored)
    for damage in (b"", b"\x93NUMPY"):
        (_folder(tmp_path) / "basis.npy").write_bytes(damage)
        with pytest.raises(ArtifactError, match="Delete"):
            _store(tmp_path).tables(["a"])
    np.save(_folder(tmp_path) / "basis.npy", np.ones((3, 3), np.float32))
    with pytest.raises(ArtifactError, match=r"shape \(3, 3\), expected \(32, 8\)"):
        _store(tmp_path).tables(["a"])


def test_no_texts(tmp_path: Path) -> None:
    for _ in range(2):  # before and after something is stored
        tables = _store(tmp_path).tables([])
        assert tables.vectors.shape == tables.sentence_vectors.shape == (0, 32)
        assert tables.tokens.shape == (0, 8)
        assert tables.sentence_start.tolist() == tables.token_start.tolist() == [0]
        assert _store(tmp_path).query([]) == []
        _store(tmp_path).tables(["a"])


def test_only_texts_without_tokens(tmp_path: Path) -> None:
    tables = _store(tmp_path).tables(["", "\n"])
    assert tables.tokens.shape == (0, 8) and len(tables.sentence_vectors) == 2


def test_settings_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="got 33, expected 1 to 32"):
        _store(tmp_path, dimension=33).tables(["a"])
    with pytest.raises(ConfigError, match="at least 1"):
        _store(tmp_path, dimension=0)
    for heads in ([], [-1], [1, 1]):
        with pytest.raises(ConfigError, match="heads"):
            _store(tmp_path).tables(["a"], heads=heads)


class Plain:
    """An encoder of whole texts, as behind HTTP."""

    dimension = 8

    @property
    def identity(self) -> Mapping[str, str]:
        return {"encoder": "plain"}

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        return np.eye(8, dtype=np.float32)[: len(texts)]


def test_an_encoder_without_tokens_is_refused_with_advice(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"Plain.*encoder=minilm.*hashing"):
        TokenStore(tmp_path, Plain())


def test_queries_are_read_whole(tmp_path: Path) -> None:
    store = _store(tmp_path)
    queries = ["Who crossed the fjord?", "", "日本語"]
    found = store.query(queries)
    assert (np.stack([q.vector for q in found]) == Counting().encode(queries, "query")).all()
    words = [queries[0][a:b] for a, b in found[0].offsets]
    assert words == ["Who", "crossed", "the", "fjord", "?"]
    assert (found[0].states == Counting().encode(words, "query")).all()
    assert found[1].states.shape == (0, 32) and found[1].projected.shape == (0, 8)
    assert np.allclose(np.linalg.norm(found[0].projected, axis=1), 1, atol=1e-5)
    tables = store.tables(["the fjord"])
    cosines = tables.tokens.astype(np.float32) @ found[0].projected.T / 127
    assert np.allclose([cosines[0, 2], cosines[1, 3]], 1, atol=0.01)


def _fill(root: Path, start: int) -> None:
    _store(root, Hashing(HashingConfig(dimension=32))).tables(_texts(start + 200, start))


def test_two_processes_share_a_store(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_fill, args=(tmp_path, start)) for start in (0, 100)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0]
    tables = _store(tmp_path, Counting(dies_after=0)).tables(_texts(300))
    assert _same(tables, _store(tmp_path / "new").tables(_texts(300)))
    assert (_folder(tmp_path) / "keys.bin").stat().st_size == 300 * 16


def _bert(model: Path | str, **settings: object) -> SentenceEncoder:
    return SentenceEncoder(build(SentenceEncoder.Config, {"model": str(model)} | settings))


LONG = "The cat sat on the mat. " * 3 + "A dog ran north. The river"


@pytest.mark.parametrize(
    "settings",
    [{}, {"pooling": "cls"}, {"precision": "bf16"}, {"passage_prefix": "the river: "}],
    ids=str,
)
def test_a_transformer_is_read_in_one_pass(
    tiny_bert: Path, tmp_path: Path, settings: dict[str, object]
) -> None:
    import torch

    encoder = _bert(tiny_bert, max_tokens=16, **settings)
    texts = [*TEXTS, LONG, "the cats running."]
    tables = TokenStore(tmp_path, encoder, 8).tables(texts)
    assert (tables.vectors == encoder.encode(texts, "passage")).all()
    prefix = str(settings.get("passage_prefix", ""))
    ((_, states),) = encoder.token_states([LONG], "passage")
    states = states[0].to(torch.float32).numpy()[1:-1]  # [CLS] and [SEP]
    states = states[len(prefix.replace(":", "").split()) + (":" in prefix) :]
    _, offsets, sentences, tokens = _of(tables, 6)
    assert len(offsets) == 5 and len(tokens) == len(states) <= 14
    unit = states / np.linalg.norm(states, axis=1, keepdims=True)
    projected = unit @ tables.basis
    projected /= np.linalg.norm(projected, axis=1, keepdims=True)
    assert np.abs(tokens - 127 * projected).max() <= 0.51
    first = states[:7].mean(axis=0)  # the cat sat on the mat .
    assert np.allclose(sentences[0], first / np.linalg.norm(first), atol=1e-3)
    for past in (3, 4):  # cut off by max_tokens
        assert np.allclose(sentences[past], tables.vectors[6], atol=1e-3)


def test_real_states_keep_their_nearest_neighbours(tmp_path: Path) -> None:
    """The projection is for MaxSim: cosines before and after it agree on a real model."""
    try:
        resolve_model("all-minilm-l6-v2")
    except ModelNotFoundError:
        pytest.skip("all-minilm-l6-v2 is not fetched")
    encoder = _bert("all-minilm-l6-v2", device="cpu")
    store = TokenStore(tmp_path, encoder)
    texts = [
        "The harbour of Wendlemarsh froze twice in that century.",
        "A lighthouse keeper painted the pier every spring.",
        "Its choir sings on the last Sunday of October.",
    ]
    tables = store.tables(texts)
    (query,) = store.query(["Which harbour froze, and who painted the pier?"])
    assert np.allclose(tables.basis.T @ tables.basis, np.eye(128), atol=1e-5)
    assert (tables.vectors == encoder.encode(texts, "passage")).all()
    full, kept = [], []
    for n, read in enumerate(store.query(texts)):  # all-minilm has no prefixes
        full.append((query.states @ read.states.T).max(axis=1))
        kept.append((query.projected @ _of(tables, n)[3].T.astype(np.float32)).max(axis=1) / 127)
    assert np.corrcoef(np.ravel(full), np.ravel(kept))[0, 1] > 0.95


def test_tokens_have_128_dimensions_unless_told_otherwise(tmp_path: Path) -> None:
    encoder = Counting(dimension=160)
    assert TokenStore(tmp_path, encoder).tables(["a b"]).tokens.shape == (2, 128)
    assert TokenStore(tmp_path, encoder).query(["a b"])[0].projected.shape == (2, 128)
