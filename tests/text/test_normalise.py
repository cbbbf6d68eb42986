"""Normal forms, against published cases of the SQuAD script and by hand."""

from hypothesis import given
from hypothesis import strategies as st

from rag_research.text.normalise import matching_form, normalise_answer, text_key


def test_squad_form() -> None:
    assert normalise_answer("The  Eiffel-Tower!") == "eiffeltower"
    assert normalise_answer("a cat, an apple and the dog") == "cat apple and dog"
    assert normalise_answer("Theatre") == "theatre"  # "the" inside a word stays
    assert normalise_answer("") == ""


def test_unicode_punctuation_goes_only_when_asked() -> None:
    assert normalise_answer("“Tom’s” – 東京。") == "“tom’s” – 東京。"
    assert normalise_answer("“Tom’s” – 東京。", nfkc=True) == "toms 東京"
    assert normalise_answer("Ｆｕｌｌ", nfkc=True) == "full"


def test_matching_form_ignores_spacing_quotes_and_dashes() -> None:
    assert matching_form('Durlach( born – "1560")') == matching_form("Durlach (born - “1560”)")
    assert matching_form("Straße") == matching_form("STRASSE")
    assert matching_form("a b") != matching_form("ab")


def test_text_key_keeps_the_borders_of_its_parts() -> None:
    assert text_key("ab", "c") != text_key("a", "bc") != text_key("abc")
    assert text_key("ab") == text_key("ab")
    assert text_key("\ud800")  # a lone surrogate is a text too


@given(st.text())
def test_normal_forms_are_stable(text: str) -> None:
    once = matching_form(text)
    assert matching_form(once) == once
    assert "  " not in normalise_answer(text)
