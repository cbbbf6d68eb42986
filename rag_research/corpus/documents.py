"""Title and text of one document file, by its ending."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_research.errors import DataError, MissingExtraError, missing_extra

BLOCKS = (
    *("h1", "h2", "h3", "h4", "h5", "h6", "p", "div", "br", "hr", "pre", "blockquote", "center"),
    *("ul", "ol", "menu", "li", "dir", "dl", "dt", "dd", "table", "caption", "details", "summary"),
    *("header", "footer", "main", "nav", "aside", "section", "article", "hgroup", "search"),
    *("figure", "figcaption", "address", "dialog", "body"),
    *("form", "fieldset", "legend", "select", "optgroup", "option", "textarea"),
)
CELLS = ("td", "th")
INVISIBLE = ("title", "meta", "link", "base", "script", "style", "template", "noscript")
_ROW, _CELL = "\x1e", "\x1f"  # stand around table rows and between cells while HTML is read
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
    return Document(" ".join(title.split()) or printable(path.stem), text.strip())


def printable(name: str) -> str:
    """A file name with each byte that is not UTF-8 as ``%E9``, so that names stay different."""
    return re.sub("[\udc80-\udcff]", lambda byte: f"%{ord(byte[0]) - 0xDC00:02X}", name)


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
    titles = [tag for tag in soup("title") if not tag.find_parent("svg")]
    names = (tag.get_text(" ") for tag in (*titles, *soup("h1")))
    title = next((name for name in names if name.strip()), "")
    # The head itself stays: without </head>, which HTML may omit, the body lies inside it.
    for tag in soup(INVISIBLE):
        tag.decompose()
    for name, mark in (*((name, "\n") for name in BLOCKS), ("tr", _ROW)):
        for tag in soup(name):
            tag.insert(0, mark)
            tag.append(mark)
    for tag in soup(CELLS):
        if _follows_a_cell(tag):
            tag.insert(0, _CELL)
    rows = (row.split(_CELL) for row in soup.get_text().split(_ROW))
    text = "\n".join(_row([cell.strip() for cell in row]) for row in rows)
    lines = (" ".join(line.split()) for line in text.splitlines())
    return title, "\n".join(line for line in lines if line)


def _follows_a_cell(tag: Any) -> bool:
    """Whether a cell of HTML is not its row's first; the one before may lack its end tag."""
    if tag.find_previous_sibling(CELLS):
        return True
    around = tag.find_parent((*CELLS, "tr", "table"))
    return around is not None and around.name in CELLS


def _row(cells: Sequence[str]) -> str:
    """One table row as text; empty where every cell is."""
    return " | ".join(cells) if any(cells) else ""


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
    except ImportError as error:
        raise missing_extra("docx", "docs-formats", f"Reading {path.name}") from error
    document = docx.Document(str(path))
    text = "\n".join(_docx_blocks(document.element.body))
    return document.core_properties.title or "", text


_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_MARKS = {_WORD + name for name in ("t", "tab", "br", "cr", "noBreakHyphen", "ptab")}
# Properties, text deleted or moved away, readings over characters, a second copy of text boxes.
_UNREAD = {_WORD + name for name in ("pPr", "rPr", "del", "moveFrom", "rt")}
_UNREAD.add("{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback")


def _docx_blocks(parent: Any) -> Iterator[str]:
    """Paragraphs and table rows below an element, in order, those of content controls too."""
    for child in parent.iterchildren("{*}*"):
        if child.tag == _WORD + "p":
            yield "".join(_docx_line(child))
        elif child.tag == _WORD + "tbl":
            yield from _docx_rows(child)
        elif child.tag not in _UNREAD:
            yield from _docx_blocks(child)


def _docx_line(parent: Any) -> Iterator[str]:
    """The text of a paragraph, with insertions, links, inline controls and text boxes."""
    for child in parent.iterchildren("{*}*"):
        if child.tag in _MARKS:
            yield str(child)
        elif child.tag == _WORD + "txbxContent":
            yield "\n".join(["", *_docx_blocks(child), ""])
        elif child.tag not in _UNREAD:
            yield from _docx_line(child)


def _docx_rows(table: Any) -> Iterator[str]:
    """A table's rows; a cell merged over rows says its text in each, over columns once."""
    above: dict[int, str] = {}  # the text of the last cell in each column
    for row in _docx_below(table, "tr"):
        cells = []
        column = 0
        for cell in _docx_below(row, "tc"):
            merged = cell.vMerge == "continue"
            text = above.get(column, "") if merged else "\n".join(_docx_blocks(cell))
            above[column] = text
            column += cell.grid_span
            cells.append(text)
        yield _row(cells)


def _docx_below(parent: Any, name: str) -> Iterator[Any]:
    """The rows of a table or the cells of a row, those inside content controls too."""
    for child in parent.iterchildren("{*}*"):
        if child.tag == _WORD + name:
            yield child
        elif child.tag not in _UNREAD:
            yield from _docx_below(child, name)


READERS: dict[str, Callable[[Path], tuple[str, str]]] = {
    ".txt": _plain,
    ".md": _markdown,
    ".markdown": _markdown,
    ".html": _html,
    ".htm": _html,
    ".xhtml": _html,
    ".pdf": _pdf,
    ".docx": _docx,
}
