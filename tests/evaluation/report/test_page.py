"""The file as a file: well formed, alone, and deaf to what the data say."""

import re
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path

import pytest

from rag_research.cli import main
from rag_research.errors import DataError
from rag_research.evaluation.report.command import write_report
from rag_research.evaluation.report.page import page
from rag_research.evaluation.report.passages import Passages, passages_of
from rag_research.evaluation.results import Results

NASTY = (
    """</script><script>alert("1")</script> <!--DATA--> '"&amp; \u2028 <img src="http://x.y/z">"""
)
VOID = {"meta", "link", "br", "img", "input"}


class Nesting(HTMLParser):
    """Follows tags; every one that opens must close in its place."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag, attrs) -> None:
        given = dict(attrs)
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given[name] for name in ("src", "href", "srcset", "data") if name in given]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag) -> None:
        assert self.open.pop() == tag


def parsed(html: str) -> Nesting:
    parser = Nesting()
    parser.feed(html)
    parser.close()
    assert parser.open == []
    assert len(parser.ids) == len(set(parser.ids))
    return parser


def report(folders, **more) -> str:
    folders.write("t2rag", lambda n: n % 2 == 0, **more)
    folders.write("threadrag", lambda n: n % 3 == 0, **more)
    out = write_report([folders.root], folders.root / "report.html")
    return out.read_text(encoding="utf-8")


def test_the_page_is_well_formed_and_holds_its_data(folders, embedded) -> None:
    html = report(folders)
    found = parsed(html)
    assert {"data", "texts", "block-0", "overview", "questions"} <= set(found.ids)
    data = embedded(html, "data")
    assert data["title"] == "t2rag, threadrag on rivers"
    assert [run["name"] for run in data["runs"]] == ["t2rag", "threadrag"]
    assert [row["id"] for row in data["questions"]] == [f"q{n}" for n in range(6)]
    assert data["runs"][0]["metrics"]["exact_match"]["mean"] == 0.5
    gap = next(gap for gap in data["gaps"] if gap["metric"] == "exact_match")
    assert gap["name"] == "threadrag"
    assert gap["difference"] == pytest.approx(2 / 6 - 3 / 6)
    traces = embedded(html, "block-0")["traces"]
    assert [len(lines) for lines in traces["q0"]] == [4, 5]


def test_nothing_is_loaded_from_elsewhere(folders) -> None:
    html = report(folders)
    assert all(link.startswith(("#", "data:")) for link in parsed(html).links)
    code = re.sub(r'<script type="(application/json|text/plain)".*?</script>', "", html, flags=re.S)
    # The name of the SVG namespace is an address that nothing asks for.
    addresses = set(re.findall(r"https?://[^\s\"']+", code))
    assert addresses == {"http://www.w3.org/2000/svg"}
    assert "@import" not in code and "url(" not in code
    assert "default-src 'none'" in code


def test_data_cannot_become_markup(folders, embedded) -> None:
    html = report(folders, texts={0: NASTY})
    parsed(html)
    assert "alert" not in re.sub(r"<script type=.*?</script>", "", html, flags=re.S)
    assert embedded(html, "data")["questions"][0]["text"] == NASTY
    titled = page({"title": NASTY}, [NASTY], [{"traces": NASTY}])
    parsed(titled)
    assert embedded(titled, "texts") == [NASTY]
    assert embedded(titled, "block-0") == {"traces": NASTY}


def test_large_data_are_compressed(embedded) -> None:
    value = {"title": "t", "long": "x" * 60_000}
    html = page(value, [], [])
    assert '<script type="text/plain" id="data">' in html
    assert len(html) < 150_000
    assert embedded(html, "data") == value


def test_the_same_runs_give_the_same_bytes(folders) -> None:
    first = report(folders)
    again = write_report([folders.root], folders.root / "again.html").read_text(encoding="utf-8")
    assert again == first


def test_runs_on_other_data_are_refused(folders, tmp_path, capsys) -> None:
    one = folders.write("t2rag", lambda n: True)
    other = folders.write("tog3", lambda n: True, dataset="lakes")
    with pytest.raises(DataError, match=r"different data sets \(rivers against lakes\)"):
        write_report([one, other], tmp_path / "report.html")
    assert main(["report", str(one), str(other), "--out", str(tmp_path / "x.html")]) == 2
    assert "different data sets" in capsys.readouterr().err
    assert not (tmp_path / "report.html").exists() and not (tmp_path / "x.html").exists()


def test_the_command_writes_the_file(folders, tmp_path, capsys) -> None:
    folders.write("tog3", lambda n: True)
    out = tmp_path / "new" / "page.html"
    assert main(["report", str(folders.root), "--out", str(out), "--title", "Rivers"]) == 0
    assert "page.html" in capsys.readouterr().out
    assert "<title>Rivers</title>" in out.read_text(encoding="utf-8")


def test_a_folder_is_no_page(folders, tmp_path, capsys) -> None:
    folders.write("tog3", lambda n: True)
    assert main(["report", str(folders.root), "--out", str(tmp_path)]) == 2
    assert "is a folder. Name a file in it" in capsys.readouterr().err


def test_runs_of_one_system_go_by_their_folders(folders, embedded) -> None:
    folders.write("t2rag", lambda n: True, name="one")
    folders.write("t2rag", lambda n: False, name="two")
    out = write_report([folders.root], folders.root / "report.html")
    data = embedded(out.read_text(encoding="utf-8"), "data")
    assert [run["name"] for run in data["runs"]] == ["one", "two"]


def test_passages_come_from_the_data_set_if_it_is_still_the_same(lab, caplog) -> None:
    from rag_research.evaluation.runner import evaluate

    config = lab.config()
    models, _ = lab.models(config)
    run = evaluate(config, models)
    known = passages_of([run])(["p1", "missing"])
    assert known == {"p1": {"title": "Country 1", "text": "The capital of Country 1 is Lima."}}
    run.provenance["dataset"]["corpus_fingerprint"] = "another"
    assert passages_of([run])(["p1"]) == {}
    assert "has changed since" in caplog.text


def test_without_the_data_set_passages_go_by_their_ids(folders, caplog) -> None:
    run = Results.load(folders.write("t2rag", lambda n: True))
    assert passages_of([run])(["p1"]) == {}
    assert "shown by id alone" in caplog.text
    assert Passages(None)(["p1"]) == {}


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """As WCAG 2.2 defines it."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_colours_are_told_apart_in_light_and_dark() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    package = "rag_research.evaluation.report"
    style = resources.files(package).joinpath("style.css").read_text(encoding="utf-8")
    themes = [
        dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block))
        for block in re.findall(r":root[^{]*\{([^}]*--ground[^}]*)\}", style)
    ]
    themes = [theme for theme in themes if "ink" in theme]
    assert len(themes) == 3  # light, dark by the system, dark by choice
    assert themes[1] == themes[2]
    for theme in themes:
        grounds = [theme[name] for name in ("ground", "sheet", "sunken", "tint")]
        for name in ("ink", "quiet", "accent", "good", "bad", "warm"):
            assert min(contrast(theme[name], ground) for ground in grounds) >= 4.5, name
        for name in ("kept", "bound"):
            assert contrast(theme[f"{name}-ink"], theme[name]) >= 4.5, name
        for name in ("kept-dot", *(f"c{n}" for n in range(8))):
            assert min(contrast(theme[name], ground) for ground in grounds[:2]) >= 3, name


def test_every_asset_is_used() -> None:
    from rag_research.evaluation.report.page import SCRIPTS

    folder = Path(str(resources.files("rag_research.evaluation.report")))
    assert sorted(SCRIPTS) == sorted(path.name for path in folder.glob("*.js"))
