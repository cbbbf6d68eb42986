"""HotpotQA, 2Wiki, MuSiQue and HippoRAG files: small ones made here, and published excerpts."""

import gzip
import json
from pathlib import Path

import pytest

from rag_research.corpus.dataset import Dataset
from rag_research.corpus.hipporag import HippoRAG, HippoRAGConfig
from rag_research.corpus.hotpotqa import HotpotQA, HotpotQAConfig
from rag_research.corpus.musique import MuSiQue, MuSiQueConfig
from rag_research.corpus.two_wiki import TwoWiki, TwoWikiConfig
from rag_research.errors import DataError
from rag_research.types import Triplet

OFFICIAL = Path(__file__).resolve().parents[2] / ".." / "shared" / "data" / "official_formats"


def hotpot_row(id: str = "h1", **fields: object) -> dict[str, object]:
    context = [["Rook", ["A rook caws. ", " It flies."]], ["Pike", ["A pike swims."]]]
    row = {"_id": id, "question": "Which caws?", "answer": "Rook", "type": "comparison"}
    return row | {"context": context, "supporting_facts": [["Rook", 0], ["Rook", 1]]} | fields


def musique_row(id: str = "2hop__1_2", **fields: object) -> dict[str, object]:
    paragraphs = [
        {"idx": 0, "title": "Rook", "paragraph_text": "One rook.", "is_supporting": False},
        {"idx": 1, "title": "Rook", "paragraph_text": "Two rooks.", "is_supporting": True},
    ]
    row = {"id": id, "question": "How many?", "answer": "two", "answer_aliases": ["2", "two"]}
    return row | {"paragraphs": paragraphs, "answerable": True} | fields


def texts(dataset: Dataset, question: int = 0) -> set[str]:
    return {dataset.corpus[id].text for id in dataset.questions[question].gold_passages}


def test_hotpotqa_pools_contexts_and_resolves_titles(tmp_path: Path) -> None:
    path = tmp_path / "dev.json"
    path.write_text(json.dumps([hotpot_row("h1"), hotpot_row("h2")]))
    dataset = HotpotQA(HotpotQAConfig(str(path))).load()
    assert len(dataset.corpus) == 2  # both questions bring the same two passages
    assert texts(dataset) == {"A rook caws. It flies."}
    assert dataset.questions[0].answers == ("Rook",)
    assert dataset.questions[0].type == "comparison"


def test_pooled_order_is_that_of_content_not_of_the_file(tmp_path: Path) -> None:
    orders = []
    for rows in ([0, 1, 2], [2, 0, 1]):
        made = [hotpot_row(f"h{i}", context=[["Rook", [f"Rook {i}."]]]) for i in rows]
        for row in made:
            row["supporting_facts"] = [["Rook", 0]]
        path = tmp_path / "dev.json"
        path.write_text(json.dumps(made))
        orders.append(HotpotQA(HotpotQAConfig(str(path))).load().corpus.ids)
    assert orders[0] == orders[1] == sorted(orders[0])


def test_first_limits_questions_and_pool(tmp_path: Path) -> None:
    path = tmp_path / "dev.json"
    other = hotpot_row("h2", context=[["Owl", ["An owl."]]], supporting_facts=[["Owl", 0]])
    path.write_text(json.dumps([hotpot_row("h1"), other]))
    dataset = HotpotQA(HotpotQAConfig(str(path), first=1)).load()
    assert [q.id for q in dataset.questions] == ["h1"]
    assert {p.title for p in dataset.corpus} == {"Rook", "Pike"}


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"context": [["Rook", "not a list"]]}, r"item 2: expected \[title, \[sentence"),
        ({"supporting_facts": [["Rok", 0]]}, "item 2: expected a title of its context"),
        ({"supporting_facts": ["Rook"]}, r"item 2: expected \[title, sentence number\]"),
        ({"question": None}, "item 2: expected text in 'question', got null"),
    ],
)
def test_a_bad_hotpotqa_item_is_named(
    tmp_path: Path, fields: dict[str, object], words: str
) -> None:
    path = tmp_path / "dev.json"
    path.write_text(json.dumps([hotpot_row("h1"), hotpot_row("h2", **fields)]))
    with pytest.raises(DataError, match=words):
        HotpotQA(HotpotQAConfig(str(path))).load()


def test_broken_json_arrays_name_the_line(tmp_path: Path) -> None:
    path = tmp_path / "dev.json"
    rows = ["[", json.dumps(hotpot_row("h1")) + ",", '{"_id": ]', "]"]
    path.write_text("\n".join(rows))
    with pytest.raises(DataError, match=r"dev\.json, line 3: not JSON at column 9"):
        HotpotQA(HotpotQAConfig(str(path))).load()


def test_two_wiki_reads_evidences(tmp_path: Path) -> None:
    path = tmp_path / "dev.json.gz"
    row = hotpot_row(evidences=[["Rook", "sound", "caw"]])
    path.write_bytes(gzip.compress(json.dumps([row]).encode()))
    dataset = TwoWiki(TwoWikiConfig(str(path))).load()
    assert dataset.name == "two_wiki"
    assert dataset.questions[0].evidence == (Triplet("Rook", "sound", "caw"),)


def test_musique_gold_follows_the_marks_not_the_titles(tmp_path: Path) -> None:
    path = tmp_path / "dev.jsonl"
    rows = [musique_row(), musique_row("3hop1__4_5", answerable=False)]
    path.write_text("\n".join(map(json.dumps, rows)))
    dataset = MuSiQue(MuSiQueConfig(str(path))).load()
    assert len(dataset.corpus) == 2
    assert texts(dataset) == {"Two rooks."}
    assert [(q.type, q.answers) for q in dataset.questions] == [("2hop", ("two", "2"))]
    everything = MuSiQue(MuSiQueConfig(str(path), answerable_only=False)).load()
    assert [q.type for q in everything.questions] == ["2hop", "3hop1"]


