from pathlib import Path

import numpy as np
import pytest

from rag_research.embed.sentence_encoder import SentenceEncoder, SentenceEncoderConfig
from rag_research.errors import ModelNotFoundError
from rag_research.runtime.weights import resolve_model

MODEL = "bge-small-en-v1.5-onnx"
TEXTS = ["A cat sleeps on the mat.", "Stock prices fell on Monday.", "A kitten naps on a rug.", ""]


@pytest.fixture(scope="module")
def folder() -> Path:
    pytest.importorskip("onnxruntime")
    try:
        return resolve_model(MODEL).path
    except ModelNotFoundError:
        pytest.skip(f"{MODEL} is not fetched")


@pytest.fixture(scope="module")
def encoder(folder: Path) -> SentenceEncoder:
    return SentenceEncoder(SentenceEncoderConfig(model=MODEL, pooling="cls"))


def test_meaning_decides_over_words(encoder: SentenceEncoder) -> None:
    vectors = encoder.encode(TEXTS, "passage")
    assert vectors.shape == (4, 384) and vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    cosine = vectors @ vectors.T
    assert cosine[0, 2] > cosine[0, 1] + 0.1


def test_a_text_has_the_same_vector_in_any_company(encoder: SentenceEncoder) -> None:
    together = encoder.encode(TEXTS * 3, "passage")
    for text, vector in zip(TEXTS, together, strict=False):
        assert (encoder.encode([text], "passage")[0] == vector).all()


def test_token_states_pool_to_the_vector(encoder: SentenceEncoder) -> None:
    offsets = encoder.token_offsets(TEXTS, "passage")
    for batch, states in encoder.token_states(TEXTS, "passage"):
        assert len(batch) == 1 and states.shape[1] == len(offsets[batch[0]])
        first = states[0, 0].numpy()
        vector = encoder.encode([TEXTS[batch[0]]], "passage")[0]
        assert np.allclose(first / np.linalg.norm(first), vector, atol=1e-6)


def test_against_onnxruntime_alone(folder: Path, encoder: SentenceEncoder) -> None:
    import onnxruntime
    from tokenizers import Tokenizer

    session = onnxruntime.InferenceSession(str(folder / "model.onnx"))
    ids = np.array([Tokenizer.from_file(str(folder / "tokenizer.json")).encode(TEXTS[0]).ids])
    feed = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
    feed["token_type_ids"] = np.zeros_like(ids)
    first = session.run(["last_hidden_state"], feed)[0][0, 0]
    vector = encoder.encode(TEXTS[:1], "passage")[0]
    assert np.allclose(first / np.linalg.norm(first), vector, atol=1e-5)
