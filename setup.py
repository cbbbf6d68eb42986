"""The list of packages; everything else about the package is in setup.cfg.

The top-level folders ``configs/`` and ``checkpoints/`` travel in the wheel inside
``rag_research/``.
"""

from setuptools import find_packages, setup

code = find_packages(include=["rag_research", "rag_research.*"])
setup(packages=[*code, "rag_research.configs", "rag_research.checkpoints"])
