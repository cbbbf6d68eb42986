from pathlib import Path

import pytest

from rag_research.config import build
from rag_research.errors import ConfigError, ModelNotFoundError
from rag_research.index.rerank import CrossEncoder, CrossEncoderConfig, NoReranker, NoRerankerConfig
from rag_research.registry import RERANKERS
from rag_research.runtime.weights import resolve_model
from rag_research.types import Hit

TEXTS = {
    "a": "Berlin is a large city in Europe.",
    "b": "Paris is the capital of France.",
    "c": "",
    "d": "日本語 😀",
}
HITS = [Hit(id, 1.0 - i / 10) for i, id in enumerate(TEXTS)]
QUERY = "What is the capital of France?"


def test_no_reranker_keeps_the_first_k() -> None:
    reranker = NoReranker(NoRerankerConfig())
    assert reranker.rerank(QUERY, HITS, TEXTS, 2) == HITS[:2]
    assert reranker.rerank(QUERY, [], TEXTS, 2) == []
    assert RERANKERS.get("none") is NoReranker


@pytest.fixture(scope="module")
def tiny_cross_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _classifier(tmp_path_factory.mktemp("tiny-cross-encoder"), labels=1)


def _classifier(folder: Path, labels: int) -> Path:
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "capital", "france", "paris", "city"]
    BertTokenizerFast(vocab={w: i for i, w in enumerate(words)}).save_pretrained(folder)
    torch.manual_seed(1)
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        num_labels=labels,
        initializer_range=0.5,
    )
    BertForSequenceClassification(config).save_pretrained(folder)
    return folder


def _cross_encoder(model: object, **settings: object) -> CrossEncoder:
    defaults = {"model": str(model), "max_tokens": 48, "device": "cpu"}
    return CrossEncoder(build(CrossEncoderConfig, defaults | settings))


def test_scores_are_the_logits_of_the_model(tiny_cross_encoder: Path) -> None:
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tiny_cross_encoder)
    model = AutoModelForSequenceClassification.from_pretrained(tiny_cross_encoder).eval()
    expected = {}
    for id, text in TEXTS.items():
        with torch.inference_mode():
            expected[id] = model(**tokenizer([QUERY], [text], return_tensors="pt")).logits.item()
    hits = _cross_encoder(tiny_cross_encoder).rerank(QUERY, HITS, TEXTS, 10)
    assert {hit.id: hit.score for hit in hits} == pytest.approx(expected, abs=1e-5)
    assert hits == sorted(hits, key=lambda hit: (-hit.score, hit.id))


def test_texts_may_be_a_function_and_k_cuts(tiny_cross_encoder: Path) -> None:
    reranker = _cross_encoder(tiny_cross_encoder)
    every = reranker.rerank(QUERY, HITS, TEXTS, 10)
    assert reranker.rerank(QUERY, HITS, lambda id: TEXTS[id], 2) == every[:2]
    assert reranker.rerank(QUERY, HITS, TEXTS, 0) == []
    assert reranker.rerank(QUERY, [], TEXTS, 3) == []
    assert len(reranker.rerank("", [*HITS, HITS[0]], TEXTS, 10)) == len(TEXTS)


def test_a_very_long_text_is_cut(tiny_cross_encoder: Path) -> None:
    hits = _cross_encoder(tiny_cross_encoder).rerank(QUERY, HITS[:1], {"a": "city " * 999}, 1)
    assert [hit.id for hit in hits] == ["a"]


def test_a_classifier_of_several_labels_is_refused(tmp_path: Path) -> None:
    folder = _classifier(tmp_path, labels=3)
    with pytest.raises(ConfigError, match="3 outputs"):
        _cross_encoder(folder).rerank(QUERY, HITS, TEXTS, 2)


def test_a_missing_model_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError):
        _cross_encoder(tmp_path / "nowhere").rerank(QUERY, HITS, TEXTS, 2)


def test_the_catalogue_model_puts_the_answer_first() -> None:
    pytest.importorskip("onnxruntime")
    try:
        resolve_model("ms-marco-minilm-l12-onnx")
    except ModelNotFoundError:
        pytest.skip("ms-marco-minilm-l12-onnx is not fetched")
    reranker = CrossEncoder(CrossEncoderConfig())
    hits = reranker.rerank(QUERY, HITS, TEXTS, 4)
    assert hits[0].id == "b" and hits[0].score > hits[1].score + 5
    alone = [reranker.rerank(QUERY, [hit], TEXTS, 1)[0] for hit in HITS]
    assert {hit.id: hit.score for hit in alone} == {hit.id: hit.score for hit in hits}
