"""What is read of one document, format by format."""

from pathlib import Path

import pytest

from rag_research.corpus.documents import Document, read_document

BORN = "Name | Born\nInes | 1880"
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def html(folder: Path, text: str) -> Document:
    pytest.importorskip("bs4")
    (folder / "page.html").write_text(text, encoding="utf-8")
    return read_document(folder / "page.html")


@pytest.mark.parametrize(
    ("source", "title", "text"),
    [
        ("<html><head><meta charset=utf-8><title>T</title><body><p>Body text", "T", "Body text"),
        ("<head><title>T</title><style>p{}</style><p>a<p>b", "T", "a\nb"),
        ("<title> </title><body><svg><title>Icon</title></svg><h1>The Mill</h1>", "The Mill", ""),
        ("<body><svg><title>Icon</title></svg><p>x", "page", "x"),
        ("<h1><img></h1><h1>Second</h1>", "Second", ""),
    ],
)
def test_the_head_may_stay_open_and_its_title_is_no_text(
    tmp_path: Path, source: str, title: str, text: str
) -> None:
    document = html(tmp_path, source)
    assert document.title == title
    assert document.text == (text or title)


def test_blocks_of_html_are_lines(tmp_path: Path) -> None:
    blocks = [
        *("header", "main", "aside", "footer", "nav", "section", "article", "figure", "figcaption"),
        *("address", "details", "summary", "form", "option", "caption", "dl", "dt", "dd"),
    ]
    source = "".join(f"<{name}>{name} is <b>bold</b></{name}>" for name in blocks)
    assert html(tmp_path, source).text.split("\n") == [f"{name} is bold" for name in blocks]
    assert html(tmp_path, "One<hr>two<br/>three").text == "One\ntwo\nthree"


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("<tr><th>Name</th><th>Born</th></tr><tr><td>Ines</td><td>1880</td></tr>", None),
        ("<tr><th>Name<th>Born<tr><td>Ines<td>1880", None),
        ("<thead><tr>\n<th><p>Name</p></th>\n<th>Born</th></tr></thead>"
         "<tr><td> <div>Ines</div></td> <td>1880</td></tr>", None),
        ("<tr><td>a</td></tr><tr><td></td><td>b</td></tr><tr><td></td><td> </td></tr>", "a\n| b"),
        ("<tr><td>x</td><td><table><tr><td>1</td><td>2</td></tr></table></td></tr>", "x |\n1 | 2"),
    ],
)  # fmt: skip
def test_cells_of_html_are_set_apart(tmp_path: Path, source: str, text: str | None) -> None:
    read = html(tmp_path, f"<p>before</p><table>{source}</table>after").text
    assert read == f"before\n{text or BORN}\nafter"


def docx(folder: Path, *blocks: str) -> str:
    """The text of a Word file with these blocks."""
    library = pytest.importorskip("docx")
    from docx.oxml import parse_xml

    document = library.Document()
    body = document.element.body
    for block in blocks:
        head, _, rest = block.partition(">")
        body.insert(len(body) - 1, parse_xml(f"{head} {W}>{rest}"))
    document.save(str(folder / "file.docx"))
    return read_document(folder / "file.docx").text


def run(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


def paragraph(*parts: str) -> str:
    return f"<w:p>{''.join(parts)}</w:p>"


def control(content: str) -> str:
    return f"<w:sdt><w:sdtContent>{content}</w:sdtContent></w:sdt>"


def cell(content: str, settings: str = "") -> str:
    return f"<w:tc><w:tcPr>{settings}</w:tcPr>{content}</w:tc>"


def table(*rows: str) -> str:
    return f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in rows)}</w:tbl>"


def test_a_docx_keeps_insertions_and_content_controls(tmp_path: Path) -> None:
    tabs = '<w:pPr><w:tabs><w:tab w:val="left" w:pos="720"/></w:tabs></w:pPr>'
    inserted = f'<w:ins w:id="1" w:author="a">{run("Mara Quill")}</w:ins>'
    deleted = '<w:del w:id="2" w:author="a"><w:r><w:delText>Old</w:delText><w:tab/></w:r></w:del>'
    moved = f'<w:moveFrom w:id="3" w:author="a">{run("Moved")}</w:moveFrom>'
    assert docx(
        tmp_path,
        paragraph(tabs, run("The director is "), inserted, deleted, moved),
        control(paragraph(run("Block control.")) + control(paragraph(run("Inner control.")))),
        paragraph(run("Date: "), control(run("3 May 1911"))),
        paragraph("<w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t></w:r>"),
        paragraph(f"<w:hyperlink>{run('link')}</w:hyperlink>", run(" and end")),
    ).split("\n") == [
        "The director is Mara Quill",
        "Block control.",
        "Inner control.",
        "Date: 3 May 1911",
        "a\tb",
        "c",
        "link and end",
    ]


def test_a_docx_keeps_nested_tables_and_says_merged_cells_once_a_row(tmp_path: Path) -> None:
    wide, first, below = ('<w:gridSpan w:val="2"/>', '<w:vMerge w:val="restart"/>', "<w:vMerge/>")
    a, b, c, empty = (paragraph(run(text)) for text in ("A", "B", "C", ""))
    inner = table(cell(b) + cell(c))
    assert docx(
        tmp_path,
        table(
            cell(a, wide) + cell(b),
            cell(a, first) + cell(b) + control(cell(c)),
            cell(empty, below) + cell(c) + cell(control(b)),
            cell(a) + cell(inner + empty, wide),
        ),
    ).split("\n") == ["A | B", "A | B | C", "A | C | B", "A | B | C"]


def test_a_text_box_of_a_docx_is_read_once(tmp_path: Path) -> None:
    box = f"<w:txbxContent>{paragraph(run('Boxed.'))}</w:txbxContent>"
    copies = (
        '<mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
        f"><mc:Choice>{box}</mc:Choice><mc:Fallback><w:pict>{box}</w:pict></mc:Fallback>"
        "</mc:AlternateContent>"
    )
    assert docx(tmp_path, paragraph(run("Before."), f"<w:r>{copies}</w:r>")) == "Before.\nBoxed."
