"""What the cards of all released networks have in common."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_ABSOLUTE = re.compile(r"(?<![\w.~-])/(?:[^/\s,\]]+/)+(?=[^/\s])")


def portable(value: Any) -> Any:
    """The same card without the folders of this machine: an absolute path keeps its last name."""
    if isinstance(value, Mapping):
        return {key: portable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [portable(item) for item in value]
    return _ABSOLUTE.sub("", value) if isinstance(value, str) else value
