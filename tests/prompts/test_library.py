from pathlib import Path

import pytest

from rag_research.errors import ConfigError
from rag_research.prompts.library import PromptLibrary, parse_prompt

LIBRARY = PromptLibrary()
TEXT = """version: 3

# system
Be brief.

# user
Say {{word}} to {{name}}.
"""


@pytest.mark.parametrize("name", LIBRARY.names())
def test_every_shipped_prompt_parses_and_renders(name: str) -> None:
    prompt = LIBRARY[name]
    values = {field: f"<{field}>" for field in prompt.fields}
    messages = prompt.render(**values)
    text = "\n".join(m.content for m in messages)
    assert messages[-1].role == "user"
    assert all(m.content for m in messages)
    assert all(value in text for value in values.values())
    assert "{{" not in text


def test_an_override_that_replaces_nothing_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "answer").mkdir()
    (tmp_path / "answer" / "passage.md").write_text(TEXT, encoding="utf-8")
    for _ in range(2):
        PromptLibrary(tmp_path)
    (told,) = caplog.messages
    assert "answer/passage.md replaces no built-in prompt" in told
    assert "Did you mean 'answer/passages'" in told


def test_there_are_prompts() -> None:
    assert {"t2rag/decompose", "t2rag/resolve", "t2rag/synthesise"} <= set(LIBRARY.names())


def test_parse_and_render() -> None:
    prompt = parse_prompt("greet", TEXT, "greet.md")
    assert prompt.label == "greet@3"
    assert prompt.fields == {"word", "name"}
    system, user = prompt.render(word="hello", name="Ada")
    assert (system.role, system.content) == ("system", "Be brief.")
    assert (user.role, user.content) == ("user", "Say hello to Ada.")


def test_a_value_that_looks_like_a_field_is_left_alone() -> None:
    prompt = parse_prompt("greet", TEXT, "greet.md")
    user = prompt.render(word="{{name}}", name=r"\1 {{word}}")[1]
    assert user.content == r"Say {{name}} to \1 {{word}}."


@pytest.mark.parametrize("values", [{"word": "hi"}, {"word": "hi", "name": "A", "more": "x"}])
def test_missing_and_unused_values_are_errors(values: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="has the fields"):
        parse_prompt("greet", TEXT, "greet.md").render(**values)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# user\nhi\n", "first line must be"),
        ("version: 1\nhi\n", "expected sections"),
        ("version: 1\n# user\nhi\n# assistant\nyes\n", "last"),
        ("version: 1\nstray\n# user\nhi\n", "expected sections"),
    ],
)
def test_malformed_files_are_named(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        parse_prompt("x", text, "folder/x.md")
    assert "folder/x.md" in str(caught.value)


def test_the_fingerprint_covers_the_wording() -> None:
    one = parse_prompt("x", TEXT, "x.md")
    other = parse_prompt("x", TEXT.replace("brief", "short"), "x.md")
    assert one.fingerprint != other.fingerprint
    assert one.fingerprint.startswith("3-")


def test_a_file_in_the_override_folder_wins(tmp_path: Path) -> None:
    (tmp_path / "t2rag").mkdir()
    (tmp_path / "t2rag" / "decompose.md").write_text("version: 9\n\n# user\n{{question}}\n")
    library = PromptLibrary(tmp_path)
    assert library["t2rag/decompose"].version == 9
    assert library["t2rag/resolve"].version == LIBRARY["t2rag/resolve"].version
    assert set(library.versions()) == {"t2rag/decompose", "t2rag/resolve"}


def test_an_unknown_prompt_and_a_missing_folder_are_errors(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"Did you mean 't2rag/decompose'"):
        LIBRARY["t2rag/decompos"]
    with pytest.raises(ConfigError, match="is not a folder"):
        PromptLibrary(tmp_path / "absent")


def test_a_byte_order_mark_is_dropped(tmp_path: Path) -> None:
    (tmp_path / "greet.md").write_text(TEXT, encoding="utf-8-sig")
    assert PromptLibrary(tmp_path)["greet"] == parse_prompt("greet", TEXT, "greet.md")


def test_a_file_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    (tmp_path / "greet.md").write_bytes(TEXT.replace("brief", "très bref").encode("latin-1"))
    with pytest.raises(ConfigError, match=r"greet\.md: byte 27 is not UTF-8"):
        PromptLibrary(tmp_path)["greet"]
