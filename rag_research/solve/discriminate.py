"""Is the evidence enough? If not, what is missing, as triplets with variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rag_research.errors import ParseError
from rag_research.llm.base import LLM, Request
from rag_research.llm.structured import complete_structured, pick, pick_yes_no
from rag_research.prompts.library import PromptLibrary
from rag_research.solve.placeholders import count_variables, known_text
from rag_research.solve.triplet_lines import read_triplets
from rag_research.types import Triplet

MOST_MISSING = 3
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "missing": {
            "type": "array",
            "maxItems": MOST_MISSING,
            "items": {"type": "array", "items": {"type": "string"}, "minItems": 3, "maxItems": 3},
        },
        "sufficient": {"type": "boolean"},
    },
    "required": ["sufficient", "missing"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the discriminator found.

    Args:
        sufficient: the evidence answers the question.
        missing: facts that are still needed, at most three; unknown slots are variables.
    """

    sufficient: bool
    missing: tuple[Triplet, ...] = ()

    @property
    def queries(self) -> list[str]:
        """The known slots of each missing fact; none when the evidence is sufficient."""
        if self.sufficient:
            return []
        return [text for text in dict.fromkeys(map(known_text, self.missing)) if text]


async def discriminate(
    llm: LLM, prompts: PromptLibrary, question: str, evidence: str
) -> Verdict | None:
    """Judge the evidence.

    Returns:
        ``None`` when no reply could be read.
    """
    prompt = prompts["threadrag/discriminate"]
    request = Request(
        prompt.render(evidence=evidence or "nothing was found", question=question),
        max_tokens=160,
        schema=SCHEMA,
        purpose="discriminate",
        prompt=prompt.label,
    )
    return (await complete_structured(llm, request, read_verdict, prompts)).value


def read_verdict(value: Any) -> Verdict:
    """The verdict in a decoded reply; missing facts beyond the third are dropped.

    A reply that says the evidence is sufficient, and then names facts with an unknown, is read
    as insufficient.

    Raises:
        ParseError: it does not say whether the evidence is sufficient.
    """
    sufficient = pick_yes_no(value, "sufficient", "enough", "answerable")
    try:
        rows = pick(value, "missing", "triplets", "triples")
        missing = read_triplets(rows) if rows else ()
    except ParseError:
        missing = ()
    if sufficient:  # a small model says so and names an open fact all the same: that counts
        missing = tuple(t for t in missing if count_variables(t))
    return Verdict(sufficient and not missing, missing[:MOST_MISSING])
