"""The words of a trial's command are those of ``wandb agent``."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from rag_research.errors import ConfigError
from rag_research.evaluation.sweeps.process import command_words
from rag_research.evaluation.sweeps.sweep_file import Sweep

PARAMETERS = {"a.b": 1e-05, "on": True, "off": False, "list": [64, 8], "text": "x", "none": None}
SWEEP = Sweep(name="s", method="grid", parameters=(), program="train.py")
MACROS = (
    "args",
    "args_no_hyphens",
    "args_no_equals",
    "args_no_boolean_flags",
    "args_json",
    "args_append_hydra",
    "args_override_hydra",
)


@pytest.mark.parametrize("macro", MACROS)
def test_arguments_are_wandbs(macro: str, tmp_path: Path) -> None:
    utils = pytest.importorskip("wandb.sdk.launch.sweeps.utils")
    asked = {"args": {name: {"value": value} for name, value in PARAMETERS.items()}}
    theirs = utils.create_sweep_command_args(asked)[macro]
    sweep = replace(SWEEP, command=[f"${{{macro}}}"])
    assert command_words(sweep, PARAMETERS, tmp_path) == theirs


def test_the_other_macros(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLACE", "here")
    words = ["${env}", "${interpreter}", "${program}", "--at=${envvar:PLACE}", "${args_json_file}"]
    found = command_words(replace(SWEEP, command=words), {}, tmp_path)
    file = str(tmp_path / "parameters.json")
    assert found == ["/usr/bin/env", sys.executable, "train.py", "--at=here", file]


def test_an_unknown_macro_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no macro \$\{arg\}"):
        command_words(replace(SWEEP, command=["${arg}"]), {}, tmp_path)
