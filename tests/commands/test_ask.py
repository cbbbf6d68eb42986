"""What `rag-research ask` prints of an answer."""

from rag_research.commands.ask import shown_answer
from rag_research.corpus.corpus import Corpus
from rag_research.trace import Trace
from rag_research.types import Answer, Hit, Passage, Span

CORPUS = Corpus([Passage("p", "Keld", "Keld is a town. Sheep graze there.")])


def test_spans_are_shown_verbatim_with_their_offsets() -> None:
    spans = (Span("p", 16, 34, "Sheep graze there."),)
    answer = Answer("sheep", (Hit("p", 0.5),), rounds=1, spans=spans)
    text = "\n".join(shown_answer(answer, CORPUS, Trace("q")))
    assert "Spans read\n  [p, characters 16-34]\n     Sheep graze there.\n" in text


def test_systems_without_spans_show_none() -> None:
    text = "\n".join(shown_answer(Answer("sheep", (Hit("p", 0.5),)), CORPUS, Trace("q")))
    assert "Spans read" not in text
