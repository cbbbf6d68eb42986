"""Values of ``key=value`` words that are read as YAML, as the files of ``configs`` are."""

from __future__ import annotations

from typing import Any

import yaml

from rag_research.errors import ConfigError


def yaml_value(key: str, text: str) -> Any:
    """The value that ``text`` writes in YAML.

    Args:
        key: whose value it is, for the message.
        text: what stands after the ``=``.

    Raises:
        ConfigError: it is not YAML.
    """
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date that there is not
        problem = getattr(error, "problem", None) or error
        raise ConfigError(
            f"{key}: {text!r} is not YAML ({problem}). Close brackets and quotes, and put text "
            "with special characters into quotes."
        ) from error
