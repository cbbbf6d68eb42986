"""The tables of `doctor` agree with setup.cfg and the registries."""

import configparser
from pathlib import Path

from rag_research import registry
from rag_research.commands import doctor

ROOT = Path(__file__).resolve().parents[2]


def test_every_extra_is_looked_for() -> None:
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    assert set(doctor.EXTRAS) == set(setup["options.extras_require"]) - {"all"}


def test_every_system_says_what_it_uses() -> None:
    assert set(doctor.USES) == set(registry.SYSTEMS)


def test_needs_name_known_components_and_extras() -> None:
    registries = (
        registry.LLMS,
        registry.ENCODERS,
        registry.DENSE_INDEXES,
        registry.RERANKERS,
        registry.EXTRACTORS,
    )
    assert set(doctor.NEEDS) <= {name for entries in registries for name in entries}
    assert set(doctor.NEEDS.values()) <= set(doctor.EXTRAS)
