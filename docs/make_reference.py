"""Write ``docs/reference.md``: every setting there is, read from the code.

    python docs/make_reference.py

Run it after a setting was added or changed; a test compares the file with what this makes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rag_research import registry
from rag_research.config.compose import config_folder
from rag_research.config.reference import Setting, settings, summary
from rag_research.config.schema import ExperimentConfig
from rag_research.evaluation.judge_config import JudgeConfig
from rag_research.evaluation.path_config import RetrievalConfig
from rag_research.evaluation.segmentation import SegmentationConfig
from rag_research.registry import METRICS, Registry
from rag_research.training.boundary_config import BoundaryTrainingConfig
from rag_research.training.selector_config import SelectorTrainingConfig

FILE = Path(__file__).with_name("reference.md")
INTRODUCTION = (
    "# Settings\n\n"
    "<!-- Written by docs/make_reference.py from the code. Do not edit: run it again. -->\n\n"
    "How settings are given: [configuration.md](configuration.md). *Counts*: whether the setting "
    "is part of the fingerprint; what does not count never changes results. Defaults are those "
    "of the code; where the YAML file of an option (`configs/`) says something else, the file "
    "holds. What is required comes from such a file or from you."
)
PROGRAMS: tuple[tuple[str, type[Any], str], ...] = (
    ("Runs", ExperimentConfig, "`evaluate`, `ablate`, `experiment`, `index`, `ask`, `doctor`."),
    ("evaluate/retrieval.py", RetrievalConfig, "All settings of [runs](#runs), and:"),
    ("evaluate/segmentation.py", SegmentationConfig, ""),
    ("Judge", JudgeConfig, "`rag-research judge`, `evaluate/judge.py`."),
    ("train/boundary.py", BoundaryTrainingConfig, ""),
    ("train/selector.py", SelectorTrainingConfig, ""),
)


def components() -> list[Registry[Any]]:
    """The registries whose entries have settings, in the order in which they are declared."""
    return [r for r in vars(registry).values() if isinstance(r, Registry) and r is not METRICS]


def reference() -> str:
    """The whole page."""
    kinds = [_title(r) for r in components()]
    names = [*(title for title, _, _ in PROGRAMS), *kinds, "Metrics"]
    contents = " · ".join(f"[{name}](#{_anchor(name)})" for name in names)
    blocks = [INTRODUCTION, contents, *_programs(), *_components(), _metrics()]
    return "\n\n".join(block.strip() for block in blocks) + "\n"


def _programs() -> Iterator[str]:
    for title, cls, about in PROGRAMS:
        known = {s.path for s in settings(ExperimentConfig)} if cls is RetrievalConfig else set()
        yield f"## {title}"
        yield about or summary(cls)
        yield table(s for s in settings(cls) if s.path not in known)


def _components() -> Iterator[str]:
    places = _places()
    for entries in components():
        yield f"## {_title(entries)}"
        keys = sorted(places[entries.kind])
        yield f"Chosen by {listed(keys)}.{_options(keys)}"
        for name in entries:
            component = entries.get(name)
            yield f"### {entries.kind} `{name}`"
            yield summary(component)
            rows = [s for s in settings(component.Config) if s.path != "name"]
            yield table(rows) if rows else "Nothing to set."


def _metrics() -> str:
    lines = ["## Metrics", "", "Named in `evaluation.metrics`; recall by `evaluation.recall_at`."]
    lines += ["", "| metric | version | needs | meaning |", "|---|---|---|---|"]
    for name in METRICS:
        metric = METRICS.get(name)
        needs = f"`{metric.needs}`" if metric.needs else "-"
        lines.append(f"| `{name}` | {metric.version} | {needs} | {summary(metric)} |")
    return "\n".join(lines)


def table(rows: Iterable[Setting]) -> str:
    """Settings as a markdown table."""
    lines = ["| setting | values | default | counts | meaning |", "|---|---|---|---|---|"]
    for row in rows:
        values = row.type
        if row.registry is not None:
            values = f"[{row.type}](#{_anchor(_title(row.registry))})"
        counts = "no" if row.inert else "yes"
        lines.append(f"| `{row.path}` | {values} | {row.default} | {counts} | {row.meaning} |")
    return "\n".join(lines)


def _places() -> dict[str, set[str]]:
    """Dotted keys of a run at which components of each kind stand, by kind."""
    found: dict[str, set[str]] = defaultdict(set)
    todo: list[tuple[type[Any], str]] = [(ExperimentConfig, "")]
    while todo:
        cls, prefix = todo.pop()
        for setting in settings(cls, prefix):
            if setting.registry is None:
                continue
            found[setting.registry.kind].add(setting.path)
            entries = setting.registry
            todo += [(entries.get(name).Config, f"{setting.path}.") for name in entries]
    return found


def _options(keys: Iterable[str]) -> str:
    """The options of a group of YAML files, where the kind is one."""
    names = sorted(p.stem for key in keys for p in (config_folder() / key).glob("*.yaml"))
    return f" Options in `configs/`: {listed(names)}." if names else ""


def listed(names: Iterable[str]) -> str:
    """Names in markdown, with commas."""
    return ", ".join(f"`{name}`" for name in names)


def _title(entries: Registry[Any]) -> str:
    return "LLM" if entries.kind == "llm" else entries.kind.capitalize()


def _anchor(title: str) -> str:
    """As GitHub makes it of a heading."""
    kept = "".join(c for c in title.lower() if c.isalnum() or c in " -_")
    return kept.replace(" ", "-")


if __name__ == "__main__":
    FILE.write_text(reference(), encoding="utf-8")
    print(f"{FILE}: {FILE.stat().st_size:,} bytes")
