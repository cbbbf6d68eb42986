"""Title and text of one document file, by its ending."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rag_research.errors import DataError, MissingExtraError, missing_extra

HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
LISTS = ("ul", "ol", "li", "dt", "dd", "table", "tr")
BLOCKS = (*HEADINGS, *LISTS, "p", "div", "br", "section", "article", "blockquote", "pre")
INVISIBLE = ("script", "style", "template", "noscript", "head")
_HEADING = re.compile(r"#\s+(.+?)\s*#*\s*$")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")


@dataclass(frozen=True, slots=True)
class Document:
    """What a file says; ``title`` is the file's stem where the file names none."""

    title: str
    text: str


def read_document(path: Path) -> Document:
    """Read a file whose ending is in :data:`READERS`.

    Raises:
        MissingExtraError: the parser of this format is not installed.
        DataError: the file is damaged, encrypted or not UTF-8.
    """
    try:
        title, text = READERS[path.suffix.lower()](path)
    except (DataError, MissingExtraError):
        raise
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}: byte {error.start + 1} is not UTF-8. Save it as UTF-8."
        ) from error
    except Exception as error:  # parsers raise anything at all on damaged files
        raise DataError(
            f"{path}: cannot be read as {path.suffix} ({type(error).__name__}: {error}). "
            "Repair or remove the file, or pass over such files with dataset.on_error=skip."
        ) from error
    return Document(" ".join(title.split()) or path.stem, text.strip())


def _plain(path: Path) -> tuple[str, str]:
    return "", path.read_text("utf-8-sig")


def _markdown(path: Path) -> tuple[str, str]:
    text = path.read_text("utf-8-sig")
    return _first_heading(text), text


def _first_heading(text: str) -> str:
    """The first Markdown heading of level 1, or empty; ``# words`` in fenced code is none."""
    fence = ""  # the signs that opened the block of code around a line
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line[mark.end() :].strip():
                fence = ""
        elif mark:
            fence = mark[1]
        elif heading := _HEADING.match(line):
            return heading[1]
    return ""


def _html(path: Path) -> tuple[str, str]:
    try:
        from bs4 import BeautifulSoup
    except ImportError as error:
        raise missing_extra("bs4", "docs-formats", f"Reading {path.name}") from error
    soup = BeautifulSoup(path.read_bytes(), "html.parser")
    heading = soup.title or soup.h1
    title = heading.get_text(" ") if heading else ""
    for tag in soup(INVISIBLE):
        tag.decompose()
    for tag in soup(BLOCKS):
        tag.insert_before(soup.new_string("\n"))
        tag.insert_after(soup.new_string("\n"))
    lines = (" ".join(line.split()) for line in soup.get_text().splitlines())
    return title, "\n".join(line for line in lines if line)


def _pdf(path: Path) -> tuple[str, str]:
    try:
        from pypdf import PdfReader
    except ImportError as error:
        raise missing_extra("pypdf", "docs-formats", f"Reading {path.name}") from error
    reader = PdfReader(path)
    if reader.is_encrypted and not reader.decrypt(""):
        raise DataError(
            f"{path}: the file is encrypted. Save a copy without a password, "
            "or pass over such files with dataset.on_error=skip."
        )
    title = (reader.metadata.title if reader.metadata else None) or ""
    return title, "\n".join(page.extract_text() for page in reader.pages)


def _docx(path: Path) -> tuple[str, str]:
    try:
        import docx
        from docx.table import Table
    except ImportError as error:
        raise missing_extra("docx", "docs-formats", f"Reading {path.name}") from error
    document = docx.Document(str(path))
    parts = []
    for item in document.iter_inner_content():
        if isinstance(item, Table):
            parts += [" | ".join(cell.text for cell in row.cells) for row in item.rows]
        else:
            parts.append(item.text)
    return document.core_properties.title or "", "\n".join(parts)


READERS: dict[str, Callable[[Path], tuple[str, str]]] = {
    ".txt": _plain,
    ".md": _markdown,
    ".html": _html,
    ".htm": _html,
    ".pdf": _pdf,
    ".docx": _docx,
}
