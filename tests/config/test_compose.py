"""Every YAML file composes, builds, and says what it is for."""

import re
from pathlib import Path

import pytest
import yaml

from rag_research.config import build, fingerprint
from rag_research.config.compose import compose_dict, compose_experiment, config_folder
from rag_research.config.schema import ExperimentConfig
from rag_research.errors import ConfigError
from rag_research.registry import (
    DATASETS,
    DENSE_INDEXES,
    ENCODERS,
    LLMS,
    RERANKERS,
    SYSTEMS,
    Registry,
)

FOLDER = config_folder()
GROUPS: dict[str, Registry[object]] = {
    "system": SYSTEMS,
    "dataset": DATASETS,
    "llm": LLMS,
    "encoder": ENCODERS,
    "dense": DENSE_INDEXES,
    "reranker": RERANKERS,
}
# What a user must say when choosing the option: only they know where their files are.
REQUIRED = {
    "dataset/jsonl": ["dataset.path=somewhere"],
    "dataset/folder": ["dataset.path=somewhere"],
    "dataset/hotpotqa_official": ["dataset.path=somewhere"],
    "dataset/two_wiki_official": ["dataset.path=somewhere"],
    "dataset/musique_official": ["dataset.path=somewhere"],
    "dataset/popqa": ["dataset.questions=some.tsv", "dataset.corpus=some.jsonl"],
    "dataset/hipporag": ["dataset.corpus=some.json"],
    "dataset/hub": ["dataset.path=somewhere"],
    "dataset/ultradomain": ["dataset.path=somewhere"],
    "llm/openai_compatible": ["llm.model=a-model"],
    "encoder/openai_embeddings": ["encoder.model=a-model"],
}
OPTIONS = [
    (group, path.stem) for group in GROUPS for path in sorted((FOLDER / group).glob("*.yaml"))
]
ABLATIONS = sorted((FOLDER / "ablation").rglob("*.yaml"))
EXPERIMENTS = sorted((FOLDER / "experiment").glob("*.yaml"))


@pytest.mark.parametrize(("group", "option"), OPTIONS)
def test_every_option_builds(group: str, option: str) -> None:
    overrides = [f"{group}={option}", *REQUIRED.get(f"{group}/{option}", [])]
    config = compose_experiment(overrides)
    assert getattr(config, group).name in GROUPS[group]
    assert build(ExperimentConfig, compose_dict(overrides)) == config


@pytest.mark.parametrize("group", GROUPS)
def test_every_registered_component_has_an_option(group: str) -> None:
    files = (FOLDER / group).glob("*.yaml")
    named = {yaml.safe_load(path.read_text(encoding="utf-8"))["name"] for path in files}
    assert named == set(GROUPS[group])


@pytest.mark.parametrize("choice", sorted(REQUIRED))
def test_what_only_the_user_knows_is_asked_for(choice: str) -> None:
    group, option = choice.split("/")
    keys = "|".join(re.escape(setting.partition("=")[0]) for setting in REQUIRED[choice])
    with pytest.raises(ConfigError, match=rf"^({keys}): .* needs this key"):
        compose_experiment([f"{group}={option}"])


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda p: p.stem)
def test_every_experiment_builds(path: Path) -> None:
    assert compose_experiment([f"experiment={path.stem}"]) != compose_experiment()


@pytest.mark.parametrize("path", ABLATIONS, ids=lambda p: p.stem)
def test_every_ablation_asks_a_question_and_changes_one_thing(path: Path) -> None:
    first = path.read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith("# ")
    assert first.endswith("?")
    system = path.parent.name
    # The reverse of llm_extractor is the default: compare it with the rules instead.
    base = f"system={system}_rules" if path.stem == "llm_extractor" else f"system={system}"
    ablated = compose_experiment([base, f"ablation/{system}={path.stem}"])
    assert ablated == compose_experiment([base, f"+ablation/{system}={path.stem}"])
    plain = compose_experiment([base])
    assert fingerprint(ablated) != fingerprint(plain)
    changed = [
        f for f in plain.system.__dataclass_fields__
        if getattr(plain.system, f) != getattr(ablated.system, f)
    ]  # fmt: skip
    assert len(changed) == 1
    assert fingerprint(ablated.dataset, ablated.llm) == fingerprint(plain.dataset, plain.llm)


def test_the_root_states_the_defaults_of_the_schema() -> None:
    composed = compose_experiment()
    rest = {"system", "dataset", "llm", "encoder"}
    slots = {name: {"name": getattr(composed, name).name} for name in ("dense", "reranker")}
    given = {name: compose_dict()[name] for name in rest}
    assert composed == build(ExperimentConfig, {**given, **slots})


def test_device_and_threads_reach_the_models() -> None:
    config = compose_experiment(["device=cpu", "threads=2"])
    assert (config.llm.device, config.llm.threads) == ("cpu", 2)
    assert (config.encoder.device, config.encoder.threads) == ("cpu", 2)


def test_overrides_reach_keys_the_yaml_leaves_out() -> None:
    config = compose_experiment(["system=dense_rag", "system.k=3", "run.cache=false"])
    assert config.system.k == 3
    assert config.run.cache is False


def test_a_slot_inside_a_system_takes_a_name() -> None:
    assert compose_experiment(["system.extractor=rules"]).system.extractor.name == "rules"


def test_the_data_root_is_an_environment_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAG_RESEARCH_DATA", raising=False)
    assert compose_experiment(["dataset=2wiki"]).dataset.path == "data/2wiki"
    monkeypatch.setenv("RAG_RESEARCH_DATA", "/elsewhere")
    assert compose_experiment(["dataset=2wiki"]).dataset.path == "/elsewhere/2wiki"


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("limt=3", r"^limt: there is no such setting. Did you mean 'limit'\?"),
        ("sytem=t2rag", r"^sytem: .* Did you mean 'system'\?"),
        ("system=t2rg", r"^system: there is no option 't2rg'. Did you mean 't2rag'\?"),
        ("+ablation/t2rag=single_rond", r"^ablation/t2rag: .* Did you mean 'single_round'\?"),
        ("system.roundz=2", r"^system.roundz: T2RAGConfig has no field .* mean 'rounds'\?"),
        ("run.concurency=2", r"^run.concurency: .* mean 'concurrency'\?"),
        ("system.rounds=many", r"^system.rounds: expected int, got 'many'"),
        ("system.rounds=0", r"^system: rounds=0"),
        ("system.k=[1", r"^system.k=\[1: "),
        ("limit", r"^limit: "),
    ],
)
def test_mistakes_name_the_setting_and_suggest_another(override: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        compose_experiment([override])


@pytest.mark.parametrize(
    ("name", "words", "message"),
    [
        ("selector", "out=runs/a trainer=debgu", r"^trainer: .* Did you mean 'debug'\?"),
        ("boundary", "mode=light outt=a", r"^outt: there is no such setting. Did you mean 'out'\?"),
        ("retrieval", "selectors=[a] dataset=nope", r"^dataset: there is no option 'nope'"),
        ("segmentation", "span_words=40 modle=x", r"^modle: .* Did you mean 'model'\?"),
    ],
)
def test_every_root_knows_its_own_settings(name: str, words: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        compose_dict(words.split(), name)
