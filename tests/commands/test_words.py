"""Words that scripts and commands share."""

import argparse

import pytest

from rag_research.commands import add_format, add_settings, plain_words


def test_settings_lose_their_dashes_and_options_keep_them() -> None:
    words = ["--seed=1", "limit=3", "--format", "json", "--format=latex", "NAME"]
    assert plain_words(words) == ["seed=1", "limit=3", *words[2:]]


def test_formats_are_checked() -> None:
    parser = argparse.ArgumentParser()
    add_settings(parser)
    add_format(parser)
    assert parser.parse_args(["limit=3"]).format == "text"
    assert parser.parse_args(["limit=3", "--format", "latex"]).format == "latex"
    with pytest.raises(SystemExit):
        parser.parse_args(["--format", "html"])
