"""The Lightning loop of the boundary network against a plain torch loop, same batches.

Both train the same network on the same random rows, in turns; CPU time, best of the rounds.

    OMP_WAIT_POLICY=passive python benchmarks/lightning_loop.py --batches 40
"""

from __future__ import annotations

import argparse
import logging
import time
import warnings

import numpy as np
import pytorch_lightning as pl
import torch
from torch.utils.data import DataLoader

from rag_research.models.boundary_mlp import BoundaryMLP
from rag_research.models.losses import weighted_bce
from rag_research.training.boundary_config import BoundaryLossConfig
from rag_research.training.boundary_data import RowBatches
from rag_research.training.boundary_module import BoundaryModule
from rag_research.training.boundary_rows import Rows
from rag_research.training.trainer_config import OptimiserConfig


def random_rows(count: int, features: int) -> Rows:
    """Rows of noise, three in a hundred positive."""
    generator = np.random.default_rng(0)
    values = generator.normal(size=(count, features)).astype(np.float16)
    targets = (generator.random(count) < 0.03).astype(np.float32)
    return Rows(values, targets, np.ones(count, dtype=np.float32))


def plain(rows: Rows, size: int, epochs: int) -> float:
    """CPU seconds of a loop written by hand."""
    network = BoundaryMLP(rows.features.shape[1])
    optimiser = torch.optim.AdamW(network.parameters(), lr=1e-3, weight_decay=0.05)
    batches = RowBatches(rows, size, 0)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, 1e-3, total_steps=epochs * len(batches) + 1
    )
    network.train()
    started = time.process_time()
    for epoch in range(epochs):
        batches.epoch = epoch
        for features, targets, weights in batches:
            each = weighted_bce(network(features.float()), targets, 5.0, 0.02, "none")
            loss = (each * weights).sum() / weights.sum()
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimiser.step()
            schedule.step()
    return time.process_time() - started


def lightning(rows: Rows, size: int, epochs: int) -> float:
    """CPU seconds of the same in the module of the package."""
    network = BoundaryMLP(rows.features.shape[1])
    module = BoundaryModule(network, BoundaryLossConfig(), OptimiserConfig(), 5.0)
    trainer = pl.Trainer(
        max_epochs=epochs,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        gradient_clip_val=1.0,
    )
    loader = DataLoader(RowBatches(rows, size, 0), batch_size=None)
    started = time.process_time()
    trainer.fit(module, loader)
    return time.process_time() - started


def main() -> None:
    """Parse the command line and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=4096)
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--features", type=int, default=688)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    torch.set_num_threads(1)
    rows = random_rows(arguments.batch * arguments.batches, arguments.features)
    best = {"plain": float("inf"), "lightning": float("inf")}
    for _ in range(arguments.rounds):
        for name, run in (("plain", plain), ("lightning", lightning)):
            best[name] = min(best[name], run(rows, arguments.batch, arguments.epochs))
    count = len(rows.targets) * arguments.epochs
    for name, seconds in best.items():
        print(f"{name:10} {count / seconds / 1e3:8.1f} thousand token pairs a CPU second")
    print(f"ratio {best['plain'] / best['lightning']:.3f} of the plain loop's speed")


if __name__ == "__main__":
    main()
