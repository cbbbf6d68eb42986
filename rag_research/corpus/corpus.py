"""An ordered, immutable collection of passages."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path

from rag_research.errors import ArtifactError, DataError
from rag_research.runtime.artifacts import Artifact, ArtifactStore
from rag_research.runtime.text_files import whole_characters
from rag_research.types import Passage

STAGE = "corpus"
VERSION = 1


class Corpus:
    """Passages with unique ids, in a fixed order.

    Args:
        passages: every passage once. Passages with equal text and different ids are kept. Half a
            character (a lone surrogate) becomes the replacement character: no file could hold it.

    Raises:
        DataError: two passages share an id, or a passage has an empty id.
    """

    def __init__(self, passages: Iterable[Passage]) -> None:
        self.passages: tuple[Passage, ...] = tuple(map(_whole, passages))
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
        """Write the passages into ``store`` as ``passages.jsonl``, one passage a line.

        Sources count here, though not in :attr:`fingerprint`: no index depends on them.
        """
        digest = hashlib.sha256(json.dumps([p.source for p in self.passages]).encode())
        inputs = {"corpus": self.fingerprint, "sources": digest.hexdigest()[:16]}

        def write(directory: Path) -> dict[str, int]:
            with (directory / "passages.jsonl").open("w", encoding="utf-8") as file:
                for p in self.passages:
                    row = {"id": p.id, "title": p.title, "text": p.text, "source": p.source}
                    file.write(json.dumps(row, ensure_ascii=False) + "\n")
            return {"passages": len(self)}

        return store.ensure(STAGE, VERSION, inputs, write)

    @classmethod
    def load(cls, path: Path) -> Corpus:
        """Read a corpus written by :meth:`save`.

        Args:
            path: the artefact's directory.

        Raises:
            ArtifactError: it is not there, or damaged.
        """
        try:
            with (path / "passages.jsonl").open(encoding="utf-8") as file:
                return cls(Passage(**json.loads(line)) for line in file)
        except (OSError, ValueError, TypeError, DataError) as error:
            raise ArtifactError(
                f"{path / 'passages.jsonl'} is no readable corpus ({error}). Delete {path} and "
                "index the documents again; finished work is kept."
            ) from error


def _whole(passage: Passage) -> Passage:
    fields = (passage.id, passage.title, passage.text, passage.source)
    whole = tuple(map(whole_characters, fields))
    return passage if whole == fields else Passage(*whole)
