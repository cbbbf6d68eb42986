import gzip
import json
from pathlib import Path

import pytest

from rag_research.config import build
from rag_research.corpus.jsonl import JsonLines, JsonLinesConfig
from rag_research.errors import ConfigError, DataError
from rag_research.types import Passage, Question, Triplet

DATA = Path(__file__).resolve().parents[2] / ".." / "shared" / "data"
GOOD = [{"id": "a", "title": "A", "text": "alpha"}, {"id": "b", "text": "beta"}]


def write(path: Path, rows: list[object]) -> Path:
    text = "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)
    path.write_text(text, encoding="utf-8")
    return path


def load(folder: Path, **settings: object):
    return JsonLines(build(JsonLinesConfig, {"path": str(folder), **settings})).load()


def test_reads_passages_and_questions(tmp_path: Path) -> None:
    write(tmp_path / "corpus.jsonl", GOOD)
    question = {"id": 7, "question": "Which?", "answer": "alpha", "gold_passages": ["a"]}
    more = {"id": "q2", "question": "And?", "answers": ["x", "y"], "type": "bridge"}
    more["evidence"] = [["s", "r", "o"]]
    write(tmp_path / "questions.jsonl", [question, more])
    dataset = load(tmp_path)
    assert dataset.name == tmp_path.name
    assert dataset.corpus.passages == (
        Passage("a", "A", "alpha", "corpus.jsonl"),
        Passage("b", "", "beta", "corpus.jsonl"),
    )
    assert list(dataset.questions) == [
        Question("7", "Which?", ("alpha",), gold_passages=("a",)),
        Question("q2", "And?", ("x", "y"), "bridge", (), (Triplet("s", "r", "o"),)),
    ]


def test_gzip_byte_order_mark_and_crlf_read_like_plain_files(tmp_path: Path) -> None:
    plain, other = tmp_path / "plain", tmp_path / "other"
    plain.mkdir()
    other.mkdir()
    write(plain / "corpus.jsonl", GOOD)
    raw = "\ufeff" + "\r\n".join(json.dumps(row) for row in GOOD) + "\r\n\r\n"
    (other / "corpus.jsonl.gz").write_bytes(gzip.compress(raw.encode()))
    assert load(plain).corpus.fingerprint == load(other).corpus.fingerprint
    assert load(other / "corpus.jsonl.gz").name == "corpus"


@pytest.mark.parametrize(
    "text", ["北京是中国的首都。", "القاهرة عاصمة مصر", "🚢👩‍👩‍👧 sails", "a\u2028b"]
)
def test_other_scripts_come_back_as_written(tmp_path: Path, text: str) -> None:
    row = json.dumps({"id": text, "title": text, "text": text}, ensure_ascii=False)
    write(tmp_path / "corpus.jsonl", [row])
    assert load(tmp_path).corpus[text].text == text


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"id": "c", "text": ', ["line 3", "not JSON", "column", "Correct or remove"]),
        ('{"id": ' + "7" * 5000 + "}", ["line 3", "4300 digits", "Correct or remove"]),
        ('["c"]', ["line 3", "expected a JSON object"]),
        ('{"id": "c", "txet": "x"}', ["line 3", "'text' is missing", "Did you mean"]),
        ('{"text": "x"}', ["line 3", "'id' is missing"]),
        ('{"id": "c", "text": ["x"]}', ["line 3", "expected text in 'text'"]),
        ('{"id": "a", "text": "x"}', ["line 3", "'a'", "line 1", "unique"]),
    ],
)
def test_a_bad_corpus_line_is_named(tmp_path: Path, line: str, words: list[str]) -> None:
    write(tmp_path / "corpus.jsonl", [*GOOD, line])
    with pytest.raises(DataError) as error:
        load(tmp_path)
    for word in [str(tmp_path / "corpus.jsonl"), *words]:
        assert word in str(error.value)


