import builtins
from pathlib import Path

import pytest

from rag_research.config import build
from rag_research.corpus.dataset import Dataset
from rag_research.corpus.documents import read_document
from rag_research.corpus.folder import Folder, FolderConfig
from rag_research.errors import ConfigError, DataError, MissingExtraError

PDF_STREAM = "BT /F1 12 Tf 72 700 Td (The lamp was lit in 1871.) Tj ET"


def load(folder: Path, **settings: object) -> Dataset:
    return Folder(build(FolderConfig, {"path": str(folder), **settings})).load()


def write_pdf(path: Path, password: str | None = None) -> None:
    pypdf = pytest.importorskip("pypdf")
    from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

    writer = pypdf.PdfWriter()
    page = writer.add_blank_page(612, 792)
    font = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica"}
    entry = DictionaryObject({NameObject(k): NameObject(v) for k, v in font.items()})
    fonts = DictionaryObject({NameObject("/F1"): entry})
    page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
    stream = DecodedStreamObject()
    stream.set_data(PDF_STREAM.encode())
    page[NameObject("/Contents")] = stream
    writer.add_metadata({"/Title": "Lighthouses"})
    if password:
        writer.encrypt(password, algorithm="RC4-128")
    writer.write(path)


def test_every_format_gives_title_and_text(tmp_path: Path) -> None:
    docx = pytest.importorskip("docx")
    pytest.importorskip("bs4")
    (tmp_path / "notes.txt").write_text("\ufeffPlain words.", encoding="utf-8")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "page.md").write_text("intro\n\n# The Moor #\n\nPeat.")
    (tmp_path / "page.html").write_text(
        "<html><head><title>The\n Reef</title><style>p{}</style></head><body><script>x()</script>"
        "<p>First <b>bold</b> part.</p><ul><li>One</li><li>Two</li></ul></body></html>"
    )
    document = docx.Document()
    document.core_properties.title = "Riots"
    document.add_paragraph("Herring everywhere.")
    table = document.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "year", "1879"
    document.add_paragraph("The end.")
    document.save(str(tmp_path / "riot.docx"))
    write_pdf(tmp_path / "light.pdf")
    (tmp_path / "image.png").write_bytes(b"\x89PNG")
    (tmp_path / ".hidden.txt").write_text("secret")

    dataset = load(tmp_path)
    assert dataset.name == tmp_path.name
    assert {p.id: (p.title, p.text) for p in dataset.corpus} == {
        "deep/page.md#1": ("The Moor", "intro\n\n# The Moor #\n\nPeat."),
        "light.pdf#1": ("Lighthouses", "The lamp was lit in 1871."),
        "notes.txt#1": ("notes", "Plain words."),
        "page.html#1": ("The Reef", "First bold part.\nOne\nTwo"),
        "riot.docx#1": ("Riots", "Herring everywhere.\nyear | 1879\nThe end."),
    }
    assert dataset.corpus["deep/page.md#1"].source == "deep/page.md"


def test_long_documents_are_cut_with_overlap_and_stable_ids(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text(" ".join(f"w{i}" for i in range(25)))
    before = load(tmp_path, chunk_size=10, chunk_overlap=2).corpus
    assert before.ids == ["b.txt#1", "b.txt#2", "b.txt#3"]
    assert before["b.txt#2"].text == "w8 w9 w10 w11 w12 w13 w14 w15 w16 w17"
    (tmp_path / "a.txt").write_text("new")
    after = load(tmp_path, chunk_size=10, chunk_overlap=2).corpus
    assert [after[id] for id in before.ids] == list(before.passages)


@pytest.mark.parametrize("text", ["北京" * 500, "مصر " * 900, "🚢" * 1200])
def test_long_texts_of_other_scripts_are_cut(tmp_path: Path, text: str) -> None:
    (tmp_path / "long.txt").write_text(text, encoding="utf-8")
    corpus = load(tmp_path, chunk_size=150, chunk_overlap=0, chunk_unit="characters").corpus
    assert len(corpus) == -(-len(text.strip()) // 150)
    assert "".join("".join(p.text.split()) for p in corpus) == "".join(text.split())


@pytest.mark.parametrize("name", ["bad.pdf", "bad.docx"])
def test_a_damaged_file_is_named_or_skipped(
    tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("pypdf")
    pytest.importorskip("docx")
    (tmp_path / name).write_bytes(b"not what it says")
    (tmp_path / "good.txt").write_text("fine")
    with pytest.raises(DataError, match=rf"{name}: cannot be read as .*dataset.on_error=skip"):
        load(tmp_path)
    assert load(tmp_path, on_error="skip").corpus.ids == ["good.txt#1"]
    assert "skipped 1 of 2 files" in caplog.text
    assert name in caplog.text


def test_an_encrypted_pdf_is_named(tmp_path: Path) -> None:
    write_pdf(tmp_path / "secret.pdf", password="x")
    with pytest.raises(DataError, match=r"secret\.pdf: the file is encrypted"):
        load(tmp_path)


def test_a_file_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_bytes("café".encode("latin-1"))
    with pytest.raises(DataError, match=r"old\.txt: byte 4 is not UTF-8"):
        load(tmp_path)


def test_an_empty_document_is_kept_and_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "empty.txt").write_text(" \n")
    (tmp_path / "full.txt").write_text("words")
    assert [(p.id, p.text) for p in load(tmp_path).corpus] == [
        ("empty.txt#1", ""),
        ("full.txt#1", "words"),
    ]
    assert "1 of 2 passages have no text (the first: 'empty.txt#1')" in caplog.text


def test_folders_that_cannot_be_used_say_so(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no document"):
        load(tmp_path)
    (tmp_path / "file.txt").write_text("x")
    with pytest.raises(DataError, match="is a file"):
        load(tmp_path / "file.txt")
    with pytest.raises(DataError, match="There is no folder of documents"):
        load(tmp_path / "missing")


def test_a_missing_parser_gives_its_install_line_even_when_skipping(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "page.html").write_text("<p>x</p>")
    real = builtins.__import__

    def without(name: str, *rest: object, **named: object) -> object:
        if name == "bs4":
            raise ImportError(name)
        return real(name, *rest, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r"rag-research\[docs-formats\]"):
        load(tmp_path, on_error="skip")


@pytest.mark.parametrize(
    "settings", [{"chunk_overlap": 200}, {"chunk_unit": "tokens"}, {"tokenizer": "x"}]
)
def test_settings_that_contradict_each_other_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        build(FolderConfig, {"path": "x", **settings})


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("```\n# a comment\n```\n\n# Setting Up\n", "Setting Up"),
        ("~~~~ sh\n# a comment\n~~~\n# still one\n~~~~\n# Setting Up", "Setting Up"),
        ("Intro.\n\n  ```python\n# never closed\n", "page"),
        ("# First\n```\n# a comment\n```\n", "First"),
        ("Say `#` or ``` # here.\n\n# Setting Up\n", "Setting Up"),
        ("```make``` builds it.\n\n# Setting Up\n\n```\n# a comment\n```\n", "Setting Up"),
        ("```\n```~~~\n# a comment\n````\n# Setting Up", "Setting Up"),
        ("#\n\n# Setting Up", "Setting Up"),
    ],
)
def test_comments_in_code_are_no_headings(tmp_path: Path, text: str, title: str) -> None:
    (tmp_path / "page.md").write_text(text, encoding="utf-8")
    assert read_document(tmp_path / "page.md").title == title
