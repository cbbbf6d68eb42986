"""From a command line to an ablation study: every ablation of one system, run or loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rag_research.config.compose import compose_experiment, config_folder
from rag_research.config.fingerprint import fingerprint
from rag_research.config.schema import ExperimentConfig
from rag_research.corpus.dataset import Dataset
from rag_research.errors import ConfigError
from rag_research.evaluation.ablation import FULL, AblationStudy
from rag_research.evaluation.choices import check_known, split_choices
from rag_research.evaluation.dry_run import estimate
from rag_research.evaluation.results import Results
from rag_research.evaluation.runner import run_directory
from rag_research.evaluation.series import load_dataset, run_series


@dataclass(frozen=True, slots=True)
class Plan:
    """What an ablation will run.

    Args:
        system: option of the group ``system``.
        configs: run -> configuration, the full system first.
        questions: ablation -> the first line of its file.
        unchanged: ablations that change nothing about this system.
        chosen: the ablations asked for, where not all of them are.
    """

    system: str
    configs: Mapping[str, ExperimentConfig]
    questions: Mapping[str, str]
    unchanged: Sequence[str]
    chosen: Sequence[str]


def run_command(words: Sequence[str], form: str = "text") -> int:
    """Run what ``words`` ask for and print the study or, for a dry run, the estimates.

    If a run ends in an error, the study of the runs before it is printed first.

    Args:
        words: ``key=value`` settings of the full system; ``ablations=[a,b]`` chooses some.
        form: ``text``, ``markdown``, ``latex`` or ``json``.

    Returns:
        0, or 1 if a question failed or the budget ran out.

    Raises:
        RagResearchError: the settings or a run cannot be used.
    """
    plan = make_plan(words)
    full = plan.configs[FULL]
    if full.run.dry_run:
        costs = ((name, estimate(config)) for name, config in plan.configs.items())
        print("\n\n".join(f"{name}\n{cost}" for name, cost in costs))
        return 0
    dataset = load_dataset(full)
    directory = study_directory(plan, dataset)
    configs = {name: placed(config, directory, name) for name, config in plan.configs.items()}
    results: list[Results] = []
    try:
        results.extend(run_series(configs, dataset))
    finally:
        if results:
            study = AblationStudy(
                system=plan.system,
                dataset=dataset.name,
                results=results,
                questions=plan.questions,
                unchanged=plan.unchanged,
                samples=full.evaluation.bootstrap_samples,
                directory=directory,
                chosen=plan.chosen,
            )
            study.save()
            print(study.show(form))
    return int(any(run.failed or run.partial for run in results))


def make_plan(words: Sequence[str]) -> Plan:
    """The configurations of a study.

    Args:
        words: as for :func:`run_command`.

    Raises:
        ConfigError: the system has no ablations, one chosen is unknown, or a setting is wrong.
    """
    chosen, settings = split_choices(words, ["ablations"])
    full = compose_experiment(settings)
    option, files = ablation_files(settings, full)
    check_known("ablations", chosen["ablations"], files)
    names = list(dict.fromkeys(chosen["ablations"] or files))
    some = names if set(names) < set(files) else []
    configs, questions, unchanged = {FULL: full}, {}, []
    for name in names:
        config = compose_experiment([*settings, f"ablation/{files[name].parent.name}={name}"])
        if fingerprint(config) == fingerprint(full):
            unchanged.append(name)
            continue
        first = files[name].read_text(encoding="utf-8").partition("\n")[0]
        configs[name], questions[name] = config, first.lstrip("# ").strip()
    return Plan(option, configs, questions, unchanged, some)


def ablation_files(
    settings: Sequence[str], full: ExperimentConfig
) -> tuple[str, Mapping[str, Path]]:
    """The option chosen for ``system`` and its ablations by name.

    An option without ablations of its own has those of the system it configures.

    Raises:
        ConfigError: there are none.
    """
    options = [s.removeprefix("system=") for s in settings if s.startswith("system=")]
    option = options[-1] if options else str(full.system.name)
    folder = config_folder() / "ablation"
    for name in (option, str(full.system.name)):
        files = {path.stem: path for path in sorted((folder / name).glob("*.yaml"))}
        if files:
            return option, files
    known = sorted(path.name for path in folder.iterdir() if path.is_dir())
    raise ConfigError(
        f"system: there are no ablations of {option!r}. Known: {', '.join(known)}. "
        f"Put YAML files into {folder / option}."
    )


def study_directory(plan: Plan, dataset: Dataset) -> Path:
    """``run.out``, or ``runs/ablate-<system>-<dataset>-<fingerprint of the full system>``."""
    full = plan.configs[FULL]
    if full.run.out is not None:
        return Path(full.run.out)
    own = run_directory(full, dataset)
    return own.with_name(f"ablate-{plan.system}-{dataset.name}-{fingerprint(full)}")


def placed(config: ExperimentConfig, directory: Path, name: str) -> ExperimentConfig:
    """``config`` with its own folder below ``directory``, and the runs as one wandb group."""
    logger = config.logger
    return replace(
        config,
        run=replace(config.run, out=str(directory / name)),
        logger=replace(logger, group=logger.group or directory.name),
    )
