"""``rag-research doctor``: what is installed, what was found, what is still missing."""

from __future__ import annotations

import argparse
import importlib.util
import os
import platform
from collections.abc import Iterator, Mapping
from importlib import metadata
from typing import Any

from rag_research import __version__
from rag_research.commands import Subparsers, add_settings
from rag_research.config.schema import ExperimentConfig
from rag_research.embed.base import shows_tokens
from rag_research.errors import ConfigError, RagResearchError
from rag_research.registry import ENCODERS

# Extra -> the modules it brings; a test compares the names with setup.cfg.
EXTRAS: Mapping[str, tuple[str, ...]] = {
    "local": ("gguf", "accelerate"),
    "cpu": ("faiss",),
    "gpu": ("faiss",),
    "spacy": ("spacy",),
    "graph": ("torch_geometric", "scipy", "graspologic_native", "networkx"),
    "training": ("pytorch_lightning",),
    "openai": ("httpx",),
    "llamacpp": ("llama_cpp",),
    "onnx": ("onnxruntime",),
    "hub": ("datasets", "huggingface_hub"),
    "docs-formats": ("bs4", "pypdf", "docx"),
    "wandb": ("wandb",),
    "sweep": ("optuna",),
    "numba": ("numba",),
    "parquet": ("pyarrow",),
    "stemmer": ("Stemmer",),
    "dev": ("pytest", "ruff", "mypy"),
}
# System -> the parts of a configuration that it uses besides its own settings.
USES: Mapping[str, tuple[str, ...]] = {
    "closed_book": ("llm",),
    "bm25_rag": ("llm", "reranker"),
    "dense_rag": ("llm", "encoder", "dense", "reranker"),
    "hybrid_rag": ("llm", "encoder", "dense", "reranker"),
    "path_rag": ("llm", "encoder", "reranker"),
    "t2rag": ("llm", "encoder", "dense"),
    "threadrag": ("llm", "encoder", "dense"),
    "tog3": ("llm", "encoder", "dense", "reranker"),
}
# Slots inside a system that hold components of their own.
INNER = ("extractor", "segmenter", "entities")
# System or component -> the extra it needs.
NEEDS: Mapping[str, str] = {
    "flat": "cpu",
    "ivf": "cpu",
    "hnsw": "cpu",
    "rules": "spacy",
    "named_entities": "spacy",
    "threadrag": "graph",
    "tog3": "graph",
    "path_rag": "graph",
    "transformers_local": "local",
    "openai_compatible": "openai",
    "openai_embeddings": "openai",
}
_VERSIONS = ("torch", "transformers", "numpy", "bm25s", "hydra-core")


