"""The inputs of the boundary network, column by column."""

import numpy as np
import pytest

from rag_research.extract.boundary_features import (
    around,
    contextual_features,
    light_features,
    shifted,
)
from rag_research.extract.lexical_links import lexical_links
from rag_research.extract.subject_flags import NAMES as SUBJECT
from rag_research.extract.subject_flags import subject_flags
from rag_research.extract.surface_flags import NAMES as SURFACE
from rag_research.extract.surface_flags import surface_flags
from rag_research.extract.unit_states import UnitStates
from rag_research.extract.window_features import COLUMNS, depth, window_features
from rag_research.extract.word_table import WordTable
from rag_research.text.units import unit_offsets


@pytest.fixture(scope="module")
def table() -> WordTable:
    generator = np.random.default_rng(0)
    words = ["ship", "sea", "king", "crown"]
    vectors = generator.integers(-127, 127, (4, 8)).astype(np.int8)
    return WordTable(words, vectors, np.array([1.0, 0.5, 1.0, 0.0], dtype=np.float32))


def _surface(text: str, column: str) -> list[float]:
    rows = surface_flags(text, unit_offsets(text))
    return [round(float(v), 3) for v in rows[:, SURFACE.index(column)]]


def test_openers_and_endings() -> None:
    text = "Ann came in 1900. She left in 1890! However, it rained. In 1950 (a dry year) Bob came."
    assert _surface(text, "pronoun") == [1, 0, 0]
    assert _surface(text, "connective") == [0, 1, 0]
    assert _surface(text, "preposition") == [0, 0, 1]
    assert _surface(text, "year_back") == [1, 0, 0]
    assert _surface(text, "year_forward") == [0, 0, 1]
    assert _surface(text, "ends_ask") == [0, 1, 0]
    assert _surface(text, "right_words") == [1.609, 1.386, 2.079]  # log of 1 + 4, 3, 7


def test_line_breaks_and_quotes() -> None:
    text = 'He said "one. Two" here.\n\nThree is next.\nNot a cut. Four.'
    assert _surface(text, "empty_line") == [0, 1, 0, 0]
    assert _surface(text, "line_break") == [0, 1, 1, 0]
    assert _surface(text, "inside_quote")[0] == 1
    assert _surface(text, "inside_quote")[1] == 0


def test_speakers() -> None:
    text = "Ann: a . Ann: b . Bob: c . Bob: d . Ann: e . Bob: f ."
    assert _surface(text, "speaker") == [1, 1, 1, 1, 1]
    assert _surface(text, "new_speaker") == [1, 1, 0, 0, 0]
    assert _surface(text, "speaker_change") == [1, 1, 0, 1, 1]


def test_subject() -> None:
    text = "Marie Curie was born in Warsaw. She studied. Curie moved to Paris. In Paris she worked."
    rows = subject_flags(text, unit_offsets(text))
    assert rows[:, SUBJECT.index("starts_with_title")].tolist() == [0, 1, 0]
    assert rows[:, SUBJECT.index("new_names")].tolist() == [0, 1, 0]
    assert rows[0, SUBJECT.index("right_pronouns")] == pytest.approx(1 / 3)


def test_window_cosines_by_hand() -> None:
    vectors = np.array([[1, 0], [1, 0], [0, 1], [0, 1]], dtype=np.float32)
    rows = window_features(vectors, (1, 2))
    assert rows[:, 0] == pytest.approx([1, 0, 1])
    # Width 2: (1,0)|(1,1), (2,0)|(0,2), (1,1)|(0,1).
    assert rows[:, 4] == pytest.approx([0.7071, 0, 0.7071], abs=1e-4)
    assert rows[:, 1] == pytest.approx([0, 2, 0])
    assert window_features(vectors).shape == (3, COLUMNS)


def test_depth_by_hand() -> None:
    scores = np.array([0.9, 0.4, 0.6, 0.2, 0.8], dtype=np.float32)
    assert depth(scores, 1) == pytest.approx([0.0, 0.7, 0.0, 1.0, 0.0])
    assert depth(scores, 4) == pytest.approx([0.0, 0.9, 0.5, 1.3, 0.1])


def test_links_by_hand() -> None:
    # Units: {1, 2}, {1}, {3}, {2}; word 1 links the first cut, word 2 all three.
    ids = np.array([1, 2, 1, 3, 2])
    starts = np.array([0, 2, 3, 4])
    rows = lexical_links(ids, np.ones(5, dtype=np.float32), starts)
    assert rows[:, 0] == pytest.approx([2 / 6, 1 / 6, 1 / 6])
    # New words ahead (one unit): none of {1}, all of {3}, none of {2}.
    assert rows[:, 3] == pytest.approx([0, 1 / 1.5, 0])


def test_table_reads_and_keeps(table: WordTable) -> None:
    text = "Ship at sea. Nothing known. The king."
    words = table.read(text, unit_offsets(text))
    assert words.starts.tolist() == [0, 3, 5]
    assert words.ids[0] == 0 and words.ids[2] == 1 and words.ids[1] >= 4
    meaning = table.meaning(words)
    assert np.linalg.norm(meaning, axis=1)[1] == 0
    again = WordTable.from_tensors(table.tensors())
    assert again.words == table.words
    assert again.meaning(words) == pytest.approx(meaning, abs=1e-3)


def test_table_counts_positions_of_letters_that_grow(table: WordTable) -> None:
    text = "İİİ ship. Sea."  # lower case of the dotted capital is two code points
    words = table.read(text, unit_offsets(text))
    assert words.ids[-1] == 1 and words.ids[1] == 0


@pytest.mark.parametrize(
    "text", ["", "One.", "One. Two.", "你好。再见。", "مرحبا. كيف حالك؟ بخير."]
)
def test_rows_match_candidates(text: str, table: WordTable) -> None:
    units = unit_offsets(text)
    rows = light_features(text, units, table)
    assert rows.shape == (max(len(units) - 1, 0), 432 + 4 * 8)
    assert np.isfinite(rows).all()


def test_shifted_and_around() -> None:
    rows = np.arange(3, dtype=np.float32)[:, None]
    assert shifted(rows, 1)[:, 0].tolist() == [1, 2, 0]
    assert shifted(rows, -2)[:, 0].tolist() == [0, 0, 0]
    assert shifted(rows[:1], 2)[:, 0].tolist() == [0]
    left, right, _, ahead = around(np.array([[2, 0], [0, 3], [0, 1]], dtype=np.float32))
    assert left.tolist() == [[1, 0], [0, 1]] and right.tolist() == [[0, 1], [0, 1]]
    assert ahead.tolist() == [[0, 1], [0, 1]]


def test_contextual_columns() -> None:
    """Cosines of the encoder's windows come after the light columns; states only if asked for."""
    generator = np.random.default_rng(1)
    mean, first, last = (generator.normal(size=(6, 4)).astype(np.float16) for _ in range(3))
    light = np.arange(10, dtype=np.float32).reshape(5, 2)
    states = UnitStates(mean, first, last)
    short = contextual_features(light, states, "cosines")
    long = contextual_features(light, states, "tokens")
    assert short.shape == (5, 2 + 200) and long.shape == (5, 2 + 200 + 6 * 4)
    np.testing.assert_array_equal(short[:, :2], light)
    np.testing.assert_array_equal(short[:, 2:35], window_features(mean.astype(np.float32)))
    np.testing.assert_array_equal(long[:, : 2 + 200], short)
    before = last[2].astype(np.float32)
    np.testing.assert_allclose(long[2, 202:206], before / np.linalg.norm(before), rtol=1e-5)