def test_bytes_that_are_not_utf8_are_named_with_their_line(tmp_path: Path) -> None:
    lines = [json.dumps(GOOD[0]).encode(), '{"id": "c", "text": "é"}'.encode("latin-1")]
    (tmp_path / "corpus.jsonl").write_bytes(b"\n".join(lines))
    with pytest.raises(DataError, match=r"corpus\.jsonl, line 2: byte 22 is not UTF-8"):
        load(tmp_path)


def test_a_truncated_gzip_file_is_named(tmp_path: Path) -> None:
    rows = [{"id": str(i), "text": "x"} for i in range(1000)]
    packed = gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode())
    (tmp_path / "corpus.jsonl.gz").write_bytes(packed[: len(packed) - 20])
    with pytest.raises(DataError, match="damaged or cut off"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ({"id": "q", "question": "?", "gold_passages": ["z"]}, "'z', which the corpus does not"),
        ({"id": "q", "questoin": "?"}, "line 1.*Did you mean 'questoin'"),
        ({"id": "q", "question": "?", "evidence": [["s", "r"]]}, "line 1.*subject, predicate"),
        ({"id": "q", "question": "?", "evidence": [["s", "", "o"]]}, "line 1.*none of them empty"),
        ({"id": "q", "question": "?", "answers": [1.5]}, "line 1.*expected text in 'answers'"),
    ],
)
def test_a_bad_question_is_named(tmp_path: Path, question: dict[str, object], words: str) -> None:
    write(tmp_path / "corpus.jsonl", GOOD)
    write(tmp_path / "questions.jsonl", [question])
    with pytest.raises(DataError, match=words):
        load(tmp_path)


def test_questions_that_share_an_id_are_an_error(tmp_path: Path) -> None:
    write(tmp_path / "corpus.jsonl", GOOD)
    write(tmp_path / "questions.jsonl", 2 * [{"id": "q", "question": "?"}])
    with pytest.raises(DataError, match="two questions share the id 'q'"):
        load(tmp_path)


def test_wrong_paths_say_what_is_there(tmp_path: Path) -> None:
    write(tmp_path / "corpsu.jsonl", GOOD)
    with pytest.raises(DataError, match=r"no file corpus\.jsonl.*Did you mean 'corpsu\.jsonl'"):
        load(tmp_path)
    with pytest.raises(DataError, match=r"no corpus folder or file.*corpsu\.jsonl"):
        load(tmp_path / "corpus")


def test_questions_file_is_chosen_by_name(tmp_path: Path) -> None:
    write(tmp_path / "corpus.jsonl", GOOD)
    for part in ("dev", "test"):
        write(tmp_path / f"questions_{part}.jsonl", [{"id": part, "question": "?"}])
    with pytest.raises(DataError, match=r"several questions files.*questions_dev\.jsonl"):
        load(tmp_path)
    assert [q.id for q in load(tmp_path, questions="questions_test").questions] == ["test"]
    assert load(tmp_path, questions=None).questions == ()


def test_empty_passages_are_kept_and_reported_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path / "corpus.jsonl", [*GOOD, {"id": "c", "text": ""}, {"id": "d", "text": " "}])
    assert len(load(tmp_path).corpus) == 4
    assert [r.getMessage() for r in caplog.records] == [
        f"{tmp_path}: 2 of 4 passages have no text (the first: 'c'). They are kept."
    ]


def test_an_empty_corpus_is_an_error(tmp_path: Path) -> None:
    write(tmp_path / "corpus.jsonl", [])
    with pytest.raises(DataError, match="no passage in it"):
        load(tmp_path)


@pytest.fixture
def pooled(tmp_path: Path) -> Path:
    write(tmp_path / "corpus.jsonl", [{"id": f"p{i}", "text": f"t{i}"} for i in range(100)])
    rows = [{"id": f"q{i}", "question": "?", "gold_passages": [f"p{i}"]} for i in range(20)]
    write(tmp_path / "questions.jsonl", rows)
    return tmp_path


