"""An ordered, immutable collection of passages."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path

from rag_research.errors import DataError
from rag_research.runtime.artifacts import Artifact, ArtifactStore
from rag_research.types import Passage

STAGE = "corpus"
VERSION = 1


class Corpus:
    """Passages with unique ids, in a fixed order.

    Args:
        passages: every passage once. Passages with equal text and different ids are kept.

    Raises:
        DataError: two passages share an id, or a passage has an empty id.
    """

    def __init__(self, passages: Iterable[Passage]) -> None:
        self.passages: tuple[Passage, ...] = tuple(passages)
        self._position: dict[str, int] = {}
        for position, passage in enumerate(self.passages):
            if not passage.id:
                raise DataError(f"Passage {position + 1} ({passage.title!r}) has an empty id.")
            if passage.id in self._position:
                first = self._position[passage.id]
                raise DataError(
                    f"Passages {first + 1} and {position + 1} share the id {passage.id!r}. "
                    "Ids must be unique: rename or drop one."
                )
            self._position[passage.id] = position

    def __len__(self) -> int:
        return len(self.passages)

    def __iter__(self) -> Iterator[Passage]:
        return iter(self.passages)

    def __contains__(self, id: object) -> bool:
        return id in self._position

    def __getitem__(self, id: str) -> Passage:
        try:
            return self.passages[self._position[id]]
        except KeyError:
            raise DataError(f"The corpus has no passage with the id {id!r}.") from None

    @property
    def ids(self) -> Sequence[str]:
        """Passage ids in corpus order."""
        return list(self._position)

    @cached_property
    def fingerprint(self) -> str:
        """Sixteen hex digits over ids, titles and texts in order."""
        digest = hashlib.sha256()
        for p in self.passages:
            digest.update(json.dumps([p.id, p.title, p.text]).encode())
        return digest.hexdigest()[:16]

    def save(self, store: ArtifactStore) -> Artifact:
        """Write the passages into ``store`` as ``passages.jsonl``, one passage a line."""

        def write(directory: Path) -> dict[str, int]:
            with (directory / "passages.jsonl").open("w", encoding="utf-8") as file:
                for p in self.passages:
                    row = {"id": p.id, "title": p.title, "text": p.text, "source": p.source}
                    file.write(json.dumps(row, ensure_ascii=False) + "\n")
            return {"passages": len(self)}

        return store.ensure(STAGE, VERSION, {"corpus": self.fingerprint}, write)

    @classmethod
    def load(cls, path: Path) -> Corpus:
        """Read a corpus written by :meth:`save`.

        Args:
            path: the artefact's directory.
        """
        with (path / "passages.jsonl").open(encoding="utf-8") as file:
            return cls(Passage(**json.loads(line)) for line in file)
