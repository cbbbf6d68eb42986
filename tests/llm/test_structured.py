"""Values out of replies as small models write them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rag_research.errors import LLMError, ParseError
from rag_research.llm.base import Completion, Message, Request
from rag_research.llm.cache import CachedLLM
from rag_research.llm.scripted import Scripted
from rag_research.llm.structured import (
    Parsed,
    complete_structured,
    json_values,
    pick,
    pick_yes_no,
    read_reply,
)
from rag_research.prompts.library import PromptLibrary

ROWS = [["a", "b", "c"], ["d", "e", "f"]]
ROW_TEXT = '[["a", "b", "c"], ["d", "e", "f"]]'

CASES: dict[str, tuple[str, list[Any]]] = {
    "plain": (ROW_TEXT, [ROWS]),
    "fence": (f"```json\n{ROW_TEXT}\n```", [ROWS]),
    "fence in prose": (f"Here [1] it is:\n```\n{ROW_TEXT}\n```\nDone {{}}.", [ROWS, [1], {}]),
    "fence on one line": (f"```json {ROW_TEXT}```", [ROWS]),
    "open fence": (f"```json\n{ROW_TEXT}", [ROWS]),
    "trailing prose": (f"{ROW_TEXT}\nI hope this [helps] you.", [ROWS]),
    "leading prose": (f"The triples are: {ROW_TEXT}", [ROWS]),
    "citation first": (f"As in [1]: {ROW_TEXT}", [ROWS, [1]]),
    "reasoning": (f"<think>maybe [1, 2]?</think>{ROW_TEXT}", [ROWS]),
    "reasoning, other tag": ("<Reasoning>\n[1]\n</Reasoning>\n{}", [{}]),
    "reasoning never closed": ("<think>maybe [1, 2]? or", []),
    "reasoning opened in the prompt": (f"maybe [1]\n</think>\n{ROW_TEXT}", [ROWS]),
    "single quotes": ("{'a': 'b', 'c': ['d']}", [{"a": "b", "c": ["d"]}]),
    "apostrophe in single quotes": ("['Shakespeare's play', 'x']", [["Shakespeare's play", "x"]]),
    "inner quotes": ('["He said "hi" to us", "x"]', [['He said "hi" to us', "x"]]),
    "smart quotes": ("{“a”: “b’s”}", [{"a": "b’s"}]),
    "python literals": ("{'a': None, 'b': True, 'c': (1,)}", [{"a": None, "b": True, "c": [1]}]),
    "tuples": ('[("a", "b", "c"), ("d", "e", "f")]', [ROWS]),
    "top-level tuple": ('So ("a", "b") in (1990).', [["a", "b"]]),
    "trailing commas": ('{"a": [1, 2,], "b": 3,}', [{"a": [1, 2], "b": 3}]),
    "missing commas": ('[\n["a", "b", "c"]\n["d", "e", "f"]\n]', [ROWS]),
    "missing bracket inside": ('{"t": [["a", "b", "c"], ["d", "e", "f"]}', [{"t": ROWS}]),
    "unquoted keys": ("{answer: 'x', ok: true}", [{"answer": "x", "ok": True}]),
    "comments": ('[1, // one\n 2]', [[1, 2]]),
    "url in a string": ("{'u': 'http://a.b/c'}", [{"u": "http://a.b/c"}]),
    "line break in a string": ('["a\nb"]', [["a\nb"]]),
    "escapes": (r"['a\'b\n\u00e9\d']", [["a'b\né\\d"]]),
    "NaN": ("[NaN, 1]", [[None, 1]]),
    "cut rows": ('[["a", "b", "c"], ["d", "e", "f"], ["g", "h', [ROWS]),
    "cut after comma": ('[["a", "b", "c"], ["d", "e", "f"],', [ROWS]),
    "cut under a key": ('{"t": [["a", "b", "c"], ["d", "e", "f"], ["g"', [{"t": ROWS}]),
    "cut objects": ('[{"a": 1}, {"a": 2}, {"a"', [[{"a": 1}, {"a": 2}]]),
    "cut string value": ('{"a": "b", "c": "d', [{"a": "b"}]),
    "cut number": ('{"a": 1, "b": 19', [{"a": 1}]),
    "cut word": ('{"a": 1, "b": tr', [{"a": 1}]),
    "cut key": ('{"a": 1, "b', [{"a": 1}]),
    "cut before a value": ('{"a": 1, "b":', [{"a": 1}]),
    "cut in a fence": ('```json\n[["a", "b", "c"], ["d", "e", "f"], [', [ROWS]),
    "cut in the first row": ('[["a", "b', [["a"]]),
    "cut too early": ('[["a', []),
    "cut, nested deeper": ('[[["a", "b", "c"], ["d', [[["a", "b", "c"]]]),
    "one row a line": ('["a", "b", "c"]\n["d", "e", "f"]', [ROWS, *ROWS]),
    "numbered rows": ('1. ["a", "b", "c"]\n2. ["d", "e", "f"]', [ROWS, *ROWS]),
    "bulleted objects": ('- {"a": 1}\n- {"a": 2}', [[{"a": 1}, {"a": 2}], {"a": 1}, {"a": 2}]),
    "two values apart": ('{"a": 1} or rather {"a": 2}', [{"a": 1}, {"a": 2}]),
    "longest first": ('{"a": 1} or rather {"a": 22}', [{"a": 22}, {"a": 1}]),
    "repeated": ("{} and then {}", [{}]),
    "scalar": (' "yes" ', ["yes"]),
    "scalar in a fence": ("```\n42\n```", [42]),
    "scalar in prose": ("The answer is 42.", []),
    "empty list": ("[]", [[]]),
    "empty": ("", []),
    "prose": ("I cannot [do] that {sorry}.", []),
    "half a surrogate pair": (r'["\ud83d\ude00\ud83d"]', [["😀\ufffd"]]),
    "deep nesting": ("[" * 5000 + "]" * 5000, []),
    "a number of 5000 digits": ("[1, " + "9" * 5000 + ", 1e999]", [[1, None, None]]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_recovers(name: str) -> None:
    text, expected = CASES[name]
    values = json_values(text)
    assert values == expected
    assert repr(values) == repr(expected)  # 1 == True


def test_nothing_is_evaluated() -> None:
    assert json_values("[__import__('os').getcwd(), 1+1, [].append]") == [["os"], []]


json_containers = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
).filter(lambda value: isinstance(value, (list, dict)))
prose = st.text(st.characters(exclude_characters="[]{}()`<\"'“‘", exclude_categories=["Cs"]))


@settings(deadline=None)
@given(json_containers, prose, prose, st.sampled_from(["{}", "```json\n{}\n```", "```\n{}```"]))
def test_any_value_in_prose_or_fences_is_recovered(
    value: Any, before: str, after: str, frame: str
) -> None:
    written = json.dumps(value, ensure_ascii=False)
    if "</think" in written.lower() or "<think" in written.lower():
        return
    assert json_values(before + frame.replace("{}", written) + after)[0] == value


@settings(deadline=None)
@given(st.lists(st.lists(st.text(), min_size=3, max_size=3), min_size=1, max_size=5), st.data())
def test_a_cut_list_gives_its_whole_rows(rows: list[list[str]], data: Any) -> None:
    written = [json.dumps(row) for row in rows]
    text = "[" + ", ".join(written)
    length = data.draw(st.integers(0, len(text)))
    # A string holding `", "` or `"]` can be mistaken for structure only inside the cut row.
    ends = [len("[" + ", ".join(written[: i + 1])) for i in range(len(rows))]
    whole = [row for row, end in zip(rows, ends, strict=True) if end <= length]
    if whole:
        assert json_values(text[:length])[0][: len(whole)] == whole


@settings(deadline=None)
@given(st.text() | st.text(st.sampled_from("[]{}()\"',:`\\ \nau1-.<think>/“”‘")))
@example("{")
@example("```")
@example("[" * 300)
@example('{"a":' * 300)
def test_random_text_never_raises(text: str) -> None:
    for value in json_values(text):
        json.dumps(value).encode()


def test_pick() -> None:
    value = {"Sub Questions": [1], "answer": 2}
    assert pick(value, "sub_questions") == [1]
    assert pick(value, "reply", "ANSWER") == 2
    with pytest.raises(ParseError, match=r"no key 'facts'; it has \['Sub Questions', 'answer'\]"):
        pick(value, "facts")
    with pytest.raises(ParseError, match="key 'facts', got list"):
        pick([1], "facts")


def read_answer(value: Any) -> str:
    answer = pick(value, "answer")
    if not isinstance(answer, str):
        raise ParseError("'answer' should be a string.")
    return answer


def test_the_first_value_that_is_accepted() -> None:
    assert (
        read_reply('{"thought": "long enough to come first"} {"answer": "x"}', read_answer) == "x"
    )
    with pytest.raises(ParseError, match="holds no JSON; it starts 'no idea'"):
        read_reply("  no idea", read_answer)
    with pytest.raises(ParseError, match="should be a string"):  # about the best candidate
        read_reply('{"answer": ["a long list"]} or {}', read_answer)


REQUEST = Request((Message("user", "Who?"),), purpose="answer", prompt="t/answer@1")


async def test_a_good_reply_needs_one_attempt() -> None:
    llm = Scripted.of(['{"answer": "x"}'])
    assert await complete_structured(llm, REQUEST, read_answer) == Parsed("x", 1, "")


async def test_one_repair_says_what_was_wrong() -> None:
    llm = Scripted.of(['{"answer": 5}', '{"answer": "five"}'])
    parsed = await complete_structured(llm, REQUEST, read_answer)
    assert parsed == Parsed("five", attempts=2)
    assert (parsed.repaired, parsed.rejected) == (True, False)
    first, second = llm.requests
    assert [m.role for m in second.messages] == ["user", "assistant", "user"]
    assert second.messages[1].content == '{"answer": 5}'
    assert "'answer' should be a string." in second.messages[2].content
    assert (second.purpose, second.prompt) == ("answer", "t/answer@1+repair@1")
    assert first.messages == REQUEST.messages


async def test_a_second_bad_reply_is_a_reject_not_an_error() -> None:
    parsed = await complete_structured(Scripted.of(["?", "[]"]), REQUEST, read_answer)
    assert (parsed.value, parsed.attempts, parsed.rejected) == (None, 2, True)
    assert "got list" in parsed.error


async def test_a_cut_reply_is_told_to_be_brief() -> None:
    class Cut(Scripted):
        async def complete(self, request: Request) -> Completion:
            completion = await super().complete(request)
            return Completion(completion.text, 1, 1, finish_reason="length")

    llm = Cut.of(['{"thoughts": "', '{"answer": "x"}'])
    assert (await complete_structured(llm, REQUEST, read_answer)).value == "x"
    assert "be brief" in llm.requests[1].messages[-1].content


async def test_errors_of_the_backend_pass_through() -> None:
    with pytest.raises(LLMError):
        await complete_structured(Scripted.of([]), REQUEST, read_answer)
    with pytest.raises(LLMError):
        await complete_structured(Scripted.of(["bad"]), REQUEST, read_answer)


async def test_an_unusable_reply_is_not_cached(tmp_path: Any) -> None:
    cache = CachedLLM(Scripted.of(["bad", '{"answer": "x"}', "bad", "bad"]), tmp_path / "c.sqlite")
    assert (await complete_structured(cache, REQUEST, read_answer)).value == "x"
    assert len(cache) == 1  # the repair
    parsed = await complete_structured(cache, REQUEST, read_answer)
    assert (parsed.value, cache.misses, cache.hits) == ("x", 3, 1)


async def test_the_wording_of_the_repair_can_be_changed(tmp_path: Any) -> None:
    (tmp_path / "repair.md").write_text("version: 7\n\n# user\nWrong: {{problem}} Again!\n")
    llm = Scripted.of(["bad", '{"answer": "x"}'])
    prompts = PromptLibrary(tmp_path)
    await complete_structured(llm, REQUEST, read_answer, prompts)
    assert llm.requests[1].messages[-1].content.endswith("Again!")
    assert llm.requests[1].prompt == "t/answer@1+repair@7"
    assert list(prompts.versions()) == ["repair"]


@pytest.mark.parametrize(
    ("value", "truth"),
    [({"Enough": "Yes "}, True), ({"ok": 1, "enough": False}, False), ({"enough": "no"}, False)],
)
def test_pick_yes_no(value: object, truth: bool) -> None:
    assert pick_yes_no(value, "enough") is truth


@pytest.mark.parametrize("value", [{}, [True], {"enough": "perhaps"}, {"enough": 1}])
def test_pick_yes_no_rejects(value: object) -> None:
    with pytest.raises(ParseError):
        pick_yes_no(value, "enough")
