"""Hydra's compose API -> plain dict -> :class:`ExperimentConfig`. Only this file knows hydra."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rag_research.config.build import build
from rag_research.config.schema import ExperimentConfig
from rag_research.errors import ConfigError, did_you_mean

_PACKAGE = Path(__file__).resolve().parents[1]


def config_folder() -> Path:
    """Where the YAML groups lie: inside the wheel, or at the top of a checkout."""
    for folder in (_PACKAGE / "configs", _PACKAGE.parent / "configs"):
        if (folder / "experiment.yaml").is_file():
            return folder
    raise ConfigError(f"No configs folder beside or inside {_PACKAGE}. Install the package again.")


def compose_dict(
    overrides: Sequence[str] = (), name: str = "experiment", folder: Path | None = None
) -> dict[str, Any]:
    """Compose YAML groups and ``key=value`` overrides into a plain mapping.

    Args:
        overrides: ``group=option`` or ``dotted.key=value``, as on a command line;
            ``ablation/SYSTEM=option`` changes what that file changes.
        name: the root YAML file.
        folder: another configs folder.

    Raises:
        ConfigError: an override that names no group, option or key.
    """
    from hydra.errors import HydraException
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    folder = (folder or config_folder()).resolve()
    try:
        plain = OmegaConf.to_container(_composed(overrides, name, folder), resolve=True)
    except (HydraException, OmegaConfBaseException) as error:
        reason = f"{' '.join(overrides)}: {str(error).partition('Config search path:')[0].strip()}"
        raise ConfigError(_misspelt(overrides, name, folder) or reason) from error
    assert isinstance(plain, dict)
    return {str(key): value for key, value in plain.items()}


def _composed(overrides: Sequence[str], name: str, folder: Path) -> Any:
    from hydra import compose, initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra

    GlobalHydra.instance().clear()
    with initialize_config_dir(str(folder), version_base="1.3"):
        return compose(name, overrides=[_addable(o) for o in overrides])


def compose_experiment(overrides: Sequence[str] = ()) -> ExperimentConfig:
    """The validated configuration of one run.

    Args:
        overrides: as for :func:`compose_dict`.
    """
    return build(ExperimentConfig, compose_dict(overrides))


def override(key: str, text: str) -> str:
    """``key=text`` as an override, quoted so that any sign may be in ``text``."""
    from hydra.core.override_parser.types import Quote, QuotedString

    return f"{key}={QuotedString(text, Quote.single).with_quotes()}"


def _misspelt(overrides: Sequence[str], name: str, folder: Path) -> str:
    """What is wrong with the first override that names no key, group or option; else empty."""
    groups = [p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_dir()]
    keys = sorted({*_composed((), name, folder), *groups})
    for override in overrides:
        key, _, option = override.lstrip("+~").partition("=")
        options = sorted(p.stem for p in (folder / key).glob("*.yaml")) if key in groups else []
        if options and option not in options and "," not in option:
            return (
                f"{key}: there is no option {option!r}.{did_you_mean(option, options)} "
                f"Known: {', '.join(options)}."
            )
        if "." not in key and key not in keys:
            return (
                f"{key}: there is no such setting.{did_you_mean(key, keys)} "
                f"Known: {', '.join(keys)}."
            )
    return ""


def _addable(override: str) -> str:
    """Let ``a.b=c`` reach keys the YAML leaves at their default; the schema checks the name.

    An ablation (``ablation/t2rag=single_round``) changes keys of the root, whether the user
    writes hydra's ``+`` or not; so its files need no package line above their first one.
    """
    key, equals, value = override.partition("=")
    if key.lstrip("+").startswith("ablation/") and "@" not in key:
        return f"+{key.lstrip('+')}@_global_{equals}{value}"
    plain_key = "=" in override and key[:1] not in "+~" and "." in key
    return f"++{override}" if plain_key else override
