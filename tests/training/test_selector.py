"""Training of the path selector as a user runs it: debug, training, resume, two processes."""

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("pytorch_lightning")

import torch
from pytorch_lightning.callbacks import Callback

from rag_research.config.build import build
from rag_research.config.compose import compose_dict
from rag_research.graph.path_data import network_input
from rag_research.graph.selector_checkpoint import load_selector
from rag_research.training.selector_config import SelectorTrainingConfig
from rag_research.training.selector_data import GraphBatches
from rag_research.training.selector_module import MONITOR, dropped, question_figures
from rag_research.training.selector_run import selector_parts
from rag_research.training.trainers import fit, make_trainer


@pytest.fixture(scope="module")
def command(training_script: Callable[[str], ModuleType]) -> ModuleType:
    return training_script("selector")


def _config(words: list[str]) -> SelectorTrainingConfig:
    return build(SelectorTrainingConfig, compose_dict(words, name="selector"))


def test_a_trained_selector_finds_the_chains(
    command: ModuleType, selector_settings: list[str], multihop_file: Path, tmp_path: Path
) -> None:
    words = [*selector_settings, "trainer.epochs=20", "trainer.patience=20"]
    words.append("optimiser.learning_rate=5e-3")
    _, before = _untrained(selector_settings)
    assert command.main(words) == 0
    path = tmp_path / "run" / "selector.safetensors"
    card = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    found = card["validation"]["large"]
    assert found["recall_at_5"] > before["large"]["recall_at_5"] + 10
    assert found["questions"] == 7 and card["validation"]["small"]["questions"] == 2
    assert len(card["data"]["files"][multihop_file.name]) == 64
    told = card["data"]["datasets"]["large"]
    assert told["training"] == 29 and told["gold"] >= 72
    assert told["pairs"] > 0 and 0 < told["untitled"] <= 29
    assert told["training_graphs"] <= 29 + told["pairs"] + told["untitled"]
    assert card["encoder"]["model"] == "hashing"
    assert card["command"] and card["code"] and card["packages"]["torch"]
    assert not any(str(tmp_path) in text for text in (json.dumps(card["config"]),))
    checkpoint = load_selector(str(path))
    assert checkpoint.candidates == _config(words).candidates
    rows = (tmp_path / "run" / "csv" / "version_0" / "metrics.csv").read_text(encoding="utf-8")
    for name in ("val/large/recall_at_5", "val/small/full_chain_at_5", MONITOR, "train/next_hop"):
        assert name in rows.splitlines()[0].split(",")


def _untrained(words: list[str]) -> tuple[Any, dict[str, dict[str, float]]]:
    from rag_research.training.selector_run import validate

    module, data = selector_parts(_config(words))
    return module, validate(module.network.eval(), data)