def add_to(commands: Subparsers) -> None:
    """Add this command to the parser."""
    parser = commands.add_parser(
        "doctor",
        help="show versions, devices, extras, models and what is missing",
        description="Show versions, devices, extras and models, and for every system what it "
        "still needs under the given settings. Nothing is downloaded or loaded.",
    )
    add_settings(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the report; always 0, for a missing extra need not be a fault."""
    from rag_research.config.compose import compose_experiment, config_folder

    config = compose_experiment(arguments.settings)
    print("\n".join([*versions(), *devices(config.device), *extras(), *models()]))
    print(f"\nwandb: {wandb_mode(config.logger.wandb)}")
    print("\nSystems, with the settings given")
    given = [s for s in arguments.settings if not s.startswith(("system=", "system."))]
    for option in sorted(p.stem for p in (config_folder() / "system").glob("*.yaml")):
        lacks = list(missing(compose_experiment([f"system={option}", *given])))
        print(f"  {option:14} {'ready' if not lacks else '; '.join(lacks)}")
    return 0


def versions() -> Iterator[str]:
    """Of Python, this package and what results depend on."""
    yield f"rag-research {__version__}, Python {platform.python_version()}, {platform.platform()}"
    yield ", ".join(f"{name} {_version(name)}" for name in _VERSIONS)


def devices(asked: str) -> Iterator[str]:
    """What ``device=...`` can mean here."""
    import torch

    from rag_research.runtime.devices import resolve_device

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    found = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    cuda = "; ".join(f"cuda:{i} {name}" for i, name in enumerate(found)) or "no CUDA device"
    yield f"\nDevices: cpu with {cores} cores; {cuda}"
    try:
        yield f"  device={asked} means {resolve_device(asked)}"
    except ConfigError as error:
        yield f"  {error}"
    yield f"  OMP_WAIT_POLICY={os.environ.get('OMP_WAIT_POLICY', '(not set)')}"


def extras() -> Iterator[str]:
    """Which extras are installed, and what to type for the others."""
    yield "\nExtras"
    for extra, modules in EXTRAS.items():
        lacks = [name for name in modules if not _installed(name)]
        state = f"pip install 'rag-research[{extra}]'  (no {', '.join(lacks)})"
        yield f"  {extra:13} {state if lacks else _detail(extra)}"


def models() -> Iterator[str]:
    """Catalogue models that are on this machine."""
    from rag_research.runtime.weights import cache_folder, list_models

    found = [entry.name for entry in list_models() if entry.fetched]
    yield f"\nModels in {cache_folder() / 'models'}: {', '.join(found) or 'none'}"
    yield "  rag-research models list shows what can be fetched"


def wandb_mode(setting: str) -> str:
    """What logging to wandb would do."""
    override = os.environ.get("WANDB_MODE")
    shown = f"logger.wandb={setting}" + (f", WANDB_MODE={override}" if override else "")
    return shown if _installed("wandb") else f"{shown}, not installed"


def missing(config: ExperimentConfig) -> Iterator[str]:
    """What the configured system lacks on this machine, with the way to get it."""
    used = USES.get(config.system.name, ("llm", "encoder", "dense", "reranker"))
    holders = (config.system, getattr(config.system, "graph", None))
    inner = [getattr(held, part) for held in holders for part in INNER if hasattr(held, part)]
    for component in [config.system, *(getattr(config, part) for part in used), *inner]:
        model = getattr(component, "model", None)
        extra = "onnx" if str(model).endswith("-onnx") else NEEDS.get(component.name)
        if extra and not all(_installed(name) for name in EXTRAS[extra]):
            yield f"needs pip install 'rag-research[{extra}]'"
        if model and component.name not in ("openai_compatible", "openai_embeddings"):
            yield from _missing_model(model)
    reads_tokens = hasattr(config.system, "path_selector")
    reads_tokens &= getattr(config.system, "retrieval", "paths") == "paths"
    if reads_tokens and not shows_tokens(ENCODERS.get(config.encoder.name)):
        yield f"needs an encoder that shows its tokens, not {config.encoder.name}"


def _missing_model(model: str) -> Iterator[str]:
    """Nothing for a model that is here; a hub id is not looked up, for that needs the network."""
    from rag_research.runtime.weights import list_models, resolve_model

    catalogue = {entry.name for entry in list_models()}
    if model.lower() not in catalogue and model.count("/") == 1 and not model.startswith("."):
        yield f"downloads {model} from the hub on first use, unless it is there"
        return
    try:
        resolve_model(model)
    except RagResearchError:
        yield (
            f"needs rag-research models fetch {model}"
            if model in catalogue
            else (f"finds no model {model!r}")
        )


def _detail(extra: str) -> str:
    if extra not in ("cpu", "gpu"):
        return "installed"
    import faiss

    faiss_: Any = faiss
    gpus = faiss_.get_num_gpus() if hasattr(faiss_, "get_num_gpus") else 0
    built = f"faiss {faiss_.__version__} ({faiss_.get_compile_options().strip()})"
    if extra == "gpu":
        return f"{built}, {gpus} GPUs" if gpus else "not installed: this faiss has no GPU"
    return built


def _installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "(not installed)"
