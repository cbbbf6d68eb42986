"""Every setting changes the fingerprint or is declared to have no effect on results (R13)."""

import dataclasses
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_research import registry
from rag_research.config import build, fingerprint
from rag_research.config.compose import compose_experiment, config_folder
from rag_research.config.fingerprint import canonical_json
from rag_research.config.schema import ExperimentConfig
from rag_research.errors import ConfigError
from rag_research.evaluation.judge_config import JudgeConfig
from rag_research.evaluation.path_config import RetrievalConfig
from rag_research.evaluation.segmentation import SegmentationConfig
from rag_research.registry import Registry
from rag_research.training.boundary_config import BoundaryTrainingConfig
from rag_research.training.selector_config import SelectorTrainingConfig

# Settings without a default, so that every configuration class can be made.
REQUIRED: Mapping[str, Any] = {
    "path": "somewhere",
    "corpus": "some.json",
    "questions": "some.tsv",
    "model": "a-model",
    "base_url": "http://127.0.0.1:1/v1",
    "dataset": "sample_world",
    "system": "closed_book",
    "llm": "scripted",
    "encoder": "hashing",
    "folder": "somewhere",
}
DATA: Mapping[str, Any] = {
    "BoundaryTrainingConfig": {"folder": "somewhere"},
    "SelectorTrainingConfig": {"questions": "some.jsonl"},
}


def nested(cls: type[Any]) -> Iterator[type[Any]]:
    """``cls`` and the configuration classes of its plain (not slot) fields."""
    yield cls
    for hint in get_type_hints(cls).values():
        if dataclasses.is_dataclass(hint):
            yield from nested(hint)


ROOTS: tuple[type[Any], ...] = (
    ExperimentConfig,
    RetrievalConfig,
    SegmentationConfig,
    JudgeConfig,
    BoundaryTrainingConfig,
    SelectorTrainingConfig,
)


def config_classes() -> list[type[Any]]:
    classes = [cls for root in ROOTS for cls in nested(root)]
    for entries in vars(registry).values():
        if isinstance(entries, Registry) and entries.kind != "metric":
            for name in entries:
                classes.extend(nested(entries.get(name).Config))
    return list(dict.fromkeys(classes))


CLASSES = config_classes()
FIELDS = [
    pytest.param(cls, field, id=f"{cls.__name__}.{field.name}")
    for cls in CLASSES
    for field in dataclasses.fields(cls)
    # The name is chosen by the slot; a nested class has tests of its own.
    if field.name != "name" and not dataclasses.is_dataclass(get_type_hints(cls)[field.name])
]


def make(cls: type[Any]) -> Any:
    needed = {
        f.name: DATA[cls.__name__] if f.name == "data" else REQUIRED[f.name]
        for f in dataclasses.fields(cls)
        if f.default is dataclasses.MISSING
        and f.default_factory is dataclasses.MISSING
        and f.name != "name"
    }
    return build(cls, needed)


def others(hint: Any, value: Any) -> Iterator[Any]:
    """Values a user could set instead of ``value``."""
    origin = get_origin(hint)
    if origin is Literal:
        yield from (option for option in get_args(hint) if option != value)
    elif origin in (Union, types.UnionType):
        for option in get_args(hint):
            if option is not type(None):
                yield from others(option, value)
        if value is not None and type(None) in get_args(hint):
            yield None
    elif origin is tuple:
        (item, *_) = get_args(hint)
        yield [*(value or ()), next(others(item, None))]
        yield list(value or ())[:-1]
    elif hint is bool:
        yield not value
    elif hint is int:
        yield from ((value or 0) + step for step in (1, 7, -1, 1000))
    elif hint is float:
        yield from ((value or 0.0) + step for step in (0.25, -0.25, 7.0, -7.0))
    elif dataclasses.is_dataclass(hint):
        yield plain_value(make(hint))
    elif hint in (str, Any):
        yield from (f"{value or ''}x", "another")
    elif origin is not None and issubclass(origin, Mapping):
        yield {**(value or {}), "extra": next(others(get_args(hint)[1], None))}
    else:
        raise NotImplementedError(f"no other value known for {hint}")


def changed(config: Any, field: dataclasses.Field[Any]) -> Any:
    """``config`` with another accepted value in ``field``, or ``None`` if there is none."""
    value = getattr(config, field.name)
    entries = field.metadata.get("registry")
    hint = get_type_hints(type(config))[field.name]
    values = (
        (plain_value(make(entries.get(name).Config)) for name in entries if name != value.name)
        if entries is not None
        else ACCEPTED.get((type(config).__name__, field.name)) or others(hint, value)
    )
    plain = {f.name: plain_value(getattr(config, f.name)) for f in dataclasses.fields(config)}
    for other in values:
        together = TOGETHER.get((type(config).__name__, field.name), {})
        try:
            made = build(type(config), {**plain, **together, field.name: other})
        except ConfigError:
            continue
        if made != config:
            return made
    return None


# Settings whose values come from a list that the type does not say.
ACCEPTED: Mapping[tuple[str, str], list[Any]] = {
    ("SelectorDataConfig", "off"): [["node.dense"]],
}
# Settings that may only change along with another one.
TOGETHER: Mapping[tuple[str, str], Mapping[str, Any]] = {
    ("FolderConfig", "tokenizer"): {"chunk_unit": "tokens"},
    ("BudgetConfig", "money"): {"input_price": 1.0},
}


def plain_value(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return {f.name: plain_value(getattr(value, f.name)) for f in dataclasses.fields(value)}
    return value


@pytest.mark.parametrize(("cls", "field"), FIELDS)
def test_every_setting_counts_or_is_declared_inert(
    cls: type[Any], field: dataclasses.Field[Any]
) -> None:
    config = make(cls)
    other = changed(config, field)
    assert other is not None, "no other value is accepted: is this a setting?"
    same = fingerprint(other) == fingerprint(config)
    assert same == bool(field.metadata.get("inert"))


def test_the_choice_of_a_component_counts() -> None:
    plain = make(ExperimentConfig)
    for name, other in {
        "dense": "hnsw",
        "system": "bm25_rag",
        "encoder": "sentence_encoder",
    }.items():
        values = {f: v for f, v in REQUIRED.items() if f in ("dataset", "system", "llm", "encoder")}
        assert fingerprint(build(ExperimentConfig, {**values, name: other})) != fingerprint(plain)


@pytest.mark.parametrize(
    "folder", sorted(p for p in (config_folder() / "ablation").iterdir()), ids=lambda p: p.name
)
def test_no_two_ablations_of_a_system_ask_for_the_same(folder: Path) -> None:
    base = f"system={folder.name}"
    plain = compose_experiment([base])
    prints = {
        path.stem: fingerprint(compose_experiment([base, f"ablation/{folder.name}={path.stem}"]))
        for path in sorted(folder.glob("*.yaml"))
    }
    same = [name for name, own in prints.items() if own == fingerprint(plain)]
    assert set(same) <= {"llm_extractor"}  # T2RAG's default, an ablation of its other options
    assert len(set(prints.values())) == len(prints)


def test_known_value() -> None:
    assert canonical_json({"b": [1, "é"], "a": None}) == '{"a":null,"b":[1,"é"]}'
    assert fingerprint({"b": 1, "a": 2}) == fingerprint({"a": 2, "b": 1})
    assert len(fingerprint("x")) == 16
    assert fingerprint("x") != fingerprint("x", "")


@given(st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=3), max_size=4))
def test_order_of_keys_does_not_matter(values: dict[str, Any]) -> None:
    turned = dict(reversed(values.items()))
    assert fingerprint(values) == fingerprint(turned)
