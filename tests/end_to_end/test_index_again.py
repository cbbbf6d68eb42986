"""A folder that is indexed again or added to: its settings, its documents, two at a time."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rag_research.systems.saved import index_lock

SETTINGS = ["system=bm25_rag", "encoder=hashing", "llm=scripted", "llm.replies=[x,x]"]
CUT = ["dataset.chunk_size=5", "dataset.chunk_overlap=0"]
Run = Callable[..., tuple[int, str, str]]


def write(path: Path, words: int, first: int = 0) -> Path:
    """A document of so many different words."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = " ".join(f"{path.stem}{n}" for n in range(first, first + words))
    path.write_text(text, encoding="utf-8")
    return path.parent


def described(folder: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    return found


def test_settings_of_before_are_kept(run: Run, tmp_path: Path) -> None:
    documents, index = write(tmp_path / "documents" / "a.txt", 10), tmp_path / "index"
    assert run("index", documents, "--out", index, *SETTINGS, *CUT)[0] == 0
    write(documents / "a.txt", 20)
    code, out, _ = run("index", documents, "--out", index)
    assert code == 0
    assert "Settings of before: system=bm25_rag encoder=hashing" in out
    assert "4 passages" in out  # chunks of five words, as before
    code, out, _ = run("index", documents, "--out", index, "system=hybrid_rag")
    assert code == 0
    assert "system=bm25_rag" not in out
    overrides = described(index)["overrides"]
    assert isinstance(overrides, list) and "system=hybrid_rag" in overrides


def test_what_is_added_is_cut_alike(run: Run, tmp_path: Path) -> None:
    first, second = write(tmp_path / "1" / "a.txt", 10), write(tmp_path / "2" / "b.txt", 10)
    index = tmp_path / "index"
    assert run("index", first, "--out", index, *SETTINGS, *CUT)[0] == 0
    assert "4 passages" in run("index", second, "--out", index, "--add")[1]
    assert "4 passages" in run("index", first, "--out", index, "--add")[1]  # nothing new
    corpus = tmp_path / "more.jsonl"
    corpus.write_text(json.dumps({"id": "c", "text": "Otters eat fish."}), encoding="utf-8")
    assert "5 passages" in run("index", corpus, "--out", index, "--add")[1]  # another loader


def test_each_source_is_read_as_before(run: Run, tmp_path: Path) -> None:
    documents, index = write(tmp_path / "both" / "a.txt", 10), tmp_path / "index"
    corpus = documents / "corpus.jsonl"
    corpus.write_text(json.dumps({"id": "c", "text": "Otters eat fish."}), encoding="utf-8")
    first = run("index", documents, "--out", index, *SETTINGS, *CUT, "dataset=folder")
    assert "2 passages" in first[1]
    assert "3 passages" in run("index", corpus, "--out", index, "--add")[1]
    code, out, _ = run("index", documents, "--out", index, "--add")
    assert code == 0
    assert "3 passages" in out and "dataset.chunk_size=5" in out
    assert "2 passages" in run("index", documents, "--out", index)[1]


def test_settings_outlive_an_interruption(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    documents, index = write(tmp_path / "documents" / "a.txt", 10), tmp_path / "index"
    with monkeypatch.context() as patched:
        patched.setattr("rag_research.systems.saved._open", stopped)
        assert run("index", documents, "--out", index, *SETTINGS, *CUT)[0] == 130
    code, out, _ = run("index", documents, "--out", index)
    assert code == 0
    assert "system=bm25_rag" in out and "2 passages" in out


def test_an_experiment_begins_anew(run: Run, tmp_path: Path) -> None:
    documents, index = write(tmp_path / "documents" / "a.txt", 10), tmp_path / "index"
    assert run("index", documents, "--out", index, *SETTINGS, *CUT)[0] == 0
    code, out, _ = run("index", documents, "--out", index, "experiment=debug", "system=hybrid_rag")
    assert code == 0
    assert "llm.replies" not in out


def test_who_waits_says_so(run: Run, tmp_path: Path) -> None:
    documents, index = write(tmp_path / "documents" / "a.txt", 10), tmp_path / "index"
    words = [sys.executable, "-m", "rag_research.cli", "index", str(documents), "--out", str(index)]
    with index_lock(index):
        waiting = subprocess.Popen([*words, *SETTINGS], stderr=subprocess.PIPE, text=True)
        assert waiting.stderr is not None
        assert "waiting for its end" in waiting.stderr.readline()
        (index / "taken").touch()  # so that the folder is not removed
    assert waiting.communicate(timeout=120) == (None, "")
    assert waiting.returncode == 0


def test_an_index_whose_settings_are_refused_now_can_be_mended(run: Run, tmp_path: Path) -> None:
    documents, index = write(tmp_path / "documents" / "a.txt", 10), tmp_path / "index"
    assert run("index", documents, "--out", index, *SETTINGS)[0] == 0
    known = described(index)
    overrides = known["overrides"]
    assert isinstance(overrides, list)
    text = json.dumps({**known, "overrides": [*overrides, "budget.money=1"]})
    (index / "index.json").write_text(text, encoding="utf-8")
    assert run("ask", index, "Where is a3?")[0] == 2
    assert run("ask", index, "Where is a3?", "budget.money=null")[0] == 0


def test_a_folder_named_like_a_network_is_none(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch_geometric")
    documents, index = write(tmp_path / "documents" / "a.txt", 10), tmp_path / "index"
    (tmp_path / "selector-minilm").mkdir()
    monkeypatch.chdir(tmp_path)
    settings = [*SETTINGS[1:], "system=path_rag", "system.path_selector=selector-minilm"]
    assert run("index", documents, "--out", index, *settings)[0] == 0


def test_a_document_that_became_shorter_is_not_added(run: Run, tmp_path: Path) -> None:
    documents, index = write(tmp_path / "documents" / "a.txt", 15), tmp_path / "index"
    assert run("index", documents, "--out", index, *SETTINGS, *CUT)[0] == 0
    write(documents / "a.txt", 10)
    code, _, err = run("index", documents, "--out", index, "--add")
    assert code == 2
    assert "another 'a.txt'" in err and "dataset.chunk_size" in err
    assert "2 passages" in run("index", documents, "--out", index)[1]


def test_two_that_add_at_once_both_count(run: Run, tmp_path: Path) -> None:
    index = tmp_path / "index"
    base = write(tmp_path / "base" / "base.txt", 10)
    assert run("index", base, "--out", index, *SETTINGS)[0] == 0
    folders = [write(tmp_path / name / f"{name}.txt", 10) for name in ("one", "two", "three")]
    words = [sys.executable, "-m", "rag_research.cli", "index"]
    adding = [
        subprocess.Popen([*words, str(folder), "--out", str(index), "--add"]) for folder in folders
    ]
    assert [process.wait(timeout=120) for process in adding] == [0, 0, 0]
    assert described(index)["passages"] == 4


def test_another_reader_reads_what_the_first_extracted(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("faiss")
    corpus, index = tmp_path / "corpus.jsonl", tmp_path / "index"
    row = {"id": "a", "title": "Salt Road", "text": "Mia Orr directed Salt Road."}
    corpus.write_text(json.dumps(row), encoding="utf-8")
    named = json.dumps({"named_entities": ["Mia Orr", "Salt Road"]})
    triples = json.dumps({"triples": [["Mia Orr", "directed", "Salt Road"]]})
    settings = ["system=t2rag", "encoder=hashing", "llm=scripted"]
    settings.append(f"llm.replies={json.dumps([named, triples])}")
    assert run("index", corpus, "--out", index, *settings)[0] == 0
    code, _, err = run("ask", index, "Who directed Salt Road?", "llm.replies=[a,b,c,d,e,f,Mia]")
    assert (code, err) == (0, "")


@pytest.mark.parametrize(
    "settings",
    [
        ["system=t2rag", "system.extractor.name=imported", "system.extractor.path=triplets.jsonl"],
        [
            "system=tog3",
            "system.graph.extractor.name=imported",
            "system.graph.extractor.path=triplets.jsonl",
            "system.graph.communities=none",
        ],
    ],
)
def test_imported_triplets_are_found_from_any_folder(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: list[str]
) -> None:
    pytest.importorskip("faiss")
    row = {"id": "a", "title": "Salt Road", "text": "Mia Orr directed Salt Road."}
    triplets = {"id": "a", "triplets": [["Mia Orr", "directed", "Salt Road"]]}
    monkeypatch.chdir(tmp_path)
    Path("corpus.jsonl").write_text(json.dumps(row), encoding="utf-8")
    Path("triplets.jsonl").write_text(json.dumps(triplets), encoding="utf-8")
    models = ["encoder=hashing", "llm=scripted_unknown"]
    assert run("index", "corpus.jsonl", "--out", "index", *settings, *models)[0] == 0
    Path("elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    code, _, err = run("ask", tmp_path / "index", "Who directed Salt Road?")
    assert (code, err) == (0, "")


def test_an_index_that_nobody_may_write_can_be_asked(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    documents, index = write(tmp_path / "documents" / "a.txt", 10), tmp_path / "index"
    assert run("index", documents, "--out", index, *SETTINGS)[0] == 0
    before = {path.name for path in index.iterdir()}
    monkeypatch.setattr("rag_research.systems.assemble.os.access", lambda *_: False)
    code, out, _ = run("ask", index, "Where is a3?")
    assert code == 0
    assert out.startswith("Answer: x")
    assert "no reply is kept" in caplog.text
    assert {path.name for path in index.iterdir()} <= before
