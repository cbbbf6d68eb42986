"""One small tree of errors. Every message says what, where, got, expected, what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class RagResearchError(Exception):
    """Any error this package raises on purpose."""


class ConfigError(RagResearchError):
    """A configuration key or value that cannot be used."""


class UnknownNameError(ConfigError, KeyError):
    """A name that no registry knows."""

    def __str__(self) -> str:  # KeyError would print the repr
        return str(self.args[0])


class DataError(RagResearchError):
    """A corpus, question or triplet file that cannot be read; names file and line."""


class MissingExtraError(RagResearchError, ImportError):
    """An optional dependency is not installed; gives the install line."""


class ModelNotFoundError(RagResearchError):
    """Model weights are not on this machine; names the ways to provide them."""


class ArtifactError(RagResearchError):
    """A stored artefact is missing, incomplete, or was built from something else."""


class LLMError(RagResearchError):
    """A language model backend failed for good, after its retries."""


class BudgetExceededError(RagResearchError):
    """The budget of calls, tokens or money is spent; finished work is kept."""


class ParseError(RagResearchError):
    """A model reply that holds nothing of the asked form."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A suggestion that can be appended to a message, or an empty string.

    Example:
        >>> did_you_mean("selecter", ["selector", "encoder"])
        " Did you mean 'selector'?"
    """
    close = difflib.get_close_matches(name, list(known), n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


def missing_extra(module: str, extra: str, purpose: str) -> MissingExtraError:
    """The error for an optional dependency that is not there.

    Args:
        module: what could not be imported.
        extra: the extra of this package that brings it.
        purpose: what needs it, as the subject of the sentence.
    """
    return MissingExtraError(
        f"{purpose} needs the Python package {module!r}, which is not installed. "
        f"Install it with: pip install 'rag-research[{extra}]'"
    )
