"""The released light network on texts of every kind: pieces that tile, the same each time."""

import html
import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_research.errors import ArtifactError, ModelNotFoundError
from rag_research.extract.boundary import Boundary
from rag_research.extract.spans import Source, check_tiling, map_spans
from rag_research.registry import SEGMENTERS
from rag_research.runtime.checkpoints import find_checkpoint
from rag_research.runtime.weights import resolve_model

TEXTS = st.text(alphabet="aB1 .!?:\n。é\u0627،؟，\u4e2d\U0001f600&;", max_size=160)
SEA = (
    "The ship left the harbour at dawn. Its captain raised the sails. The wind drove the ship "
    "out to sea. The sailors dropped the anchor at night. "
)
TAX = (
    "== Taxation ==\nThe parliament passed a new tax on income. Ministers defended the tax in a "
    "debate. The opposition called for lower taxes. The budget was adopted by the parliament. "
)
CHINESE = "船在黎明离开港口。船长升起了帆。议会通过了新的税收。部长们为税收辩护。"
ARABIC = "غادرت السفينة الميناء عند الفجر. رفع القبطان الأشرعة؟ أقر البرلمان ضريبة جديدة."


@pytest.fixture(scope="module")
def boundary() -> Boundary:
    found = SEGMENTERS.get("boundary")(Boundary.Config(checkpoint="boundary-light"))
    assert isinstance(found, Boundary)
    return found


@pytest.fixture(scope="module")
def eager() -> Boundary:
    """Cuts at nearly every unit, so that tiling is put to the test."""
    return Boundary(Boundary.Config(decoder="threshold", threshold=1e-6))


def test_no_text_has_no_piece(boundary: Boundary) -> None:
    assert boundary.segment([]) == []
    assert boundary.segment(["", "", ""]) == [[], [], []]
    units, logits = boundary.logits("")
    assert units == [] and logits.shape == (0,)


@pytest.mark.parametrize("text", ["a", "Word", ".", " ", "\n\n", "中", "ا", "😀", "&amp;"])
def test_one_token_is_one_piece(boundary: Boundary, text: str) -> None:
    assert boundary.segment([text]) == [[(0, len(text))]]


@pytest.mark.parametrize(
    "text", [CHINESE, ARABIC, html.escape("A & B <i>ran</i>. 'So', she said.")]
)
def test_scripts_and_entities_tile(boundary: Boundary, eager: Boundary, text: str) -> None:
    for segmenter in (boundary, eager):
        (pieces,) = segmenter.segment([text])
        check_tiling(text, pieces)
        assert "".join(text[a:b] for a, b in pieces) == text
    units, logits = boundary.logits(text)
    assert len(units) > 1 and len(logits) == len(units) - 1 and bool((abs(logits) < 1e3).all())


def test_chinese_and_arabic_are_cut_at_their_own_stops(eager: Boundary) -> None:
    for text, stops in ((CHINESE, "。"), (ARABIC, ".؟")):
        (pieces,) = eager.segment([text])
        assert len(pieces) > 1
        assert all(text[:end].rstrip()[-1] in stops for _, end in pieces)


def test_an_entity_is_never_cut(eager: Boundary) -> None:
    text = "Tom &amp; Ann left. Then &lt;b&gt;they&lt;/b&gt; came. &quot;Home&quot; they said. "
    entities = [(at, text.index(";", at) + 1) for at, sign in enumerate(text) if sign == "&"]
    edges = {start for start, _ in eager.segment([text])[0]}
    assert all(not edges & set(range(start + 1, end)) for start, end in entities)


@settings(max_examples=25, deadline=None)
@given(texts=st.lists(TEXTS, max_size=3))
def test_any_text_is_tiled(eager: Boundary, texts: list[str]) -> None:
    sources = [Source(str(i), "", text, {}) for i, text in enumerate(texts)]
    for text, spans in zip(texts, map_spans(sources, eager), strict=True):
        assert "".join(span.text for span in spans) == text
        assert all(span.text for span in spans)


def test_a_long_document(eager: Boundary) -> None:
    text = ((SEA * 3 + TAX * 3) * 300)[:200_000]
    assert len(text) == 200_000
    (pieces,) = eager.segment([text])
    check_tiling(text, pieces)
    assert len(pieces) > 1000


def test_lengths_bound_the_spans_of_a_long_document() -> None:
    limits = Boundary(Boundary.Config(decoder="viterbi", min_words=30, max_words=90))
    text = (SEA + TAX) * 60
    (pieces,) = limits.segment([text])
    check_tiling(text, pieces)
    words = [len(text[a:b].split()) for a, b in pieces]
    assert max(words) <= 92 and min(words) >= 28  # `==` is a word here, none there


def test_documents_do_not_touch_each_other(boundary: Boundary) -> None:
    texts = [SEA + TAX, "", CHINESE, TAX + SEA + TAX, "One."]
    together = boundary.segment(texts)
    assert together == [boundary.segment([text])[0] for text in texts]
    assert together == boundary.segment(texts)


def test_the_threshold_governs_the_number_of_cuts() -> None:
    text = (SEA + TAX) * 5
    counts = []
    for threshold in (0.05, 0.5, 0.95):
        config = Boundary.Config(decoder="threshold", threshold=threshold)
        counts.append(len(Boundary(config).segment([text])[0]))
    assert counts[0] >= counts[1] >= counts[2] >= 1 and counts[0] > counts[2]


def test_released_networks_are_found_by_name_and_by_path() -> None:
    path = find_checkpoint("boundary-light", "boundary")
    assert path.name == "boundary-light.safetensors" and path.with_suffix(".json").is_file()
    assert find_checkpoint(str(path), "boundary") == path
    with pytest.raises(ModelNotFoundError, match="boundary-light"):
        find_checkpoint("boundary-ligth", "boundary")


def test_the_contextual_network_wants_its_own_encoder(tmp_path: Path) -> None:
    """Its pieces tile, follow the encoder's states, and other weights are refused."""
    try:
        resolve_model("all-minilm-l6-v2")
    except ModelNotFoundError:
        pytest.skip("all-minilm-l6-v2 is not fetched")
    found = Boundary(Boundary.Config(checkpoint="boundary-minilm", device="cpu"))
    for text in ("", "Word", SEA * 2 + TAX * 2, CHINESE):
        (pieces,) = found.segment([text])
        check_tiling(text, pieces)
    units, logits = found.logits(SEA * 2 + TAX * 2)
    assert len(logits) == len(units) - 1
    light = Boundary(Boundary.Config(checkpoint="boundary-light-wiki"))
    assert not (abs(logits - light.logits(SEA * 2 + TAX * 2)[1]) < 1e-3).all()
    path = tmp_path / "other.safetensors"
    shutil.copy(find_checkpoint("boundary-minilm", "boundary"), path)
    card = json.loads(
        find_checkpoint("boundary-minilm", "boundary").with_suffix(".json").read_text("utf-8")
    )
    card["encoder"]["sha256"] = "0" * 64
    path.with_suffix(".json").write_text(json.dumps(card), encoding="utf-8")
    with pytest.raises(ArtifactError, match="was trained on states of"):
        Boundary(Boundary.Config(checkpoint=str(path), device="cpu")).segment([SEA])
