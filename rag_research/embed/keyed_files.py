"""Files that only grow, with a file of keys that says what is whole: shared by the stores."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from filelock import FileLock
from numpy.typing import NDArray

from rag_research.errors import ArtifactError
from rag_research.runtime.progress import progress

KEY_BYTES = 16
FIRST_CHUNK = 256
_SHORT_SECONDS = 4.0
LOCK = ".lock"


def growing_chunks(items: NDArray[np.intp], largest: int, label: str) -> Iterator[NDArray[np.intp]]:
    """Cut items into chunks to work through, behind a progress bar.

    The next chunk is twice as large where the last one took little time: a fast device wants
    more at once.

    Args:
        items: in order.
        largest: most items of a chunk.
        label: names the progress bar.
    """
    with progress(label, len(items)) as advance:
        start, size = 0, min(FIRST_CHUNK, largest)
        while start < len(items):
            chunk = items[start : start + size]
            began = time.monotonic()
            yield chunk
            advance(len(chunk))
            start += len(chunk)
            if time.monotonic() - began < _SHORT_SECONDS:
                size = min(2 * size, largest)


def claim_folder(folder: Path, mine: Mapping[str, Any], read_only: bool = False) -> None:
    """Create ``folder`` and write down whose it is, or check that it is the caller's.

    Args:
        folder: of one store, encoder and role.
        mine: what makes its contents comparable; plain JSON values.
        read_only: create nothing.

    Raises:
        ArtifactError: the folder is another encoder's, or its ``meta.json`` is damaged; it is
            not there and ``read_only``.
    """
    if read_only and not folder.is_dir():
        raise ArtifactError(
            f"{folder.parent} holds nothing that this encoder has read: {mine.get('identity')}. "
            "Use the encoder the index was built with, or build it again."
        )
    folder.mkdir(parents=True, exist_ok=True)
    meta = folder / "meta.json"
    if not meta.exists():
        with FileLock(folder / LOCK):
            draft = folder / ".meta.json"
            draft.write_text(json.dumps(mine, indent=2, ensure_ascii=False), encoding="utf-8")
            draft.replace(meta)
    try:
        stored = json.loads(meta.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ArtifactError(
            f"{meta} is not readable JSON ({error}). Delete {folder} to encode again."
        ) from error
    for field, value in mine.items():
        if stored.get(field) != value:
            raise ArtifactError(
                f"{folder} holds vectors of another encoder: its {field} is "
                f"{stored.get(field)!r}, the present encoder's is {value!r}. Use the encoder "
                "it was built with, or delete the folder to encode again."
            )


def refuse_reading(folder: Path, missing: int) -> NoReturn:
    """Say that texts would have to be encoded where nothing may be written.

    Raises:
        ArtifactError: always.
    """
    raise ArtifactError(
        f"{folder} lacks what the encoder reads in {missing} texts, and the index is opened to be "
        "asked only. Open it with the settings it was built with, or build it again with these."
    )


def append(path: Path, data: bytes) -> None:
    """Add bytes to the end of a file, and wait until they are on disk."""
    with path.open("ab") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def cut(path: Path, size: int) -> None:
    """Drop what a crash left behind the first ``size`` bytes."""
    if path.exists() and path.stat().st_size != size:
        os.truncate(path, size)


def size_of(path: Path) -> int:
    """Bytes in a file; 0 when there is none."""
    return path.stat().st_size if path.exists() else 0


def text_keys(texts: Iterable[str]) -> NDArray[np.bytes_]:
    """16 bytes of BLAKE2 for each text."""
    hashes = (
        hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES).digest()
        for text in texts
    )
    return np.frombuffer(b"".join(hashes), dtype=f"S{KEY_BYTES}")


def read_keys(folder: Path, count: int) -> NDArray[np.bytes_]:
    """The first ``count`` keys of a folder."""
    if not count:
        return np.empty(0, dtype=f"S{KEY_BYTES}")
    return np.fromfile(folder / "keys.bin", dtype=f"S{KEY_BYTES}", count=count)


def find_rows(stored: NDArray[np.bytes_], wanted: NDArray[np.bytes_]) -> NDArray[np.intp]:
    """Row of each wanted key, -1 where it is not stored."""
    if not len(stored):
        return np.full(len(wanted), -1, dtype=np.intp)
    order = np.argsort(stored, kind="stable")
    place = np.searchsorted(stored, wanted, sorter=order)
    rows = order[np.minimum(place, len(stored) - 1)]
    return np.where(stored[rows] == wanted, rows, -1)


def missing_rows(stored: NDArray[np.bytes_], wanted: NDArray[np.bytes_]) -> NDArray[np.intp]:
    """Positions of wanted keys that are not stored, in order, each key once."""
    _, first = np.unique(wanted, return_index=True)
    return np.sort(first[find_rows(stored, wanted[first]) < 0])


def in_stored_order(rows: NDArray[np.intp]) -> bool:
    """Whether the rows are one stretch of the stored ones, so that a view will do."""
    return bool((np.diff(rows) == 1).all())
