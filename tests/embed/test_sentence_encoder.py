import sys
from pathlib import Path

import numpy as np
import pytest

from rag_research.config import build, fingerprint
from rag_research.embed.base import Encoder
from rag_research.embed.sentence_encoder import SentenceEncoder, SentenceEncoderConfig
from rag_research.errors import ConfigError, ModelNotFoundError

TEXTS = [
    "",
    "the cat sat on the mat.",
    "a dog ran",
    "a dog ran north",
    "music of the city, and of the river and the city and the cats running on and on",
    "日本語の文章",
    "مرحبا",
    "😀 \ud800",
    "the cat " * 500,
]


def _encoder(model: Path, **settings: object) -> SentenceEncoder:
    defaults = {"model": str(model), "max_tokens": 16, "device": "cpu"}
    return SentenceEncoder(build(SentenceEncoderConfig, defaults | settings))


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("batch_tokens", [1, 20, 4096])
def test_a_text_has_the_same_vector_in_any_company(
    tiny_bert: Path, precision: str, batch_tokens: int
) -> None:
    alone = _encoder(tiny_bert, precision=precision)
    together = _encoder(tiny_bert, precision=precision, batch_tokens=batch_tokens)
    vectors = together.encode(TEXTS, "passage")
    for text, vector in zip(TEXTS, vectors, strict=True):
        assert (alone.encode([text], "passage")[0] == vector).all()


def test_vectors_are_float32_and_unit(tiny_bert: Path) -> None:
    vectors = _encoder(tiny_bert).encode(TEXTS, "query")
    assert vectors.dtype == np.float32 and vectors.shape == (len(TEXTS), 32)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert _encoder(tiny_bert).encode([], "query").shape == (0, 32)


def test_prefixes_belong_to_roles_and_to_the_identity(tiny_bert: Path) -> None:
    plain = _encoder(tiny_bert)
    prefixed = _encoder(tiny_bert, query_prefix="the river ", passage_prefix="")
    asked = prefixed.encode(["dog"], "query")
    assert (asked == plain.encode(["the river dog"], "query")).all()
    assert (prefixed.encode(["dog"], "passage") == plain.encode(["dog"], "passage")).all()
    assert prefixed.identity != plain.identity


def test_every_setting_counts_in_the_identity_or_has_no_effect(tiny_bert: Path) -> None:
    base = _encoder(tiny_bert)
    for setting in (
        {"precision": "bf16"},
        {"pooling": "cls"},
        {"query_prefix": "q: "},
        {"passage_prefix": "p: "},
        {"max_tokens": 12},
    ):
        changed = _encoder(tiny_bert, **setting)
        assert changed.identity != base.identity, setting
        assert fingerprint(changed.config) != fingerprint(base.config)
    for setting in ({"batch_tokens": 7}, {"device": "auto"}, {"threads": 2}):
        changed = _encoder(tiny_bert, **setting)
        assert changed.identity == base.identity, setting
        assert fingerprint(changed.config) == fingerprint(base.config)


def test_cls_pooling_takes_the_first_token(tiny_bert: Path) -> None:
    import torch
    from transformers import AutoModel, AutoTokenizer

    encoder = _encoder(tiny_bert, pooling="cls", precision="fp32")
    tokens = AutoTokenizer.from_pretrained(tiny_bert)("a dog ran", return_tensors="pt")
    with torch.inference_mode():
        first = AutoModel.from_pretrained(tiny_bert)(**tokens).last_hidden_state[0, 0].numpy()
    expected = first / np.linalg.norm(first)
    assert np.allclose(encoder.encode(["a dog ran"], "passage")[0], expected, atol=1e-5)


def test_offsets_point_into_the_text_without_its_prefix(tiny_bert: Path) -> None:
    encoder = _encoder(tiny_bert, max_tokens=16, query_prefix="the dog, ")
    (offsets,) = encoder.token_offsets(["cats ran"], "query")
    assert offsets.tolist() == [[0, 0]] * 4 + [[0, 3], [3, 4], [5, 8], [0, 0]]
    (plain,) = encoder.token_offsets(["cats ran"], "passage")
    assert plain.tolist() == [[0, 0], [0, 3], [3, 4], [5, 8], [0, 0]]
    assert encoder.token_offsets([], "query") == []


def test_identity_and_dimension_load_no_weights(tiny_bert: Path) -> None:
    encoder = _encoder(tiny_bert)
    assert isinstance(encoder, Encoder)
    assert encoder.dimension == 32 and len(encoder.identity["weights"]) == 64
    assert "_loaded" not in vars(encoder)


def test_importing_the_encoder_imports_no_torch() -> None:
    import subprocess

    code = (
        "import sys, rag_research.embed.sentence_encoder as s;"
        "s.SentenceEncoder(s.SentenceEncoderConfig());"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_missing_model_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError):
        _encoder(tmp_path / "nowhere").encode(["a"], "query")


def test_more_tokens_than_the_model_reads_are_refused(tiny_bert: Path) -> None:
    with pytest.raises(ConfigError, match=r"max_tokens: got 65.*at most 64"):
        _encoder(tiny_bert, max_tokens=65).encode(["a"], "query")


def test_settings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ConfigError, match="max_tokens"):
        build(SentenceEncoderConfig, {"max_tokens": 0})
    with pytest.raises(ConfigError, match="precision"):
        build(SentenceEncoderConfig, {"precision": "int4"})
