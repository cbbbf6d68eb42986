"""Answer metrics, one file each; a file registers its function under the file's name."""

from rag_research.evaluation.metrics.metric import Column, Metric, columns, register_metric

__all__ = ["Column", "Metric", "columns", "register_metric"]
