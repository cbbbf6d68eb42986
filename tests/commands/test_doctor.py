"""The tables of `doctor` agree with setup.cfg and the registries."""

import configparser
import re
from pathlib import Path

import pytest

from rag_research import registry
from rag_research.commands import doctor
from rag_research.config.compose import compose_experiment

ROOT = Path(__file__).resolve().parents[2]


def test_every_extra_is_looked_for() -> None:
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    assert set(doctor.EXTRAS) == set(setup["options.extras_require"]) - {"all"}


def test_every_missing_extra_error_names_an_extra() -> None:
    """The install line that an error gives must work."""
    files = (ROOT / "rag_research").rglob("*.py")
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    named = re.findall(r"missing_extra\([^,]+, \"([\w-]+)\"", text)
    assert "openai" in named
    assert set(named) <= set(doctor.EXTRAS)


def test_every_system_says_what_it_uses() -> None:
    assert set(doctor.USES) == set(registry.SYSTEMS)


def test_needs_name_known_components_and_extras() -> None:
    registries = (
        registry.LLMS,
        registry.ENCODERS,
        registry.DENSE_INDEXES,
        registry.RERANKERS,
        registry.EXTRACTORS,
        registry.ENTITY_FINDERS,
        registry.SYSTEMS,
    )
    assert set(doctor.NEEDS) <= {name for entries in registries for name in entries}
    assert set(doctor.NEEDS.values()) <= set(doctor.EXTRAS)


def test_what_a_part_of_a_system_lacks_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_installed", lambda name: name != "spacy")
    told = {
        system: list(doctor.missing(compose_experiment([f"system={system}", "llm=scripted"])))
        for system in ("tog3", "tog3_rules")
    }
    needed = "needs pip install 'rag-research[spacy]'"
    assert needed in told["tog3_rules"] and needed not in told["tog3"]
