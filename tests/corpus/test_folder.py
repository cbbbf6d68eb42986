import builtins
import errno
import os
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
    (tmp_path / "file.csv").write_text("x")
    with pytest.raises(DataError, match=r"holds no document\. Looked for: \.txt"):
        load(tmp_path)
    with pytest.raises(DataError, match=r"is a file\. Expected a folder of documents, or one"):
        load(tmp_path / "file.csv")
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


def test_one_document_is_a_source_of_its_own(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(name)
    dataset = load(tmp_path / "a.txt")
    assert dataset.name == "a"
    assert dataset.corpus.passages == load(tmp_path).corpus.passages[:1]


def test_linked_folders_are_read_once(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "real").mkdir(parents=True)
    (outside / "inner").mkdir(parents=True)
    (root / "real" / "a.txt").write_text("a")
    (outside / "b.txt").write_text("b")
    (outside / "inner" / "c.txt").write_text("c")
    links = {"again": root / "real", "linked": outside, "part": outside / "inner", "up": tmp_path}
    for name, target in {**links, "loop": root, "gone": tmp_path / "gone"}.items():
        (root / name).symlink_to(target)
    (outside / "back").symlink_to(root)
    assert load(root).corpus.ids == ["linked/b.txt#1", "linked/inner/c.txt#1", "real/a.txt#1"]
    (tmp_path / "door").symlink_to(root)
    assert load(tmp_path / "door").corpus.ids == load(root).corpus.ids


@pytest.mark.parametrize("mode", [0, 0o100, 0o400])
def test_a_folder_without_permission_is_named_or_skipped(
    tmp_path: Path, mode: int, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "locked").mkdir()
    (tmp_path / "locked" / "a.txt").write_text("a")
    (tmp_path / "open.txt").write_text("b")
    (tmp_path / "locked").chmod(mode)
    _obey_modes(monkeypatch)
    try:
        with pytest.raises(DataError, match=r"locked: the folder cannot be read .*on_error=skip"):
            load(tmp_path)
        assert load(tmp_path, on_error="skip").corpus.ids == ["open.txt#1"]
    finally:
        (tmp_path / "locked").chmod(0o700)
    assert "skipped 1 of 2 files and folders" in caplog.text


def _obey_modes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let permissions hold for the superuser too, under whom tests may run."""
    scandir, allows = os.scandir, lambda path, mode: bool(Path(path).stat().st_mode >> 6 & mode)

    def guarded(path: str) -> object:
        if not allows(path, os.R_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", guarded)
    monkeypatch.setattr(os, "access", allows)


def test_files_of_other_kinds_are_reported_in_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("a.markdown", "b.xhtml", "c.csv", "d.CSV", "e.png", "LICENSE", ".hidden.csv"):
        (tmp_path / name).write_text("<p>x</p>")
    (tmp_path / "old.txt").symlink_to(tmp_path / "gone.txt")
    assert load(tmp_path).corpus.ids == ["a.markdown#1", "b.xhtml#1"]
    (record,) = caplog.records
    assert record.getMessage() == (
        f"{tmp_path}: passed over files of other kinds: "
        ".csv 2, no ending 1, .png 1, links to nothing 1."
    )


def test_names_that_are_not_utf8_stay_different(tmp_path: Path) -> None:
    for name in (b"caf\xe9.txt", b"caf\xe8.txt", "café.txt".encode()):
        try:
            (tmp_path / os.fsdecode(name)).write_text("x")
        except OSError:
            pytest.skip("this file system takes UTF-8 names only")
    passages = load(tmp_path).corpus.passages
    assert {p.id: p.title for p in passages} == {
        "caf%E8.txt#1": "caf%E8",
        "caf%E9.txt#1": "caf%E9",
        "café.txt#1": "café",
    }
    assert {p.source for p in passages} == {"caf%E8.txt", "caf%E9.txt", "café.txt"}
