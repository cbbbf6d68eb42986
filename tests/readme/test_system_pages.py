"""The page of each system names files, functions that exist, and every ablation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rag_research.config.compose import config_folder

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("t2rag", "threadrag", "tog3")


def table(page: str, heading: str) -> list[list[str]]:
    """Cells of the table rows below a heading, head and rule left out."""
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    section = text.partition(f"## {heading}")[2].partition("\n## ")[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in row] for row in rows]
    return [row for row in cells if not set(row[0]) <= {"-"} and row[0] not in ("paper", "name")]


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


@pytest.mark.parametrize("page", PAGES)
def test_files_hold_the_names_that_stand_beside_them(page: str) -> None:
    rows = table(page, "From the paper to the code")
    assert len(rows) > 8
    for step, files, names in rows:
        sources = [(ROOT / "rag_research" / f).read_text(encoding="utf-8") for f in quoted(files)]
        for part in (part for name in quoted(names) for part in name.split(".")):
            defined = rf"^\s*(async )?(def|class) {part}\b|^{part}\b"
            assert re.search(defined, "\n".join(sources), re.MULTILINE), f"{step}: {part}"


@pytest.mark.parametrize(
    ("page", "systems"),
    [("t2rag", ["t2rag"]), ("threadrag", ["threadrag", "threadrag_edp"]), ("tog3", ["tog3"])],
)
def test_every_ablation_is_there_with_its_question(page: str, systems: list[str]) -> None:
    files = [f for s in systems for f in (config_folder() / "ablation" / s).glob("*.yaml")]
    questions = {f.stem: f.read_text("utf-8").splitlines()[0].removeprefix("# ") for f in files}
    shown = {quoted(name)[0]: question for name, question, *_ in table(page, "Ablations")}
    assert shown == questions


@pytest.mark.parametrize("page", PAGES)
def test_every_departure_marked_in_the_code_of_a_system_is_on_its_page(page: str) -> None:
    """The comments start with the same words; the page says in its own what they are about."""
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    departures = text.partition("## Departures from the paper")[2].partition("\n## ")[0]
    marked = {
        "t2rag": {"solve/resolve.py": "`support: verbatim`"},
        "threadrag": {
            "systems/threadrag.py": "segmented when indexed",
            "extract/boundary_features.py": "Only ends of sentences",
            "extract/unit_states.py": "reads each sentence alone",
        },
        "tog3": {
            "graph/communities.py": "by connected component",
            "systems/community_index.py": "`support: named`",
        },
    }
    found = {
        path.relative_to(ROOT / "rag_research").as_posix()
        for path in (ROOT / "rag_research").rglob("*.py")
        if "Differs from the paper:" in path.read_text(encoding="utf-8")
    }
    assert found == {file for files in marked.values() for file in files}
    for words in marked[page].values():
        assert words in departures
