import builtins
import json
from pathlib import Path

import pytest

from rag_research.corpus.hub import Hub, HubConfig
from rag_research.errors import DataError, MissingExtraError


def test_a_missing_library_gives_its_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: object, **named: object) -> object:
        if name == "datasets":
            raise ImportError(name)
        return real(name, *rest, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r"pip install 'rag-research\[hub\]'"):
        Hub(HubConfig("owner/name")).load()


def test_reads_a_local_folder_of_the_hub_format(tmp_path: Path) -> None:
    pytest.importorskip("datasets")
    rows = {"corpus": [{"id": "a", "text": "alpha"}, {"id": "b", "text": "beta"}]}
    rows["questions"] = [{"id": "q", "question": "Which?", "answers": ["alpha"]}]
    for name, values in rows.items():
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(v) + "\n" for v in values))
    (tmp_path / "README.md").write_text(
        "---\nconfigs:\n- config_name: corpus\n  data_files: corpus.jsonl\n"
        "- config_name: questions\n  data_files: questions.jsonl\n---\n"
    )
    config = HubConfig(
        str(tmp_path),
        corpus_subset="corpus",
        questions_subset="questions",
        questions_split="train",
    )
    dataset = Hub(config).load()
    assert dataset.corpus.ids == ["a", "b"]
    assert dataset.questions[0].answers == ("alpha",)
    with pytest.raises(DataError, match="split 'nothing'"):
        Hub(HubConfig(str(tmp_path), corpus_subset="corpus", corpus_split="nothing")).load()
