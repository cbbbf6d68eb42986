"""Does a way of cutting text keep evidence whole and findable? The extrinsic table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rag_research.config.build import build
from rag_research.corpus.records import existing, json_rows
from rag_research.embed.base import Encoder
from rag_research.evaluation.segmentation import SegmentationConfig
from rag_research.extract.boundary import Boundary
from rag_research.extract.fixed import Fixed
from rag_research.extract.recursive import Recursive
from rag_research.extract.sentences import Sentences
from rag_research.extract.spans import Segmenter, check_tiling
from rag_research.runtime.weights import resolve_model

Interval = tuple[int, int]
_CHARACTERS_A_WORD = 6.2


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
    """Documents (distinct passages, sentences joined as published) and questions over them."""
    documents: dict[str, int] = {}
    found: list[EvidenceQuestion] = []
    for row in json_rows(existing(path, "file of passages")):
        if row.text("dataset", "") != dataset or len(found) >= questions:
            continue
        # Published as [title, 3], or as [title, [0, 3]] in some copies.
        facts = {
            (title, int(number))
            for title, numbers in row.require("supporting_facts")
            for number in (numbers if isinstance(numbers, list) else [numbers])
        }
        gold = []
        for passage in row.require("passages"):
            sentences = passage["sentences"]
            text = "".join(sentences)
            number = documents.setdefault(text, len(documents))
            position = 0
            for index, sentence in enumerate(sentences):
                end = position + len(sentence)
                if (passage["title"], index) in facts and sentence.strip():
                    blank = len(sentence) - len(sentence.lstrip())
                    gold.append((number, (position + blank, end - _trailing(sentence))))
                position = end
        found.append(EvidenceQuestion(row.text("question"), tuple(gold)))
    return list(documents), found


def equal_length_splits(config: SegmentationConfig) -> dict[str, Segmenter]:
    """Ways of cutting whose spans aim at the same length; sentences are as long as they are."""
    size = config.span_words
    found: dict[str, Segmenter] = {}
    for name in config.checkpoints:
        settings = {
            "checkpoint": name,
            "decoder": "viterbi",
            "max_words": size + size // 2,
            "min_words": size // 3,
            "device": config.device,
        }
        found[Path(name).stem] = Boundary(build(Boundary.Config, settings))
    found["sentences"] = Sentences(Sentences.Config())
    found["fixed"] = Fixed(Fixed.Config(size=size))
    characters = round(size * _CHARACTERS_A_WORD)
    found["recursive"] = Recursive(Recursive.Config(size=characters))
    return found


def span_recall(
    segmenter: Segmenter,
    documents: Sequence[str],
    questions: Sequence[EvidenceQuestion],
    encoder: Encoder,
    token_counts: Mapping[str, int] | TokenCounter,
    budgets: Sequence[int],
) -> SpanRecall:
    """Cut, embed and rank the spans of all documents for each question, fill the budgets.

    Spans are taken from the best on; one that no longer fits ends the evidence.

    Args:
        segmenter: the one thing that differs between rows of the table.
        documents: the pool.
        questions: with gold sentences in it.
        encoder: ranks spans by cosine.
        token_counts: tokens of a span.
        budgets: in tokens.
    """
    pieces = segmenter.segment(documents)
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
        for budget in budgets:
            taken = {spans[i] for i in order[: int(np.searchsorted(spent, budget, "right"))]}
            kept[budget] += sum(_covered(sentence, taken, pieces) for sentence in question.gold)
    share = 100 / max(total, 1)
    return SpanRecall(
        len(spans),
        float(np.mean([len(text.split()) for text in texts])),
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


def _trailing(sentence: str) -> int:
    return len(sentence) - len(sentence.rstrip())


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
