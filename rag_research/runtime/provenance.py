"""Where a result came from: code, packages, machine, command line."""

from __future__ import annotations

import os
import platform
import resource
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Any

_CHECKOUT = Path(__file__).resolve().parents[2]
_PACKAGES = (
    "rag-research",
    "numpy",
    "torch",
    "transformers",
    "sentence-transformers",
    "faiss-cpu",
    "faiss-gpu",
    "bm25s",
    "spacy",
    "httpx",
    "hydra-core",
    "pytorch-lightning",
    "llama-cpp-python",
    "graspologic-native",
    "networkx",
)


def provenance() -> dict[str, Any]:
    """Date, command line, code state, package versions and machine facts, as plain values."""
    return {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "command": shlex.join(sys.argv),
        "code": code_state(),
        "packages": package_versions(),
        "machine": machine(),
    }


def code_state() -> dict[str, Any]:
    """Commit of the checkout this package runs from, and whether it has uncommitted changes.

    Both are ``None`` for an installed package; the package version then names the code.
    """
    commit = _git("rev-parse", "HEAD") if (_CHECKOUT / ".git").exists() else None
    changes = _git("status", "--porcelain") if commit else None
    return {"commit": commit, "dirty": None if changes is None else bool(changes)}


def package_versions() -> dict[str, str]:
    """Versions of the installed packages that can change results."""
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue  # an extra that is not installed
    return found


def machine() -> dict[str, Any]:
    """What the run ran on. CUDA devices are listed only when torch is already loaded."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "platform": platform.platform(),
        "python": platform.python_version(),
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0,
        "memory_gib": round(memory / 2**30, 1),
        "cuda_devices": _cuda_devices(),
    }


@dataclass(frozen=True, slots=True)
class Resources:
    """What a piece of a run took; subtract two readings of :func:`resources`.

    Args:
        wall_seconds: of a monotonic clock.
        cpu_seconds: user and system time of this process and its finished children.
    """

    wall_seconds: float
    cpu_seconds: float

    def since(self, start: Resources) -> Mapping[str, float]:
        """Seconds spent since an earlier reading."""
        return {
            "wall_seconds": round(self.wall_seconds - start.wall_seconds, 3),
            "cpu_seconds": round(self.cpu_seconds - start.cpu_seconds, 3),
        }


def resources() -> Resources:
    """Read the clocks now."""
    times = os.times()
    cpu = times.user + times.system + times.children_user + times.children_system
    return Resources(time.perf_counter(), cpu)


def peak_memory_mib() -> dict[str, float]:
    """Highest resident memory of this process so far, and of each CUDA device's tensors."""
    unit = 1 if sys.platform == "darwin" else 1024  # bytes there, KiB elsewhere
    peak = {"process": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20}
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        for index in range(torch.cuda.device_count()):
            peak[f"cuda:{index}"] = torch.cuda.max_memory_allocated(index) / 2**20
    return {name: round(value, 1) for name, value in peak.items()}


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(_CHECKOUT), *arguments],
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        for line in cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _cuda_devices() -> list[str]:
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return []
    return [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
