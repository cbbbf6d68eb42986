"""Configuration: YAML groups -> plain dict -> validated frozen dataclasses -> fingerprint."""

from rag_research.config.build import build, inert, slot, to_dict
from rag_research.config.fingerprint import fingerprint

__all__ = ["build", "fingerprint", "inert", "slot", "to_dict"]
