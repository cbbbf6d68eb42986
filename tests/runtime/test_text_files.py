"""Whole files, whole characters."""

from pathlib import Path

import pytest

from rag_research.runtime.text_files import whole_characters, write_text


def test_a_file_is_replaced_and_no_draft_stays(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    for text in ("one\n", "zwölf 盐\n"):
        write_text(file, text)
        assert file.read_text(encoding="utf-8") == text
    assert list(tmp_path.iterdir()) == [file]


def test_what_cannot_be_written_leaves_the_old_file(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    write_text(file, "old")
    with pytest.raises(UnicodeEncodeError):
        write_text(file, "\ud83d")
    assert file.read_text(encoding="utf-8") == "old"


def test_halves_of_characters_are_replaced() -> None:
    assert whole_characters("x \ud83d y\udfff") == "x \ufffd y\ufffd"
    assert whole_characters("😀 ok") == "😀 ok"
