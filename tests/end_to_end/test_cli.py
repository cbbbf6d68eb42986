"""The command line as a user meets it, with real indexes and a scripted reader."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rag_research.cli import main
from rag_research.commands import doctor

pytest.importorskip("faiss")

ROWS = [
    {"id": "a", "title": "Marie Curie", "text": "Marie Curie was born in Warsaw in 1867."},
    {"id": "b", "title": "Warsaw", "text": "Warsaw is the capital of Poland."},
    {"id": "c", "title": "Otters", "text": "Otters eat fish and live by rivers."},
]
SETTINGS = ["system=dense_rag", "encoder=hashing", "llm=scripted", "llm.replies=[Warsaw]"]
QUESTION = "Where was Marie Curie born?"
Run = Callable[..., tuple[int, str, str]]


def write_corpus(path: Path, rows: list[dict[str, str]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_corpus(tmp_path / "corpus.jsonl", ROWS)


@pytest.fixture
def index(run: Run, corpus: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "index"
    code, out, err = run("index", corpus, "--out", folder, *SETTINGS)
    assert (code, err) == (0, "")
    assert "3 passages" in out
    return folder


def test_ask_shows_answer_evidence_and_cost(run: Run, index: Path, corpus: Path) -> None:
    corpus.unlink()  # an index needs its documents no more
    code, out, err = run("ask", index, QUESTION)
    lines = out.splitlines()
    assert (code, err) == (0, "")
    assert lines[0] == "Answer: Warsaw"
    assert lines[3].startswith("  1. Marie Curie  [a, corpus.jsonl, score ")
    assert lines[4] == "     Marie Curie was born in Warsaw in 1867."
    assert "Cost: 1 retrieval rounds, 1 LLM calls (0 from the cache)" in out
    assert "  answer: 1 calls" in out


def test_ask_works_in_another_process(index: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "rag_research.cli", "ask", str(index), QUESTION],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
    )
    assert done.stdout.startswith("Answer: Warsaw")


def test_the_trace_shows_steps_prompts_and_replies(run: Run, index: Path) -> None:
    code, out, _ = run("ask", index, QUESTION, "--trace")
    assert code == 0
    assert out.index("[retrieve]") < out.index("[answer]") < out.index("Answer: Warsaw")
    assert "<user>" in out
    assert f"Question: {QUESTION}" in out
    assert "<reply>\n      Warsaw" in out


def test_settings_may_stand_before_and_behind_options(run: Run, index: Path) -> None:
    code, out, _ = run("ask", index, QUESTION, "system.k=1", "--trace", "llm.replies=[Paris]")
    assert code == 0
    assert "Answer: Paris" in out
    assert "  2. " not in out


def test_a_repeated_question_costs_no_call(run: Run, index: Path) -> None:
    run("ask", index, QUESTION)
    _, out, _ = run("ask", index, QUESTION)
    assert "1 LLM calls (1 from the cache)" in out


def test_a_changed_encoder_is_refused_and_nothing_is_lost(run: Run, index: Path) -> None:
    code, out, err = run("ask", index, QUESTION, "encoder.dimension=64")
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert "dimension" in err
    assert "256" in err
    assert "64" in err
    assert "rag-research index" in err
    code, out, _ = run("ask", index, QUESTION)
    assert (code, out.splitlines()[0]) == (0, "Answer: Warsaw")


def test_another_system_needs_its_own_index(run: Run, index: Path) -> None:
    code, _, err = run("ask", index, QUESTION, "system=t2rag_rules")
    assert code == 2
    assert "settings" in err
    assert "rag-research index" in err


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("system.kk=3", "system.kk: DenseRAGConfig has no field 'kk'. Did you mean 'k'?"),
        ("encoder.dimention=3", "Did you mean 'dimension'?"),
        ("encodr=hashing", "encodr: there is no such setting. Did you mean 'encoder'?"),
        ("llm=scrpted", "llm: there is no option 'scrpted'. Did you mean 'scripted'?"),
        ("system.k=0", "needs 1 <= k <= depth"),
        ("device=gpu", "expected auto, cpu, cuda or cuda:INDEX"),
    ],
)
def test_a_wrong_setting_is_explained(
    run: Run, corpus: Path, tmp_path: Path, setting: str, expected: str
) -> None:
    code, out, err = run("index", corpus, "--out", tmp_path / "x", *SETTINGS, setting)
    assert (code, out) == (2, "")
    assert expected in err
    assert "Traceback" not in err


def test_a_missing_model_names_the_ways_to_provide_it(run: Run, index: Path) -> None:
    pytest.importorskip("transformers")
    code, _, err = run("ask", index, QUESTION, "llm=transformers_local", "llm.model=absent-model")
    assert code == 2
    assert "'absent-model'" in err
    assert "rag-research models fetch" in err
    assert "hub id" in err
    assert "local path" in err


def test_a_corrupt_line_is_named(run: Run, corpus: Path, tmp_path: Path) -> None:
    corpus.write_text(corpus.read_text() + '{"id": "d", "text": \n', encoding="utf-8")
    code, _, err = run("index", corpus, "--out", tmp_path / "x", *SETTINGS)
    assert code == 2
    assert str(corpus) in err
    assert "line 4" in err


def test_duplicate_ids_are_named(run: Run, corpus: Path, tmp_path: Path) -> None:
    write_corpus(corpus, [*ROWS, ROWS[1]])
    code, _, err = run("index", corpus, "--out", tmp_path / "x", *SETTINGS)
    assert code == 2
    assert "'b'" in err
    assert "line 4" in err
    assert "line 2" in err


def test_an_error_leaves_the_old_index_usable(run: Run, index: Path, corpus: Path) -> None:
    write_corpus(corpus, [*ROWS, ROWS[1]])
    assert run("index", corpus, "--out", index, *SETTINGS)[0] == 2
    assert run("ask", index, QUESTION)[1].startswith("Answer: Warsaw")


def test_an_empty_document_is_kept_and_reported(
    run: Run, corpus: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_corpus(corpus, [*ROWS, {"id": "d", "title": "Empty", "text": ""}])
    code, out, _ = run("index", corpus, "--out", tmp_path / "x", *SETTINGS)
    assert code == 0
    assert "4 passages" in out
    assert "1 of 4 passages have no text (the first: 'd')" in caplog.text


def stored_vectors(index: Path) -> int:
    (keys,) = index.glob("embeddings/*/keys.bin")
    return keys.stat().st_size // 16


def test_a_grown_corpus_encodes_only_what_is_new(run: Run, corpus: Path, tmp_path: Path) -> None:
    grown, fresh = tmp_path / "grown", tmp_path / "fresh"
    write_corpus(corpus, ROWS[:2])
    run("index", corpus, "--out", grown, *SETTINGS)
    before = next(grown.glob("embeddings/*/vectors.f32")).read_bytes()
    write_corpus(corpus, ROWS)
    run("index", corpus, "--out", grown, *SETTINGS)
    run("index", corpus, "--out", fresh, *SETTINGS)
    assert stored_vectors(grown) == 3
    assert next(grown.glob("embeddings/*/vectors.f32")).read_bytes().startswith(before)
    question = "What do otters eat?"
    evidence = [run("ask", i, question)[1].partition("Cost")[0] for i in (grown, fresh)]
    assert evidence[0] == evidence[1]
    assert "  1. Otters" in evidence[0]


def test_adding_keeps_passages_and_settings(run: Run, index: Path, tmp_path: Path) -> None:
    more = write_corpus(tmp_path / "more.jsonl", [ROWS[0], {"id": "d", "text": "Owls hunt mice."}])
    # The file name is the source of a passage, so `a` differs: say it is the same one.
    write_corpus(more, [{**ROWS[0], "source": "corpus.jsonl"}, {"id": "d", "text": "Owls hunt."}])
    code, out, _ = run("index", more, "--out", index, "--add")
    assert code == 0
    assert "4 passages" in out
    assert "  1. d" in run("ask", index, "What do owls hunt?")[1]


def test_adding_another_passage_under_a_known_id_is_refused(
    run: Run, index: Path, tmp_path: Path
) -> None:
    more = write_corpus(tmp_path / "more.jsonl", [{"id": "a", "text": "Something else."}])
    code, _, err = run("index", more, "--out", index, "--add")
    assert code == 2
    assert "another passage with the id 'a'" in err
    assert run("ask", index, QUESTION)[0] == 0


def test_no_index_and_no_source_say_what_to_do(run: Run, tmp_path: Path) -> None:
    code, _, err = run("ask", tmp_path, QUESTION)
    assert code == 2
    assert "rag-research index DOCUMENTS --out" in err
    code, _, err = run("index", tmp_path / "absent", "--out", tmp_path / "x")
    assert code == 2
    assert "absent" in err
    assert "folder of documents" in err
    assert not (tmp_path / "x").exists()


def test_an_empty_question_is_refused(run: Run, index: Path) -> None:
    code, _, err = run("ask", index, "  ")
    assert code == 2
    assert "question is empty" in err


def test_a_folder_of_documents_can_be_asked_and_may_grow(run: Run, tmp_path: Path) -> None:
    documents = tmp_path / "documents"
    (documents / "people").mkdir(parents=True)
    (documents / "animals.txt").write_text("Otters eat fish and live by rivers.")
    (documents / "people" / "curie.md").write_text("# Marie Curie\n\nBorn in Warsaw in 1867.\n")
    code, out, _ = run("index", documents, "--out", tmp_path / "x", *SETTINGS)
    assert code == 0
    assert "2 passages" in out
    (documents / "owls.txt").write_text("Owls hunt mice at night.")
    assert "3 passages" in run("index", documents, "--out", tmp_path / "x", *SETTINGS)[1]
    out = run("ask", tmp_path / "x", "Marie Curie was born where?", "system.k=1")[1]
    assert "  1. Marie Curie  [people/curie.md#1" in out


def test_a_single_document_can_be_asked(run: Run, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("Otters eat fish.")
    (tmp_path / "other.csv").write_text("a,b")
    assert run("index", tmp_path / "note.txt", "--out", tmp_path / "x", *SETTINGS)[0] == 0
    assert "[note.txt#1" in run("ask", tmp_path / "x", "What do otters eat?", "system.k=1")[1]
    code, _, err = run("index", tmp_path / "other.csv", "--out", tmp_path / "y", *SETTINGS)
    assert code == 2
    assert "other.csv is a file" in err


def test_a_configured_data_set_can_be_indexed(run: Run, tmp_path: Path) -> None:
    code, out, _ = run("index", "sample_world", "--out", tmp_path / "x", *SETTINGS)
    assert code == 0
    assert "200 passages" in out


def test_unknown_words_are_refused(run: Run, tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["ask", str(tmp_path), QUESTION, "--tracee"])
    assert caught.value.code == 2


def test_evaluate_prints_a_table(run: Run, tmp_path: Path) -> None:
    code, out, _ = run(
        "evaluate", "system=closed_book", "dataset=sample_world", "limit=2", "llm=scripted",
        "llm.replies=[yes,no]", f"run.out={tmp_path / 'out'}", f"run.store={tmp_path / 'store'}",
    )  # fmt: skip
    assert code == 0
    assert "closed_book" in out
    assert "2/2/0" in out
    assert (tmp_path / "out" / "results.json").is_file()


def test_models_lists_the_catalogue(run: Run) -> None:
    code, out, _ = run("models", "list")
    assert code == 0
    assert "all-minilm-l6-v2" in out
    assert "Apache-2.0" in out


def test_fetching_an_unknown_model_suggests_one(run: Run) -> None:
    code, _, err = run("models", "fetch", "all-minilm-l6")
    assert code == 2
    assert "Did you mean 'all-minilm-l6-v2'?" in err


def test_doctor_reports_what_is_there_and_what_is_missing(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setitem(doctor.EXTRAS, "spacy", ("no_such_module",))  # type: ignore[index]
    code, out, _ = run("doctor", "device=cpu", "encoder=hashing", "llm=scripted")
    assert code == 0
    assert "device=cpu means cpu" in out
    assert "faiss 1." in out
    assert "WANDB_MODE=offline" in out
    systems = out.partition("Systems, with the settings given\n")[2]
    rows = dict(row.strip().split(maxsplit=1) for row in systems.splitlines())
    assert rows["dense_rag"] == "ready"
    assert "pip install 'rag-research[spacy]'" in rows["t2rag_rules"]


def test_doctor_names_a_model_to_fetch(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("RAG_RESEARCH_CACHE", str(tmp_path))
    _, out, _ = run("doctor")
    assert "needs rag-research models fetch qwen2.5-coder-0.5b-instruct" in out
    assert "needs rag-research models fetch all-minilm-l6-v2" in out