def test_sampling_questions_depends_on_the_seed_alone(pooled: Path) -> None:
    first, again = (load(pooled, sample_questions=5).questions for _ in range(2))
    other = load(pooled, sample_questions=5, seed=1).questions
    assert first == again
    assert {q.id for q in first} != {q.id for q in other}
    assert [q.id for q in first] == sorted((q.id for q in first), key=lambda id: int(id[1:]))
    assert len(load(pooled, sample_questions=50).questions) == 20


def test_gold_and_distractors_keeps_the_gold_passages_and_few_others(pooled: Path) -> None:
    settings = {"passages": "gold_and_distractors", "distractors": 3}
    dataset = load(pooled, sample_questions=4, **settings)
    gold = {id for q in dataset.questions for id in q.gold_passages}
    assert gold <= set(dataset.corpus.ids)
    assert len(gold) == 4
    assert 4 < len(dataset.corpus) <= 4 + 4 * 3
    only_gold = load(pooled, sample_questions=4, passages="gold_and_distractors", distractors=0)
    assert set(only_gold.corpus.ids) == gold


def test_the_corpus_without_questions_has_no_gold_to_keep(tmp_path: Path) -> None:
    write(tmp_path / "corpus.jsonl", GOOD)
    with pytest.raises(DataError, match="needs questions"):
        load(tmp_path, passages="gold_and_distractors")


@pytest.mark.parametrize("setting", [{"sample_questions": 0}, {"distractors": -1}, {"pasages": 1}])
def test_settings_out_of_range_are_refused(setting: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        build(JsonLinesConfig, {"path": "x", **setting})


@pytest.mark.parametrize(
    ("folder", "passages", "questions"),
    [("2wiki", 6119, 500), ("hotpotqa", 9810, 500), ("musique", 6823, 152), ("medical", 268, 564)],
)
def test_real_sets_have_their_published_sizes(folder: str, passages: int, questions: int) -> None:
    if not (DATA / folder).is_dir():
        pytest.skip("the shared data sets are not here")
    dataset = load(DATA / folder)
    assert (len(dataset.corpus), len(dataset.questions)) == (passages, questions)
    assert all(question.answers for question in dataset.questions)


def test_reads_supporting_facts(tmp_path: Path) -> None:
    write(tmp_path / "corpus.jsonl", GOOD)
    facts = [["A", 0], ["B", [1, 2]]]
    rows = [{"id": "1", "question": "?", "supporting_facts": facts}]
    write(tmp_path / "questions.jsonl", rows)
    assert load(tmp_path).questions[0].supporting_facts == (("A", 0), ("B", 1), ("B", 2))
    write(tmp_path / "questions.jsonl", [{**rows[0], "supporting_facts": [["A", "first"]]}])
    with pytest.raises(DataError, match="sentence number"):
        load(tmp_path)


@pytest.mark.parametrize("layout", ["lines", "array"])
def test_half_a_character_is_replaced_in_passages_and_questions(
    tmp_path: Path, layout: str
) -> None:
    """JSON can spell one (``\\ud83d``); whole characters spelt as two halves stay."""

    def put(name: str, row: dict[str, object]) -> None:
        text = json.dumps(row) if layout == "lines" else json.dumps([row])
        (tmp_path / name).write_text(text, encoding="utf-8")

    put("corpus.jsonl", {"id": "a\ud83d", "text": "x \udc00 😀"})
    facts = {"evidence": [["s\ud83d", "r", "o"]], "supporting_facts": [["T\ud83d", 0]]}
    half = {"id": "q", "question": "Who \ud83d 😀?", "answers": ["x\udfff"], "type": "t\ud83d"}
    put("questions.jsonl", {**half, "gold_passages": ["a\ud83d"], **facts})
    dataset = load(tmp_path)
    assert [(p.id, p.text) for p in dataset.corpus] == [("a\ufffd", "x \ufffd 😀")]
    assert list(dataset.questions) == [
        Question(
            "q",
            "Who \ufffd 😀?",
            ("x\ufffd",),
            "t\ufffd",
            ("a\ufffd",),
            (Triplet("s\ufffd", "r", "o"),),
            (("T\ufffd", 0),),
        )
    ]