def test_a_bad_musique_paragraph_is_named(tmp_path: Path) -> None:
    path = tmp_path / "dev.jsonl"
    broken = musique_row("2hop__3", paragraphs=[{"idx": 4, "title": "Rook", "text": "?"}])
    path.write_text("\n".join(map(json.dumps, [musique_row(), broken])))
    with pytest.raises(DataError, match="line 2, paragraph 4: the field 'paragraph_text'"):
        MuSiQue(MuSiQueConfig(str(path))).load()


@pytest.mark.parametrize(
    "question",
    [
        hotpot_row(),
        {"id": "1", "question": "?", "obj": "Rook", "possible_answers": '["Rook", "rook"]'}
        | {"paragraphs": [{"title": "Rook", "text": "A rook caws. It flies."}]},
        {"question": "?", "answer": ["Rook"]}
        | {"paragraphs": [{"title": "Rook", "text": "cut short", "is_supporting": True}]},
    ],
)
def test_hipporag_questions_find_their_passages(
    tmp_path: Path, question: dict[str, object]
) -> None:
    corpus, questions = tmp_path / "birds_corpus.json", tmp_path / "birds.json"
    passages = [("Rook", "A rook caws.  It flies."), ("Pike", "A pike swims.")]
    corpus.write_text(json.dumps([{"title": title, "text": text} for title, text in passages]))
    questions.write_text(json.dumps([question]))
    dataset = HippoRAG(HippoRAGConfig(str(corpus), questions=str(questions))).load()
    assert dataset.name == "birds"
    assert texts(dataset) == {"A rook caws.  It flies."}
    assert dataset.questions[0].answers[0] == "Rook"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"paragraphs": ["Rook"]}, "item 1: expected objects with title and text"),
        ({"paragraphs": [{"title": "Rook"}]}, "item 1: the field 'paragraph_text' is missing"),
        ({"context": [["Rook"]], "supporting_facts": []}, r"item 1: expected \[title, \[sentence"),
    ],
)
def test_a_bad_hipporag_question_is_named(
    tmp_path: Path, fields: dict[str, object], words: str
) -> None:
    corpus, questions = tmp_path / "corpus.json", tmp_path / "questions.json"
    corpus.write_text(json.dumps([{"title": "Rook", "text": "A rook."}]))
    questions.write_text(json.dumps([{"id": "1", "question": "?"} | fields]))
    with pytest.raises(DataError, match=words):
        HippoRAG(HippoRAGConfig(str(corpus), questions=str(questions))).load()


@pytest.mark.skipif(not OFFICIAL.is_dir(), reason="the published excerpts are not here")
class TestPublishedExcerpts:
    def test_hotpotqa(self) -> None:
        path = OFFICIAL / "hotpot_dev_distractor_v1.json"
        dataset = HotpotQA(HotpotQAConfig(str(path))).load()
        rows = json.loads(path.read_text())
        assert len(dataset.questions) == len(rows) == 40
        for row, question in zip(rows, dataset.questions, strict=True):
            titles = {dataset.corpus[id].title for id in question.gold_passages}
            assert titles == {title for title, _ in row["supporting_facts"]}

    def test_two_wiki(self) -> None:
        dataset = TwoWiki(TwoWikiConfig(str(OFFICIAL / "2wiki_train.json"))).load()
        assert len(dataset.questions) == 40
        assert all(question.evidence for question in dataset.questions)
        assert {len(question.gold_passages) for question in dataset.questions} == {2, 4}

    def test_musique(self) -> None:
        dataset = MuSiQue(MuSiQueConfig(str(OFFICIAL / "musique_ans_v1.0_train.jsonl"))).load()
        assert len(dataset.questions) == 30
        for question in dataset.questions:
            assert question.type[0] == str(len(question.gold_passages))

    def test_hipporag_corpus(self) -> None:
        path = OFFICIAL / "hipporag_style_corpus.json"
        dataset = HippoRAG(HippoRAGConfig(str(path))).load()
        assert len(dataset.corpus) == 200
        assert dataset.questions == ()

    @pytest.mark.parametrize("kind", ["hotpotqa", "two_wiki", "musique"])
    def test_hipporag_resolves_what_the_official_loaders_resolve(
        self, tmp_path: Path, kind: str
    ) -> None:
        loaders = {
            "hotpotqa": HotpotQA(HotpotQAConfig(str(OFFICIAL / "hotpot_dev_distractor_v1.json"))),
            "two_wiki": TwoWiki(TwoWikiConfig(str(OFFICIAL / "2wiki_train.json"))),
            "musique": MuSiQue(MuSiQueConfig(str(OFFICIAL / "musique_ans_v1.0_train.jsonl"))),
        }
        official = loaders[kind].load()
        corpus = tmp_path / "x_corpus.json"
        rows = [{"title": p.title, "text": p.text} for p in official.corpus]
        corpus.write_text(json.dumps(rows))
        questions = loaders[kind].config.path
        dataset = HippoRAG(HippoRAGConfig(str(corpus), questions=questions)).load()
        assert dataset.corpus.ids == official.corpus.ids
        for one, other in zip(dataset.questions, official.questions, strict=True):
            assert set(one.gold_passages) == set(other.gold_passages)
            assert one.answers == other.answers
            assert one.evidence == other.evidence
