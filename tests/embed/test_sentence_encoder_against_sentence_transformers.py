"""The encoder against the sentence-transformers package: tiny random weights, real MiniLM."""

from pathlib import Path

import numpy as np
import pytest

from rag_research.config import build
from rag_research.embed.sentence_encoder import SentenceEncoder, SentenceEncoderConfig
from rag_research.errors import ModelNotFoundError
from rag_research.runtime.weights import resolve_model

TEXTS = [
    "the cat sat on the mat.",
    "",
    "dogs, cats and the city of music?",
    "a dog ran north of the river and " * 9,
    "東京 is a city",
]


def _reference(folder: Path) -> np.ndarray:
    package = pytest.importorskip("sentence_transformers")
    model = package.SentenceTransformer(str(folder), device="cpu")
    return np.asarray(model.encode(TEXTS, normalize_embeddings=True))


@pytest.mark.parametrize(("precision", "least_cosine"), [("fp32", 0.999999), ("bf16", 0.999)])
def test_tiny_bert_gives_the_same_vectors(
    tiny_bert: Path, precision: str, least_cosine: float
) -> None:
    config = {"model": str(tiny_bert), "max_tokens": 16, "precision": precision, "device": "cpu"}
    vectors = SentenceEncoder(build(SentenceEncoderConfig, config)).encode(TEXTS, "passage")
    assert (vectors * _reference(tiny_bert)).sum(axis=1).min() > least_cosine


def test_minilm_in_bf16_keeps_a_cosine_of_999() -> None:
    try:
        folder = resolve_model("all-minilm-l6-v2").path
    except ModelNotFoundError:
        pytest.skip("all-minilm-l6-v2 is not fetched")
    vectors = SentenceEncoder(SentenceEncoderConfig(device="cpu")).encode(TEXTS, "passage")
    assert (vectors * _reference(folder)).sum(axis=1).min() > 0.999
