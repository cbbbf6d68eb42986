import json
from pathlib import Path

import pytest

from rag_research.embed.folder_settings import FolderSettings, read_folder_settings
from rag_research.errors import ConfigError


def _folder(path: Path, pooling: dict[str, object], module: str = "Pooling") -> Path:
    (path / "1_Pooling").mkdir()
    modules = [
        {"idx": 0, "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "path": "1_Pooling", "type": f"sentence_transformers.models.{module}"},
    ]
    (path / "modules.json").write_text(json.dumps(modules))
    (path / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    return path


def test_a_plain_transformers_folder_has_the_defaults(tmp_path: Path) -> None:
    assert read_folder_settings(tmp_path) == FolderSettings("mean", "", "")


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "cls"),
        ({"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}, "mean"),
        ({"pooling_mode": "cls"}, "cls"),
        ({"pooling_mode": ["mean"]}, "mean"),
    ],
)
def test_the_pooling_module_is_read(
    tmp_path: Path, config: dict[str, object], expected: str
) -> None:
    assert read_folder_settings(_folder(tmp_path, config)).pooling == expected


def test_named_prompts_become_prefixes(tmp_path: Path) -> None:
    prompts = {"prompts": {"query": "query: ", "document": "passage: "}}
    (tmp_path / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    assert read_folder_settings(tmp_path) == FolderSettings("mean", "query: ", "passage: ")


def test_a_pooling_that_is_not_covered_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="max"):
        read_folder_settings(_folder(tmp_path, {"pooling_mode_max_tokens": True}))


def test_a_module_that_is_not_covered_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Dense"):
        read_folder_settings(_folder(tmp_path, {}, module="Dense"))
