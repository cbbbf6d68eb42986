"""Fill the variables of query triplets from retrieved text (T2RAG, step 3 of the loop)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from rag_research.llm.base import LLM, Request
from rag_research.llm.structured import complete_structured
from rag_research.prompts.library import PromptLibrary
from rag_research.solve.placeholders import is_variable, substitute
from rag_research.solve.query_triplets import QueryTriplets
from rag_research.solve.triplet_lines import SCHEMA, read_triplets, triplet_lines
from rag_research.text.normalise import matching_form
from rag_research.types import Passage, Triplet

Context = Callable[[Sequence[str], Sequence[Passage]], str]


def propositions_and_chunks(propositions: Sequence[str], chunks: Sequence[Passage]) -> str:
    """Propositions, best first, then the text of their source chunks (the paper's context)."""
    texts = [chunk.contents for chunk in chunks]
    return "\n".join([*propositions, "", "\n\n".join(texts)]).strip()


def propositions_only(propositions: Sequence[str], chunks: Sequence[Passage]) -> str:
    """The ablation without source chunks."""
    return "\n".join(propositions)


CONTEXTS: dict[str, Context] = {
    "chunks": propositions_and_chunks,
    "propositions": propositions_only,
}


async def resolve(
    llm: LLM, prompts: PromptLibrary, question: str, state: QueryTriplets, context: str
) -> tuple[Triplet, ...] | None:
    """Ask for the pending triplets with their variables filled.

    Args:
        llm: the frozen reader.
        prompts: the prompt files.
        question: the question as asked.
        state: its pending triplets are asked for, its resolved ones are shown.
        context: what the answer must rest on.

    Returns:
        Triplets as the model returned them, with fewer variables where it found something;
        ``None`` when no reply could be read.
    """
    prompt = prompts["t2rag/resolve"]
    request = Request(
        prompt.render(
            context="\n".join([*(t.proposition for t in state.resolved), context]),
            question=question,
            pending=triplet_lines(state.pending) or "nothing",
        ),
        max_tokens=200,
        schema=SCHEMA,
        purpose="resolve",
        prompt=prompt.label,
    )
    return (
        await complete_structured(llm, request, partial(read_filled, state.pending), prompts)
    ).value


def read_filled(pending: Sequence[Triplet], value: Any) -> tuple[Triplet, ...]:
    """The filled triplets in a reply: values by variable, or the triplets written out.

    A variable's value goes into the first pending triplet that has it; carrying it over to
    the others is unification's work.

    Raises:
        ParseError: the reply is neither.
    """
    if not isinstance(value, Mapping) or (value and not any(map(is_variable, value))):
        return read_triplets(value)
    filled: dict[Triplet, Triplet] = {}
    for name, found in value.items():
        found = found[0] if isinstance(found, list) and found else found
        told = isinstance(found, (str, int, float)) and not isinstance(found, bool)
        text = str(found).strip() if told else ""
        pattern = next((t for t in pending if name in t), None)
        if pattern is not None and text and not is_variable(text):
            filled[pattern] = substitute(filled.get(pattern, pattern), {name: text})
    return tuple(filled.values())


def trust(filled: Sequence[Triplet], told: str) -> tuple[Triplet, ...]:
    """The paper's way: the prompt asks for what the context says, and the reply is believed."""
    return tuple(filled)


def only_verbatim(filled: Sequence[Triplet], told: str) -> tuple[Triplet, ...]:
    """Keep triplets whose known subject and object both occur in what the model was told.

    Differs from the paper: small models also fill in names from the prompt's own examples.

    Args:
        filled: what the model returned.
        told: context, question and pending triplets.
    """
    text = f" {matching_form(told)} "
    return tuple(
        t
        for t in filled
        if all(
            is_variable(end) or f" {matching_form(end)} " in text for end in (t.subject, t.object)
        )
    )


SUPPORTS: dict[str, Callable[[Sequence[Triplet], str], tuple[Triplet, ...]]] = {
    "trusted": trust,
    "verbatim": only_verbatim,
}
