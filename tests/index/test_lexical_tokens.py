import unicodedata

import pytest

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


@pytest.mark.parametrize("text", ["Brücke", "São Paulo", "Việt Nam", "서울 타워", "ガス", "한국어"])
def test_both_encodings_of_accents_give_the_same_words(text: str) -> None:
    tokens = tokenizer(None, True)
    assert tokens(unicodedata.normalize("NFD", text)) == tokens(text)


@pytest.mark.parametrize(
    "words",
    [
        ["हिन्दी", "में", "दिल्ली"],
        ["தமிழ்", "மொழி"],
        ["বাংলা", "ভাষা"],
        ["മലയാളം"],
        ["𑄌𑄋𑄴𑄟𑄳𑄦"],  # Chakma, whose marks lie beyond the basic plane
        ["s̱ānī", "lŏ̤h"],
    ],
)
def test_combining_marks_cut_no_word(words: list[str]) -> None:
    assert tokenizer(None, True)(" ".join(words)) == words


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("Ｔｏｋｙｏ ２０２０", "tokyo 2020"),
        ("eﬃcient ﬁre", "efficient fire"),
        ("İstanbul ISTANBUL I\u0307stanbul", "istanbul istanbul istanbul"),
        ("Straße GROẞ", "STRASSE gross"),
        ("ΟΔΟΣ οδός".replace("ό", "ο"), "οδοσ ΟΔΟΣ"),
        ("CO₂ km²", "co2 km2"),
        ("co\u00adoperate", "cooperate"),
        ("كِتَابٌ كــتاب", "كتاب كتاب"),
        ("שָׁלוֹם", "שלום"),
        ("Чайко́вский", "чайковский"),
        ("Windows™ bar", "windows bar"),
    ],
)
def test_spellings_that_people_mix_give_the_same_words(text: str, same: str) -> None:
    tokens = tokenizer(None, True)
    assert tokens(text) == tokens(same)
    assert len(tokens(text)) == len(same.split())


def test_a_fraction_joins_no_number() -> None:
    assert tokenizer(None, True)("5½ miles") == ["5½", "miles"]


@pytest.mark.parametrize("word", ["မြန်မာ", "ខ្មែរ", "ລາວ", "ไทย", "𠮷野"])
def test_each_character_of_unspaced_scripts_counts(word: str) -> None:
    assert tokenizer(None, True)(word) == list(word)
