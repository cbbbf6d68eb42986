"""Search with a FAISS index, on the GPU where FAISS has one."""

from __future__ import annotations

from typing import Any

from rag_research.embed.base import Vectors
from rag_research.errors import missing_extra
from rag_research.index.selection import Rows, Scores


def faiss_module() -> Any:
    """The ``faiss`` module.

    Raises:
        MissingExtraError: neither faiss-cpu nor faiss-gpu is installed.
    """
    try:
        import faiss
    except ImportError as error:
        raise missing_extra("faiss", "cpu", "Dense search") from error
    return faiss


class FaissSearcher:
    """Asks a FAISS index.

    Args:
        index: any FAISS index.
        threads: OpenMP threads of one search.
    """

    def __init__(self, index: Any, threads: int) -> None:
        self.index = index
        self._threads = threads

    def top(self, queries: Vectors, m: int) -> tuple[Scores, Rows]:
        """Scores and rows of the best ``m``; row -1 where the index found fewer.

        Shapes:
            [B, D] -> [B, m], [B, m]
        """
        faiss = faiss_module()

        faiss.omp_set_num_threads(self._threads)
        scores, rows = self.index.search(queries, m)
        return scores, rows


def on_device(index: Any, device: str) -> Any:
    """``index`` on ``device`` when that is a GPU and FAISS was built for GPUs, else as it is.

    Args:
        index: a FAISS index that has a GPU form.
        device: a resolved torch device string.
    """
    faiss = faiss_module()

    if device == "cpu" or not hasattr(faiss, "StandardGpuResources"):
        return index
    number = int(device.partition(":")[2] or 0)
    return faiss.index_cpu_to_gpu(faiss.StandardGpuResources(), number, index)
