import subprocess
import sys

import pytest

from rag_research import registry
from rag_research.errors import ConfigError, UnknownNameError
from rag_research.registry import Registry

REGISTRIES = {name: value for name, value in vars(registry).items() if isinstance(value, Registry)}
TARGETS = [
    (kind, entry)
    for kind, entries in REGISTRIES.items()
    if kind != "METRICS"  # metrics are functions
    for entry in entries
]


def test_register_and_get() -> None:
    shapes: Registry[type] = Registry("shape")

    @shapes.register("circle")
    class Circle:
        pass

    assert shapes.get("circle") is Circle
    assert "circle" in shapes
    assert "square" not in shapes
    assert list(shapes) == ["circle"]


def test_a_lazy_target_is_imported_when_asked_for() -> None:
    numbers: Registry[object] = Registry("number", {"pi": "math:pi"})
    assert numbers.get("pi") == pytest.approx(3.14159265)


def test_an_unknown_name_suggests_the_nearest_one() -> None:
    numbers: Registry[object] = Registry("number", {"pi": "math:pi", "tau": "math:tau"})
    with pytest.raises(UnknownNameError) as caught:
        numbers.get("tav")
    assert str(caught.value) == (
        "There is no number named 'tav'. Did you mean 'tau'? Known: pi, tau."
    )


def test_a_taken_name_is_refused_and_the_same_entry_is_not() -> None:
    shapes: Registry[type] = Registry("shape")
    shapes.register("any")(int)
    shapes.register("any")(int)
    with pytest.raises(ConfigError, match="'any' is taken"):
        shapes.register("any")(str)


def test_a_lazy_name_may_be_registered_by_its_own_target() -> None:
    codecs: Registry[type] = Registry("codec", {"decoder": "json.decoder:JSONDecoder"})
    from json.decoder import JSONDecoder

    assert codecs.register("decoder")(JSONDecoder) is JSONDecoder


def test_names_are_listed_without_importing_the_targets() -> None:
    code = (
        "import sys; from rag_research.registry import SYSTEMS, LLMS; list(SYSTEMS), list(LLMS);"
        "print([m for m in sys.modules if m.startswith('rag_research.systems')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(("kind", "name"), TARGETS)
def test_every_entry_has_a_config_that_carries_its_name(kind: str, name: str) -> None:
    entry = REGISTRIES[kind].get(name)
    assert entry.Config.__dataclass_params__.frozen
    assert "name" in entry.Config.__dataclass_fields__
    assert entry.Config.__dataclass_fields__["name"].default == name