def test_pairs_are_made_of_training_questions(
    selector_settings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from rag_research.training import selector_datasets
    from rag_research.training.selector_questions import read_questions, split_questions

    joined: set[str] = set()
    real = selector_datasets.question_pairs

    def spy(questions: Any, share: float, seed: int) -> Any:
        joined.update(q.id for q in questions)
        return real(questions, share, seed)

    monkeypatch.setattr(selector_datasets, "question_pairs", spy)
    config = _config([*selector_settings, "data.pairs=1.0", "data.limit=30"])
    _, data = selector_parts(config)
    questions = read_questions(Path(config.data.questions))
    train, held = split_questions(questions, config.data.validation, config.seed, 30)
    assert joined == {q.id for q in train} and not joined & {q.id for q in held}
    pairs = sum(part.pairs for part in data.datasets.values())
    assert pairs > 5
    assert len(data.train_dataloader().dataset.graphs) > 30  # type: ignore[attr-defined]
    alone = ["data.pairs=0", "data.untitled=0", "data.limit=30"]
    _, without = selector_parts(_config([*selector_settings, *alone]))
    assert all(
        not part.pairs and not part.untitled and len(part.train) <= part.train_questions
        for part in without.datasets.values()
    )


def test_copies_without_titles_are_of_training_questions(selector_settings: list[str]) -> None:
    words = [*selector_settings, "data.pairs=0", "data.limit=30"]
    _, none = selector_parts(_config([*words, "data.untitled=0"]))
    _, all_of_them = selector_parts(_config([*words, "data.untitled=1"]))
    for name, part in all_of_them.datasets.items():
        titled = none.datasets[name]
        assert part.untitled == part.train_questions == titled.train_questions
        assert part.missed == titled.missed and part.gold == titled.gold
        assert len(part.validation) == len(titled.validation)
        copies = part.train[len(titled.train) :]
        assert copies
        for graph, other in zip(copies, titled.train, strict=False):
            assert not torch.equal(graph.x[:1], other.x[:1])  # texts without their title lines
        assert any(graph.sentence_y.any() for graph in copies) == any(
            graph.sentence_y.any() for graph in titled.train
        )


class _Stop(Callback):
    def __init__(self, after: int) -> None:
        self.after = after

    def on_validation_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        if trainer.current_epoch + 1 >= self.after:
            trainer.should_stop = True


def test_a_resumed_run_is_the_run_it_continues(
    selector_settings: list[str], tmp_path: Path
) -> None:
    config = _config([*selector_settings, "trainer.epochs=4"])

    def train(folder: str, stop: int, resume: Path | None = None) -> dict[str, torch.Tensor]:
        module, data = selector_parts(config)
        trainer = make_trainer(config.trainer, tmp_path / folder, MONITOR)
        if stop < 4:
            trainer.callbacks.append(_Stop(stop))  # type: ignore[attr-defined]
        trainer.fit(module, data, ckpt_path=resume, weights_only=True)
        assert trainer.current_epoch == stop
        return dict(module.network.state_dict())

    whole = train("whole", 4)
    half = train("half", 2)
    resumed = train("half", 4, tmp_path / "half" / "last.ckpt")
    assert not torch.equal(whole["node.0.weight"], half["node.0.weight"])
    assert all(torch.equal(value, resumed[name]) for name, value in whole.items())


def test_the_last_epoch_can_be_kept(selector_settings: list[str], tmp_path: Path) -> None:
    config = _config([*selector_settings, "trainer.keep=last"])
    module, data = selector_parts(config)
    assert fit(module, data, config.trainer, Path(config.out), MONITOR)
    kept = torch.load(Path(config.out) / "last.ckpt", weights_only=True)
    assert kept["epoch"] == 1
    state = module.state_dict()
    assert all(torch.equal(value, state[name]) for name, value in kept["state_dict"].items())


def test_without_validation_the_last_epoch_is_kept(
    command: ModuleType,
    selector_settings: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = [*selector_settings, "data.validation=0"]
    assert command.main(words) == 2
    assert "trainer.keep=last" in capsys.readouterr().err
    assert command.main([*words, "trainer.keep=last"]) == 0
    assert load_selector(str(tmp_path / "run" / "selector.safetensors"))


def test_every_loss_can_be_switched_off(selector_settings: list[str], tmp_path: Path) -> None:
    names = ("listwise", "adversarial_bce", "full_chain", "next_hop", "sentences")
    module, data = selector_parts(_config(selector_settings))
    batch = next(iter(data.train_dataloader()))
    graphs = network_input(batch)
    with torch.inference_mode():
        found = module.losses(batch, graphs, module.network(graphs))
    assert tuple(found) == names
    assert all(value.isfinite() and value > 0 for value in found.values())
    for name in names:
        alone = [f"loss.{other}={float(other == name)}" for other in names]
        config = _config([*selector_settings, *alone, "trainer.epochs=1"])
        module, data = selector_parts(config)
        assert list(module.losses(batch, graphs, module.network(graphs))) == [name]
        before = {k: v.clone() for k, v in module.network.state_dict().items()}
        assert fit(module, data, config.trainer, tmp_path / name, MONITOR)
        after = module.network.state_dict()
        assert all(value.isfinite().all() for value in module.network.parameters())
        assert not torch.equal(before["transition.2.weight"], after["transition.2.weight"])


def test_features_that_are_off_have_no_influence(selector_settings: list[str]) -> None:
    from rag_research.training.selector_config import FEATURE_GROUPS

    off = "data.off=[node.tokens,edge.bridge,edge.shared,sentence.cosine]"
    module, data = selector_parts(_config([*selector_settings, off]))
    with torch.no_grad():  # zero-initialised layers would hide any influence
        for parameter in module.network.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    network = module.network.eval()
    graphs = network_input(next(iter(data.train_dataloader())))

    def columns(kind: str, *groups: str) -> list[int]:
        names = [group for group, own in FEATURE_GROUPS[kind].items() for _ in own]
        return [place for place, name in enumerate(names) if name in groups]

    def moved(kind: str, values: torch.Tensor, places: list[int]) -> Any:
        changed = values.clone()
        changed[:, places] += 3.0
        return network(graphs._replace(**{kind: changed}))

    with torch.inference_mode():
        plain = network(graphs)
        for kind, values, place in (
            ("nodes", graphs.nodes, columns("node", "tokens")),
            ("edges", graphs.edges, columns("edge", "bridge", "shared")),
            ("sentences", graphs.sentences, columns("sentence", "cosine")),
        ):
            assert place
            blind = moved(kind, values, place)
            assert torch.equal(blind.passages, plain.passages)
            assert torch.equal(blind.sentences, plain.sentences)
        seen = moved("nodes", graphs.nodes, columns("node", "dense"))
        assert not torch.allclose(seen.passages, plain.passages)


def test_a_data_set_left_out_is_not_touched(
    command: ModuleType, selector_settings: list[str], tmp_path: Path
) -> None:
    words = [*selector_settings, "data.leave_out=[small]", "trainer.epochs=1"]
    assert command.main(words) == 0
    card = json.loads((tmp_path / "run" / "selector.json").read_text(encoding="utf-8"))
    assert list(card["data"]["datasets"]) == list(card["validation"]) == ["large"]
    assert card["data"]["left_out"] == ["small"]


def test_a_small_data_set_counts_by_its_root() -> None:
    graphs: Any = [[("a", n) for n in range(90)], [("b", n) for n in range(10)]]
    batches = GraphBatches(graphs, [0.75, 0.25], 8, seed=3)  # roots 9.5 and 3.2 of 12.6
    order = batches._order().tolist()
    drawn = [batches.graphs[row] for row in order]
    assert len(order) == 100 and len(set(drawn)) == 85
    counts = [drawn.count(("b", n)) for n in range(10)]  # type: ignore[comparison-overlap]
    assert sum(counts) == 25 and set(counts) == {2, 3}
    assert batches._order().tolist() == order
    batches.epoch = 1
    assert batches._order().tolist() != order
    whole = GraphBatches(graphs, [0.75, 0.25], 8, seed=None)
    assert whole._order().tolist() == list(range(100)) and len(whole) == 13


def test_missed_gold_passages_count() -> None:
    from torch_geometric.data import Batch, Data

    def graph(gold: list[float], missed: int) -> Data:
        y = torch.tensor(gold)
        return Data(x=torch.zeros(len(gold), 1), y=y, missed=torch.tensor([missed]))

    batch = Batch.from_data_list([graph([1, 0, 0, 0, 0, 0, 1], 0), graph([0, 1, 0], 1)])
    logits = torch.tensor([9.0, 8, 7, 6, 5, 4, 3, 0, 5, 1])
    first, second = question_figures(logits, batch)
    assert first == {
        "recall_at_2": 0.5,
        "recall_at_5": 0.5,
        "full_chain_at_5": 0.0,
        "candidates": 1.0,
    }
    assert second == {
        "recall_at_2": 0.5,
        "recall_at_5": 0.5,
        "full_chain_at_5": 0.0,
        "candidates": 0.5,
    }


def test_dropout_of_edges_and_seeds(selector_settings: list[str]) -> None:
    _, data = selector_parts(_config(selector_settings))
    graphs = network_input(next(iter(data.train_dataloader())))
    torch.manual_seed(0)
    fewer = dropped(graphs, 0.5, 0.0)
    share = fewer.edge_index.shape[1] / graphs.edge_index.shape[1]
    assert 0.4 < share < 0.6 and len(fewer.edges) == len(fewer.weight) == fewer.edge_index.shape[1]
    pairs = {tuple(pair) for pair in fewer.edge_index.T.tolist()}
    assert pairs == {(b, a) for a, b in pairs}
    flat = dropped(graphs, 0.0, 1.0).prior
    sums = torch.zeros(int(graphs.graph[-1]) + 1).index_add(0, graphs.graph, flat)
    assert torch.allclose(sums, torch.ones_like(sums))
    assert all(len(flat[graphs.graph == n].unique()) == 1 for n in range(len(sums)))
    assert dropped(graphs, 0.0, 0.0) is graphs


def test_the_prior_and_edges_survive_without_dropout_settings(selector_settings: list[str]) -> None:
    """Validation never drops anything: the same network gives the same figures twice."""
    from rag_research.training.selector_run import validate

    module, data = selector_parts(_config([*selector_settings, "data.seed_dropout=0.9"]))
    network = module.network.eval()
    assert validate(network, data) == validate(network, data)


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("data.off=[node.tokns]", "Did you mean 'node.tokens'"),
        ("data.leave_out=[smal]", "Did you mean 'small'"),
        ("loss.listwize=1", "Did you mean 'listwise'"),
        ("data.validation=1.5", "expected [0, 1)"),
        ("data.questions=nowhere.jsonl", "no file of training questions"),
    ],
)
def test_errors_have_words(
    command: ModuleType,
    selector_settings: list[str],
    capsys: pytest.CaptureFixture[str],
    word: str,
    said: str,
) -> None:
    assert command.main([*selector_settings, word]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.usefixtures("two_threads")
def test_same_seed_same_network(
    command: ModuleType, selector_settings: list[str], tmp_path: Path
) -> None:
    states = []
    for name in ("a", "b"):
        words = [*selector_settings, f"out={tmp_path / name}", "trainer.epochs=2"]
        assert command.main(words) == 0
        assert torch.get_num_threads() == 1  # what two add up is not the same each time
        states.append(load_selector(str(tmp_path / name / "selector.safetensors")).network)
    pairs = zip(states[0].parameters(), states[1].parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)


@pytest.mark.slow
def test_two_gloo_processes(
    selector_settings: list[str], tmp_path: Path, in_two_processes: Callable[[str, list[str]], None]
) -> None:
    words = [*selector_settings, "trainer=ddp_cpu", "trainer.epochs=2", "data.pairs=0"]
    words.append("data.untitled=0")
    in_two_processes("selector", words)
    kept = torch.load(tmp_path / "run" / "last.ckpt", weights_only=True)
    assert kept["epoch"] == 1
    assert kept["global_step"] == 2 * 3  # 39 graphs, 19 for each process, 8 in a batch
    assert (tmp_path / "run" / "selector.safetensors").is_file()
