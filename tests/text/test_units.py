"""Units: sentences and speakers' turns."""

from hypothesis import given
from hypothesis import strategies as st

from rag_research.text.units import turn_starts, unit_offsets


def test_turns_start_units() -> None:
    text = "Ann: yes , but Bob Lee: no . Ann: well Bob Lee: so Ann: ok Bob Lee: bye ."
    units = [text[a:b] for a, b in unit_offsets(text)]
    assert units == [
        "Ann: yes , but ", "Bob Lee: no . ", "Ann: well ", "Bob Lee: so ", "Ann: ok ",
        "Bob Lee: bye .",
    ]  # fmt: skip


def test_a_label_has_to_come_back() -> None:
    assert turn_starts("Note: one. Note: two. Other: three.") == []
    assert unit_offsets("Note: this. And that.") == [(0, 12), (12, 21)]


@given(st.text(alphabet="Ab: .\n。", max_size=80))
def test_units_tile(text: str) -> None:
    units = unit_offsets(text)
    assert "".join(text[a:b] for a, b in units) == text
    assert all(a < b for a, b in units)
