"""Hashes of configurations and inputs: same fingerprint, same result."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from rag_research.config.build import to_dict


def canonical_json(value: Any) -> str:
    """JSON with sorted keys and no spaces: equal values give equal text."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def fingerprint(*parts: Any) -> str:
    """Sixteen hex digits over configurations and plain values; inert fields do not count.

    Args:
        *parts: configuration dataclasses, mappings, lists, strings, numbers.
    """
    plain = [to_dict(part, with_inert=False) for part in parts]
    return hashlib.sha256(canonical_json(plain).encode()).hexdigest()[:16]
