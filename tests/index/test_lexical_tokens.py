from rag_research.index.lexical_tokens import tokenizer


def test_words_are_lower_case_without_single_letters_and_stop_words() -> None:
    assert tokenizer(None, True)("The Cats of U.S. Route 66, a B-side") == [
        "cats",
        "route",
        "66",
        "side",
    ]
    assert tokenizer(None, False)("The Cats") == ["the", "cats"]


def test_a_stemmer_joins_forms() -> None:
    assert tokenizer("english", True)("running runs") == ["run", "run"]


def test_scripts_without_spaces_give_characters_others_words() -> None:
    assert tokenizer(None, True)("東京 tower") == ["東", "京", "tower"]
    assert tokenizer(None, True)("تاريخ المدينة") == ["تاريخ", "المدينة"]
    assert tokenizer(None, True)("서울 타워") == ["서울", "타워"]
    assert tokenizer(None, True)("😀 !? ") == []
