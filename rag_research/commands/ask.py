"""``rag-research ask``: one question to an index, with evidence and cost."""

from __future__ import annotations

import argparse
import json
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rag_research.commands import Subparsers, add_settings
from rag_research.corpus.corpus import Corpus
from rag_research.errors import ConfigError
from rag_research.trace import Trace
from rag_research.types import Answer

_WIDTH = 96
_EXCERPT = 400


def add_to(commands: Subparsers) -> None:
    """Add this command to the parser."""
    parser = commands.add_parser(
        "ask",
        help="ask an index a question",
        description="Ask an index a question. The settings it was built with are used; those "
        "that need no other index can be changed, for example llm=openai_compatible.",
    )
    parser.add_argument("index", type=Path, help="folder that `rag-research index` wrote")
    parser.add_argument("question")
    parser.add_argument(
        "--trace", action="store_true", help="show every step, prompt and reply as well"
    )
    add_settings(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Open, solve, show."""
    from rag_research.systems.saved import open_index

    if not arguments.question.strip():
        raise ConfigError("The question is empty. Put it in quotes after the folder.")
    saved = open_index(arguments.index, arguments.settings)
    answer, trace = saved.ask(arguments.question)
    if arguments.trace:
        print("\n".join(shown_trace(trace)), end="\n\n")
    print("\n".join(shown_answer(answer, saved.corpus, trace)))
    return 0


def shown_answer(answer: Answer, corpus: Corpus, trace: Trace) -> Iterator[str]:
    """Answer, evidence with its passages, facts, rounds and cost, line by line."""
    yield f"Answer: {answer.text or '(none found)'}"
    if answer.evidence:
        yield "\nEvidence"
    for rank, hit in enumerate(answer.evidence, start=1):
        passage = corpus[hit.id]
        source = f", {passage.source}" if passage.source else ""
        yield f"  {rank}. {passage.title or hit.id}  [{hit.id}{source}, score {hit.score:.3f}]"
        text = textwrap.shorten(passage.text, _EXCERPT, placeholder=" ...")
        yield textwrap.fill(text, _WIDTH, initial_indent="     ", subsequent_indent="     ")
    if answer.spans:
        yield "\nSpans read"
    for span in answer.spans:
        yield f"  [{span.document_id}, characters {span.start}-{span.end}]"
        yield f"     {span.text.strip()}"
    if answer.facts:
        yield "\nFacts"
        yield from (f"  {' | '.join(fact)}" for fact in answer.facts)
    yield f"\n{shown_cost(answer, trace)}"


def shown_cost(answer: Answer, trace: Trace) -> str:
    """Rounds, calls, tokens and seconds, in all and by purpose."""
    total = trace.total_usage()
    seconds = sum(step.seconds for step in trace.steps)
    lines = [
        f"Cost: {answer.rounds} retrieval rounds, {total.calls} LLM calls "
        f"({total.cached_calls} from the cache), {total.input_tokens:,} tokens in, "
        f"{total.output_tokens:,} out, {seconds:.1f} s"
    ]
    lines += [
        f"  {purpose}: {u.calls} calls, {u.input_tokens:,} in, {u.output_tokens:,} out"
        for purpose, u in trace.usage.items()
    ]
    return "\n".join(lines)


def shown_trace(trace: Trace) -> Iterator[str]:
    """Every step with what it recorded, and every prompt and reply in it."""
    depth: dict[int | None, int] = {None: 0}
    for line in trace.lines():
        depth[line["seq"]] = depth[line["parent"]] + 1
        indent = "  " * depth[line["parent"]]
        yield f"{indent}[{line['step']}] {line['seconds']:.2f} s"
        for name, value in line.items():
            if name not in ("question", "seq", "parent", "step", "calls", "seconds"):
                yield f"{indent}  {name}: {json.dumps(value, ensure_ascii=False)}"
        for call in line["calls"]:
            yield from (f"{indent}  {row}" for row in _shown_call(call))


def _shown_call(call: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f"call {call.get('prompt') or call['purpose']}: {call['input_tokens']} tokens in, "
        f"{call['output_tokens']} out, {call['seconds']:.2f} s"
        f"{', from the cache' if call['cached'] else ''}"
    )
    for message in call.get("messages", ()):
        yield f"  <{message['role']}>"
        yield from (f"    {row}" for row in message["content"].splitlines())
    yield "  <reply>"
    yield from (f"    {row}" for row in str(call.get("reply", "")).splitlines())
