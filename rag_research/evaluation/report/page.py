"""One HTML file from plain values: style, programs and data all inside it."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources
from typing import Any

# In the order in which they are put together; later ones use earlier ones.
SCRIPTS = (
    "elements.js",
    "data.js",
    "charts.js",
    "table.js",
    "sweeps.js",
    "overview.js",
    "passages.js",
    "layout.js",
    "triplets.js",
    "topology.js",
    "subgraph.js",
    "values.js",
    "trace.js",
    "questions.js",
    "main.js",
)
_LARGE = 50_000  # characters of JSON above which it is compressed


def page(data: Mapping[str, Any], texts: Sequence[str], blocks: Sequence[Any]) -> str:
    """The whole page.

    Args:
        data: what the overview and the list of questions show.
        texts: texts that traces refer to by number.
        blocks: traces and passages, see :func:`~rag_research.evaluation.report.traces.blocks`.
    """
    embedded = [_embed("data", data), _embed("texts", texts)]
    embedded += [_embed(f"block-{number}", block) for number, block in enumerate(blocks)]
    program = "\n".join(_asset(name) for name in SCRIPTS)
    parts = {
        "TITLE": escape(str(data["title"])),
        "STYLE": _asset("style.css"),
        "DATA": "\n".join(embedded),
        "PROGRAM": f'(() => {{\n"use strict";\n{program}\n}})();',
    }
    html = _asset("page.html")
    # One pass, so that nothing in the data is taken for a place of the page.
    return re.sub(r"<!--([A-Z]+)-->", lambda match: parts[match[1]], html)


def _embed(id: str, value: Any) -> str:
    """A script element that holds a value and does nothing; compressed when that pays."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if len(text) <= _LARGE:
        # Inside a script element nothing but "</" and "<!--" could end or change it.
        plain = text.replace("<", "\\u003c")
        return f'<script type="application/json" id="{id}">{plain}</script>'
    packed = base64.b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode()
    return f'<script type="text/plain" id="{id}">{packed}</script>'


def _asset(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
