from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

from rag_research.config import build, inert, slot, to_dict
from rag_research.errors import ConfigError
from rag_research.registry import Registry

PARTS: Registry[Any] = Registry("part")


@dataclass(frozen=True, slots=True)
class WheelConfig:
    name: str = "wheel"
    spokes: int = 8


@dataclass(frozen=True, slots=True)
class TrackConfig:
    length: float
    name: str = "track"


@PARTS.register("wheel")
class Wheel:
    Config = WheelConfig


@PARTS.register("track")
class Track:
    Config = TrackConfig


@dataclass(frozen=True, slots=True)
class Engine:
    power: int = 10

    def __post_init__(self) -> None:
        if self.power < 0:
            raise ValueError(f"power must not be negative, got {self.power}")


@dataclass(frozen=True, slots=True)
class Car:
    part: Any = slot(PARTS, "wheel")
    engine: Engine = field(default_factory=Engine)
    speed: float = 1.0
    seats: int | None = None
    colour: Literal["red", "blue"] = "red"
    tags: tuple[str, ...] = ()
    prices: Mapping[str, float] = field(default_factory=dict)
    loud: bool = False
    threads: int = inert(1)


def test_defaults_and_values() -> None:
    car = build(
        Car,
        {
            "part": {"name": "track", "length": 3},
            "engine": {"power": 5},
            "seats": 4,
            "tags": ["a", "b"],
            "prices": {"new": 2},
        },
    )
    assert car == Car(
        part=TrackConfig(length=3.0), engine=Engine(5), seats=4, tags=("a", "b"), prices={"new": 2}
    )
    assert isinstance(car.prices["new"], float)
    assert build(Car, {}) == Car()


def test_a_slot_takes_a_bare_name() -> None:
    assert build(Car, {"part": "wheel"}).part == WheelConfig()


def test_settings_without_a_name_are_those_of_the_slots_default() -> None:
    assert build(Car, {"part": {"spokes": 3}}).part == WheelConfig(spokes=3)

    @dataclass(frozen=True, slots=True)
    class Cart:
        part: Any = slot(PARTS)

    with pytest.raises(ConfigError, match=r"^part: expected a mapping with the key 'name'"):
        build(Cart, {"part": {"spokes": 3}})


def test_to_dict_is_the_inverse() -> None:
    car = build(Car, {"part": {"name": "track", "length": 2.5}, "tags": ["x"], "threads": 3})
    assert build(Car, to_dict(car)) == car
    assert "threads" not in to_dict(car, with_inert=False)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"colur": "red"}, r"^colur: Car has no field 'colur'. Did you mean 'colour'\?"),
        ({"engine": {"powr": 1}}, r"^engine.powr: Engine has no field .* mean 'power'\?"),
        ({"part": {"name": "weel"}}, r"^part.name: There is no part .* mean 'wheel'\?"),
        ({"part": {"name": "wheel", "spoke": 1}}, r"^part.spoke: .* mean 'spokes'\?"),
        ({"part": {"name": "track"}}, r"^part.length: TrackConfig needs this key"),
        ({"part": {"spoke": 3}}, r"^part.spoke: .* mean 'spokes'\?"),
        ({"part": 3}, r"^part: expected a mapping"),
        ({"engine": {"power": -1}}, r"^engine: power must not be negative, got -1"),
        ({"engine": 3}, r"^engine: expected a mapping of settings, got 3"),
        ({"colour": "blu"}, r"^colour: got 'blu'. Did you mean 'blue'\? Expected one of"),
        ({"seats": "four"}, r"^seats: expected int, got 'four' \(str\)"),
        ({"seats": True}, r"^seats: expected int, got True \(bool\)"),
        ({"loud": 1}, r"^loud: expected bool, got 1"),
        ({"speed": "fast"}, r"^speed: expected float"),
        ({"tags": "a"}, r"^tags: expected a list"),
        ({"tags": ["a", 2]}, r"^tags\[1\]: expected str, got 2"),
        ({"prices": {"new": "x"}}, r"^prices.new: expected float"),
        ({"prices": []}, r"^prices: expected a mapping"),
        ({"threads": None}, r"^threads: expected int, got None"),
    ],
)
def test_every_mistake_is_named_by_its_path(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        build(Car, values)


def test_only_lossless_conversions_are_made() -> None:
    assert isinstance(build(Car, {"speed": 2}).speed, float)
    with pytest.raises(ConfigError, match="seats: expected int"):
        build(Car, {"seats": 2.0})
