"""``rag-research export``: the graph of an index for other programs."""

from __future__ import annotations

import argparse
from pathlib import Path

from rag_research.commands import Subparsers, add_settings
from rag_research.errors import ConfigError


def add_to(commands: Subparsers) -> None:
    """Add this command to the parser."""
    parser = commands.add_parser(
        "export",
        help="write the graph of an index for other programs",
        description="Write the graph of chunks, triplets and communities of a tog3 index: "
        "GraphML (Gephi, networkx), parquet tables with vectors, or CSV tables with a script "
        "that loads them into Neo4j.",
    )
    parser.add_argument("index", type=Path, help="folder that `rag-research index` wrote")
    parser.add_argument("--format", required=True, choices=("graphml", "parquet", "neo4j"))
    parser.add_argument("--out", required=True, type=Path, help="folder to write into")
    add_settings(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Open, write, name the files."""
    from rag_research.graph.heterogeneous import HeterogeneousGraph
    from rag_research.graph.heterogeneous_export import FORMATS
    from rag_research.systems.saved import open_index

    saved = open_index(arguments.index, arguments.settings)
    graph = saved.index.data.get("graph")
    if not isinstance(graph, HeterogeneousGraph):
        raise ConfigError(
            f"{arguments.index} was built for system={saved.config.system.name}, which has no "
            "graph of chunks, triplets and communities. Build one with system=tog3."
        )
    arguments.out.mkdir(parents=True, exist_ok=True)
    FORMATS[arguments.format](graph, arguments.out)
    print(
        f"{arguments.out}: {len(graph.entities):,} entities, {len(graph):,} nodes of the kinds "
        f"chunk, triplet and community, as {arguments.format}"
    )
    return 0
