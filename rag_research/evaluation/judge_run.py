"""Judge finished runs: load, compare answers in both orders, rate, write.

The directory of a judgement holds ``verdicts.jsonl``, ``judge.md``, ``judge.json`` and, under
``verdicts/``, the log of finished verdicts that lets the same command go on after a kill.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rag_research.config.build import build, to_dict
from rag_research.config.compose import compose_dict
from rag_research.config.fingerprint import fingerprint
from rag_research.errors import ConfigError, did_you_mean
from rag_research.evaluation.contestants import Contestant, Match, load_contestants, matches
from rag_research.evaluation.dry_run import CountingLLM, Estimate
from rag_research.evaluation.judge import CRITERIA, PROMPT, Presentation, Verdicts, ask_judge
from rag_research.evaluation.judge_config import JudgeConfig
from rag_research.evaluation.judge_report import Judgement
from rag_research.evaluation.judge_scores import judged, position_bias, score_cube
from rag_research.evaluation.ratings import rate
from rag_research.llm.base import LLM
from rag_research.prompts.library import PromptLibrary
from rag_research.runtime.artifacts import ArtifactStore, ItemLog
from rag_research.runtime.provenance import provenance
from rag_research.systems.assemble import OnDemandLLM, wrapped

STAGE = "verdicts"
VERSION = 1


def run_command(words: Sequence[str]) -> int:
    """Judge the runs that ``words`` name, and print the tables or, for a dry run, the costs.

    Args:
        words: directories of finished runs and ``key=value`` settings, in any order; a word
            with ``=`` is a setting unless there is a directory of that name.

    Returns:
        0, or 1 if a pair could not be judged or the budget ran out.

    Raises:
        RagResearchError: the settings, the runs or the judge cannot be used.
    """
    # Path.is_dir raises for a setting that is longer than a file name may be.
    settings = [word for word in words if "=" in word and not os.path.isdir(word)]  # noqa: PTH112
    runs = [word for word in words if word not in settings]
    config = build(JudgeConfig, compose_dict(settings, "judge"))
    contestants = load_contestants(runs)
    if config.run.dry_run:
        print(estimate_judge(contestants, config))
        return 0
    judgement = judge(contestants, config)
    print(judgement)
    return int(judgement.partial or judgement.counts["unjudged"] > 0)


def judge(
    contestants: Sequence[Contestant], config: JudgeConfig, llm: LLM | None = None
) -> Judgement:
    """Compare runs in pairs and write the files of the judgement.

    Args:
        contestants: from :func:`~rag_research.evaluation.contestants.load_contestants`.
        config: judge and settings.
        llm: the judge, if it is there already; else made from the settings, with cache and
            budget around it.

    Raises:
        RagResearchError: the settings or the judge cannot be used. A reply that cannot be
            parsed or a call that fails does not raise; it is counted.
    """
    reference = _reference(contestants, config)
    played = matches(contestants, config.limit)
    if llm is None:
        store = ArtifactStore(config.run.store) if config.run.cache else None
        llm = wrapped(OnDemandLLM(config.llm), config.budget, store)[0]
    prompts = PromptLibrary(config.prompts)
    directory = judgement_directory(config, played)
    inputs = {
        "llm": config.llm,
        "llm_identity": dict(llm.identity),
        "prompts": {name: prompts[name].fingerprint for name in (PROMPT, "repair")},
    }
    log = ArtifactStore(directory).items(STAGE, VERSION, inputs)
    shown = presentations(played)
    verdicts = ask_judge(shown, log, llm, prompts, config.run.concurrency)
    outcomes = judged(played, verdicts.given)
    size, samples = len(contestants), config.bootstrap_samples
    cubes = {name: score_cube(outcomes, name, size) for name in CRITERIA}
    number = [c.name for c in contestants].index(reference)
    unjudged = sum(outcome.scores is None for outcome in outcomes)
    judgement = Judgement(
        systems=tuple(c.name for c in contestants),
        reference=reference,
        questions=len({match.id for match in played}),
        matches=len(played),
        counts={
            "judged": len(outcomes) - unjudged,
            "unjudged": unjudged,
            "forfeits": sum(outcome.forfeited for outcome in outcomes),
            "shown": len(shown),
            **_counts(verdicts),
        },
        partial=verdicts.budget_error is not None,
        ratings={n: rate(cube, number, samples, config.seed) for n, cube in cubes.items()},
        bias={name: position_bias(outcomes, name) for name in CRITERIA},
        usage=verdicts.usage,
        provenance={**provenance(), **_facts(contestants, config, inputs, verdicts)},
        directory=directory,
    )
    judgement.save(outcomes)
    return judgement


def estimate_judge(contestants: Sequence[Contestant], config: JudgeConfig) -> str:
    """What judging would cost, from the real prompts; nothing is sent, no verdict is reused."""
    played = matches(contestants, config.limit)
    shown = presentations(played)
    counter = CountingLLM()
    with tempfile.TemporaryDirectory() as folder:
        log = ItemLog(Path(folder) / "log.jsonl")
        ask_judge(shown, log, counter, PromptLibrary(config.prompts))
    questions = len({match.id for match in played})
    local = config.llm.name != "openai_compatible"
    cost = Estimate("judge", {}, counter.usage, 0, questions, config.budget, local)
    head = (
        f"Dry run of the judge: {len(contestants)} runs, {questions} questions, {len(played)} "
        f"pairs of answers, {len(shown)} presentations. Nothing was sent."
    )
    return "\n".join([head, *cost.costs()])


def presentations(played: Sequence[Match]) -> dict[str, Presentation]:
    """Everything to show, by key; equal presentations once."""
    pairs = [match.presentations for match in played]
    return {shown.key: shown for pair in pairs if pair is not None for shown in pair}


def judgement_directory(config: JudgeConfig, played: Sequence[Match]) -> Path:
    """``run.out``, or ``runs/judge-<fingerprint>`` of settings, questions and answers."""
    if config.run.out is not None:
        return Path(config.run.out)
    answers = [[match.question, *match.answers] for match in played]
    return Path("runs") / f"judge-{fingerprint(config, answers)}"


def _reference(contestants: Sequence[Contestant], config: JudgeConfig) -> str:
    names = [contestant.name for contestant in contestants]
    if config.reference is None:
        return names[0]
    if config.reference not in names:
        raise ConfigError(
            f"reference: there is no run named {config.reference!r}."
            f"{did_you_mean(config.reference, names)} The runs are {', '.join(names)}."
        )
    return config.reference


def _counts(verdicts: Verdicts) -> dict[str, int]:
    return {
        "unparsed": len(verdicts.unparsed),
        "failed": len(verdicts.failed),
        "repaired": verdicts.repaired,
        "reused": verdicts.reused,
    }


def _facts(
    contestants: Sequence[Contestant],
    config: JudgeConfig,
    inputs: Mapping[str, Any],
    verdicts: Verdicts,
) -> dict[str, Any]:
    budget_error = verdicts.budget_error
    return {
        "config": to_dict(config),
        "judge": inputs["llm_identity"],
        "prompts": inputs["prompts"],
        "runs": [
            {
                "name": contestant.name,
                "directory": str(contestant.results.directory),
                "system": contestant.results.system,
                "dataset": contestant.results.dataset,
                "fingerprint": contestant.results.fingerprint,
            }
            for contestant in contestants
        ],
        "first_errors": list({**verdicts.unparsed, **verdicts.failed}.values())[:5],
        "budget_error": str(budget_error) if budget_error else None,
    }
