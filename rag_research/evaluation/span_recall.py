"""Does a way of cutting text keep evidence whole and findable? The extrinsic table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rag_research.corpus.records import Row, existing, json_rows
from rag_research.embed.base import Encoder
from rag_research.errors import DataError
from rag_research.evaluation.equal_lengths import mean_words
from rag_research.extract.spans import Interval, check_tiling
from rag_research.runtime.weights import resolve_model


@dataclass(frozen=True, slots=True)
class EvidenceQuestion:
    """A question and the sentences that answer it.

    Args:
        text: of the question.
        gold: number of a document, and the character range of a supporting sentence in it.
    """

    text: str
    gold: tuple[tuple[int, Interval], ...]


@dataclass(frozen=True, slots=True)
class SpanRecall:
    """One way of cutting.

    Args:
        spans: in all documents.
        words: mean of a span.
        whole: share of gold sentences inside one span, percent.
        recall: at each budget of tokens, the share of gold sentences that lie inside the
            retrieved spans, percent.
    """

    spans: int
    words: float
    whole: float
    recall: Mapping[int, float]


def read_evidence(
    path: Path, dataset: str, questions: int
) -> tuple[list[str], list[EvidenceQuestion]]:
    """Documents (distinct passages) and questions over them.

    Sentences are joined as published, with a space where two would run into each other.

    Args:
        path: rows with ``passages`` (title and sentences), or with ``context`` as HotpotQA and
            2WikiMultihopQA publish it.
        dataset: rows with another ``dataset`` are left out; rows without one are kept.
        questions: the first ones.

    Raises:
        DataError: there is none.
    """
    documents: dict[str, int] = {}
    found: list[EvidenceQuestion] = []
    for row in json_rows(existing(path, "file of passages")):
        if len(found) >= questions:
            break
        if row.text("dataset", dataset) != dataset:
            continue
        # Published as [title, 3], or as [title, [0, 3]] in some copies.
        facts = {
            (title, int(number))
            for title, numbers in row.require("supporting_facts")
            for number in (numbers if isinstance(numbers, list) else [numbers])
        }
        gold = set()
        for title, sentences in _passages(row):
            text, places = _joined(sentences)
            number = documents.setdefault(text, len(documents))
            for index, (start, end) in enumerate(places):
                if (title, index) in facts and start < end:
                    gold.add((number, (start, end)))
        found.append(EvidenceQuestion(row.text("question"), tuple(sorted(gold))))
    if not found:
        raise DataError(f"{path}: no question of the data set {dataset!r}; asked for {questions}.")
    return list(documents), found


def _passages(row: Row) -> list[tuple[str, list[str]]]:
    if "passages" in row.values:
        return [(passage["title"], passage["sentences"]) for passage in row.items("passages")]
    return [(title, sentences) for title, sentences in row.items("context")]


def _joined(sentences: Sequence[str]) -> tuple[str, list[Interval]]:
    """One text, and where each sentence without the white space around it lies in it."""
    text, places = "", []
    for sentence in sentences:
        if text and sentence and not (text[-1].isspace() or sentence[0].isspace()):
            text += " "
        start = len(text) + len(sentence) - len(sentence.lstrip())
        text += sentence
        places.append((start, start + len(sentence.strip())))
    return text, places


def span_recall(
    documents: Sequence[str],
    pieces: Sequence[Sequence[Interval]],
    questions: Sequence[EvidenceQuestion],
    encoder: Encoder,
    token_counts: Mapping[str, int] | TokenCounter,
    budgets: Sequence[int],
) -> SpanRecall:
    """Embed and rank the spans of all documents for each question, fill the budgets.

    Spans are taken from the best on; one that no longer fits ends the evidence.

    Args:
        documents: the pool.
        pieces: spans that tile each document; the one thing that differs between rows of the
            table.
        questions: with gold sentences in it.
        encoder: ranks spans by cosine.
        token_counts: tokens of a span.
        budgets: in tokens.
    """
    spans: list[tuple[int, Interval]] = []
    for number, (text, own) in enumerate(zip(documents, pieces, strict=True)):
        check_tiling(text, own)
        spans += [(number, interval) for interval in own]
    texts = [documents[number][start:end] for number, (start, end) in spans]
    tokens = np.array([token_counts[text] for text in texts])
    vectors = encoder.encode(texts, "passage")
    asked = encoder.encode([question.text for question in questions], "query")
    whole = total = 0
    kept = dict.fromkeys(budgets, 0)
    for question, vector in zip(questions, asked, strict=True):
        order = np.argsort(-(vectors @ vector), kind="stable")
        spent = np.cumsum(tokens[order])
        total += len(question.gold)
        whole += sum(_inside(sentence, pieces) for sentence in question.gold)
        for budget in kept:
            taken = {spans[i] for i in order[: int(np.searchsorted(spent, budget, "right"))]}
            kept[budget] += sum(_covered(sentence, taken, pieces) for sentence in question.gold)
    share = 100 / max(total, 1)
    return SpanRecall(
        len(spans),
        mean_words(documents, pieces),
        whole * share,
        {budget: count * share for budget, count in kept.items()},
    )


class TokenCounter:
    """Tokens of texts under a model's tokenizer, without special ones."""

    def __init__(self, model: str) -> None:
        from transformers import AutoTokenizer

        self._tokenizer = AutoTokenizer.from_pretrained(resolve_model(model).path)

    def __getitem__(self, text: str) -> int:
        return len(self._tokenizer.tokenize(text))


def recall_table(rows: Mapping[str, SpanRecall]) -> str:
    """Markdown: one line for each way of cutting."""
    budgets = list(next(iter(rows.values())).recall)
    head = ["split", "spans", "words a span", "gold sentences inside one span"]
    head += [f"recall at {budget}" for budget in budgets]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for name, row in rows.items():
        cells = [name, str(row.spans), f"{row.words:.1f}", f"{row.whole:.1f}"]
        cells += [f"{row.recall[budget]:.1f}" for budget in budgets]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _inside(sentence: tuple[int, Interval], pieces: Sequence[Sequence[Interval]]) -> bool:
    number, (start, end) = sentence
    return any(a <= start and end <= b for a, b in pieces[number])


def _covered(
    sentence: tuple[int, Interval],
    taken: set[tuple[int, Interval]],
    pieces: Sequence[Sequence[Interval]],
) -> bool:
    """Whether every span that holds a part of the sentence was taken."""
    number, (start, end) = sentence
    touched = [(a, b) for a, b in pieces[number] if a < end and start < b]
    return all((number, interval) in taken for interval in touched)
