"""The list of packages; everything else about the package is in setup.cfg.

The top-level folder ``configs/`` travels in the wheel as ``rag_research/configs``.
"""

from setuptools import find_packages, setup

setup(packages=[*find_packages(include=["rag_research", "rag_research.*"]), "rag_research.configs"])
