"""Indexes in trouble, as a user meets them: other settings, damage, full disks, odd texts."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("faiss")
pytest.importorskip("torch_geometric")

ROWS = [
    {"id": "road#1", "title": "Salt Road", "text": "Salt Road is a film. Mia Orr directed it."},
    {"id": "road#2", "title": "Mia Orr", "text": "Mia Orr was born in Keld."},
    {"id": "road#3", "title": "Keld", "text": "Keld is a town on the Esk."},
]
SETTINGS = ["encoder=hashing", "llm=scripted", "llm.replies=[x,x,x,x]"]
FAST = ["system.segmenter=sentences", "system.entities=capitalised"]
QUESTION = "Where was Mia Orr born?"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def indexed(run: Run, tmp_path: Path) -> Callable[..., Path]:
    """Index rows with a system; the folder."""

    def make(system: str, rows: list[dict[str, str]] = ROWS, *more: str) -> Path:
        corpus = tmp_path / "corpus.jsonl"
        corpus.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        fast = FAST if system.startswith("threadrag") else []
        words = [f"system={system}", *SETTINGS, *fast, *more]
        code, _, err = run("index", corpus, "--out", tmp_path / system, *words)
        assert (code, err) == (0, "")
        return tmp_path / system

    return make


def contents(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


@pytest.mark.parametrize("system", ["path_rag", "threadrag", "dense_rag"])
def test_asking_with_another_encoder_is_refused_before_anything_is_encoded(
    run: Run, indexed: Callable[..., Path], system: str
) -> None:
    folder = indexed(system)
    before = contents(folder)
    code, _, err = run("ask", folder, QUESTION, "encoder.dimension=64")
    assert code == 2
    assert "encoder.dimension was " in err and "is 64" in err
    assert contents(folder) == before


def test_a_changed_setting_is_named_in_few_words(run: Run, indexed: Callable[..., Path]) -> None:
    rows = [
        {"id": f"d{n}", "title": f"Title {n}", "text": "Some words of it. " * 30} for n in range(60)
    ]
    folder = indexed("threadrag", rows)
    before = contents(folder)
    code, _, err = run("ask", folder, QUESTION, "system.chunk_size=200")
    assert code == 2
    assert "system.chunk_size was 1200, is 200" in err
    assert len(err) < 2000
    assert contents(folder) == before


def test_numbered_ids_of_different_titles_are_different_documents(
    run: Run, indexed: Callable[..., Path]
) -> None:
    code, out, _ = run("ask", indexed("threadrag"), QUESTION)
    assert code == 0
    assert out.index("Mia Orr  [road#2") > 0


@pytest.mark.parametrize(
    ("system", "pattern", "text"),
    [
        ("dense_rag", "corpus/*/passages.jsonl", '{"id": "road#1"'),
        ("dense_rag", "corpus/*/passages.jsonl", None),
        ("dense_rag", "dense-index/*/ids.json", None),
        ("path_rag", "corpus-graph/*/mention_entity.npy", None),
        ("path_rag", "corpus-graph/*/mention_entity.npy", "broken"),
        ("dense_rag", "index.json", "[]"),
    ],
)
def test_damage_is_named(
    run: Run, indexed: Callable[..., Path], system: str, pattern: str, text: str | None
) -> None:
    folder = indexed(system)
    (path,) = folder.glob(pattern)
    path.unlink() if text is None else path.write_text(text, encoding="utf-8")
    code, _, err = run("ask", folder, QUESTION)
    assert code == 2
    assert err.startswith("error: ") and str(path.parent) in err


def test_half_a_character_is_replaced(run: Run, indexed: Callable[..., Path]) -> None:
    rows = [{**ROWS[1], "title": "Mia \ud83d Orr"}]
    code, out, _ = run("ask", indexed("dense_rag", rows), QUESTION)
    assert code == 0
    assert "Mia \ufffd Orr" in out


def test_a_changed_source_is_taken_over(
    run: Run, indexed: Callable[..., Path], tmp_path: Path
) -> None:
    folder = indexed("bm25_rag", [{**row, "source": "old.pdf"} for row in ROWS])
    more = tmp_path / "more.jsonl"
    row = {**ROWS[1], "source": "new.pdf"}
    more.write_text(json.dumps(row) + "\n", encoding="utf-8")
    assert run("index", more, "--out", folder, "--add")[0] == 0
    _, out, _ = run("ask", folder, QUESTION)
    assert "new.pdf" in out and "3 passages" not in out
    folder = indexed("bm25_rag", [{**row, "source": "newer.pdf"} for row in ROWS])
    assert "newer.pdf" in run("ask", folder, QUESTION)[1]


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("mine", "prompts=mine"),
        ("mine", "++prompts=mine"),
        ("my own, it's", "prompts='my own, it\\'s'"),
    ],
)
def test_prompts_are_found_from_another_folder(
    run: Run,
    indexed: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    setting: str,
) -> None:
    mine = tmp_path / "here" / name / "answer"
    mine.mkdir(parents=True)
    text = "version: 7\n\n# user\nMine: {{passages}} {{question}}\n"
    (mine / "passages.md").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path / "here")
    folder = indexed("bm25_rag", ROWS, setting)
    monkeypatch.chdir(tmp_path)
    code, out, _ = run("ask", folder, QUESTION, "--trace")
    assert code == 0 and "Mine: " in out
    assert run("index", tmp_path / "corpus.jsonl", "--out", folder, "--add")[0] == 0
    code, out, _ = run("ask", folder, QUESTION, "--trace", "prompts=null")
    assert code == 0 and "Mine: " not in out


def test_a_file_in_place_of_the_folder_is_named(run: Run, tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("", encoding="utf-8")
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text(json.dumps(ROWS[0]) + "\n", encoding="utf-8")
    code, _, err = run("index", corpus, "--out", taken, "system=bm25_rag", *SETTINGS)
    assert code == 2
    assert err.startswith("error: ") and str(taken) in err


def test_a_reader_that_has_seen_enough_is_no_error(indexed: Callable[..., Path]) -> None:
    folder = indexed("bm25_rag")
    words = [sys.executable, "-m", "rag_research.cli", "ask", str(folder), QUESTION, "--trace"]
    receiver, sender = os.pipe()
    os.close(receiver)  # nobody reads
    done = subprocess.run(words, stdout=sender, stderr=subprocess.PIPE, text=True, check=False)
    os.close(sender)
    assert "Traceback" not in done.stderr and "BrokenPipe" not in done.stderr


def test_paths_need_an_encoder_that_shows_its_tokens(run: Run, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text(json.dumps(ROWS[0]) + "\n", encoding="utf-8")
    # Nothing listens there: whatever was sent would be another error.
    words = ["encoder=openai_embeddings", "encoder.model=m", "encoder.base_url=http://127.0.0.1:9"]
    for system in ("path_rag", "threadrag"):
        code, _, err = run(
            "index", corpus, "--out", tmp_path / system, f"system={system}", *words, *SETTINGS[1:]
        )
        assert code == 2
        assert "OpenAIEmbeddings" in err and "encoder=minilm" in err
    _, out, _ = run("doctor", *words)
    shown = {line.split()[0]: line for line in out.splitlines() if line.startswith("  ")}
    assert "shows its tokens" in shown["path_rag"] and "shows its tokens" in shown["threadrag"]
    assert "shows its tokens" not in shown["threadrag_edp"] + shown["dense_rag"]
