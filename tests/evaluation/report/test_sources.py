"""What a path names: a run, a folder of runs, retrievers' curves, an ablation, a sweep."""

import json
from pathlib import Path

import pytest

from rag_research.errors import DataError
from rag_research.evaluation.report.overview import curve_facts
from rag_research.evaluation.report.sources import (
    by_short_name,
    read_ablation,
    read_sources,
    read_trials,
)

GAP = {"name": "a", "metric": "token_f1", "difference": -0.1, "low": -0.2, "high": 0.0}


def write(path: Path, value: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def test_a_run_and_a_folder_of_runs_are_each_read_once(folders) -> None:
    one = folders.write("t2rag", lambda n: True)
    folders.write("tog3", lambda n: True)
    found = read_sources([one, folders.root])
    assert [run.name for run in found.runs] == ["t2rag", "tog3"]
    assert not found.curves and not found.ablations and not found.sweeps


def test_an_ablation_is_its_differences_and_its_runs(folders) -> None:
    folders.write("t2rag", lambda n: True, name="full")
    told = {
        "system": "t2rag",
        "dataset": "rivers",
        "differences": [{**GAP, "p": 0.5, "holm": 0.6}],
        "reference": "full",
        "runs": [{"name": "a", "question": "Does a matter?"}],
    }
    write(folders.root / "ablation.json", told)
    found = read_sources([folders.root])
    assert len(found.runs) == 1
    ablation = found.ablations["runs"]
    assert ablation["rows"] == [{**GAP, "holm": 0.6}]
    assert ablation["title"] == "t2rag on rivers"
    assert ablation["questions"] == {"a": "Does a matter?"}


def test_a_sweep_is_its_trials_and_not_the_runs_of_them(folders, tmp_path: Path) -> None:
    folders.write("t2rag", lambda n: True)
    trial = {"number": 3, "state": "finished", "value": 0.25, "parameters": {"k": 5}, "seconds": 1}
    told = {"file": {"metric": {"name": "f1", "goal": "maximize"}}, "trials": [trial]}
    write(folders.root / "trials.json", told)
    found = read_sources([folders.root])
    assert found.runs == []
    kept = {key: trial[key] for key in ("number", "state", "value", "parameters")}
    assert found.sweeps["runs"] == {"metric": "f1", "goal": "maximize", "trials": [kept]}
    bare = write(tmp_path / "bare.json", {"file": {}, "trials": []})
    assert read_trials(bare) == {"metric": "value", "goal": "minimize", "trials": []}


def test_curves_of_retrievers(tmp_path: Path) -> None:
    curve = [n / 32 for n in range(32)]
    told = {"dataset": "2wiki", "questions": 9,
            "evidence": {"whole": {"bm25": {"curve": curve, "256": {}}, "none": {}}}}  # fmt: skip
    write(tmp_path / "table" / "comparison.json", told)
    found = read_sources([tmp_path / "table"])
    facts = curve_facts("table", found.curves["table"])
    assert facts["measures"] == {"whole": {"bm25": curve}}
    assert len(facts["budgets"]) == len(curve)


def test_what_cannot_be_shown_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such folder"):
        read_sources([tmp_path / "missing"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"no results\.json here or one folder below"):
        read_sources([tmp_path / "empty"])
    broken = tmp_path / "broken.json"
    broken.write_text("{", encoding="utf-8")
    with pytest.raises(DataError, match="not JSON"):
        read_trials(broken)
    with pytest.raises(DataError, match="expected the trials"):
        read_trials(write(tmp_path / "list.json", []))
    with pytest.raises(DataError, match="expected differences with name"):
        read_ablation(write(tmp_path / "a.json", {"differences": [{"name": "a"}]}))


def test_folders_of_one_name_are_told_apart_by_what_they_lie_in(tmp_path: Path) -> None:
    for dataset in ("2wiki", "musique"):
        folder = tmp_path / dataset / "retrieval"
        write(folder / "comparison.json", {"dataset": dataset})
        write(folder / "ablation.json", {"differences": [GAP], "reference": dataset})
        write(folder / "trials.json", {"file": {}, "trials": [{"number": len(dataset)}]})
    paths = [tmp_path / "2wiki" / "retrieval", tmp_path / "musique" / "retrieval"]
    found = read_sources([*paths, paths[0]])
    names = ["2wiki/retrieval", "musique/retrieval"]
    assert found.curves == {n: {"dataset": n.split("/")[0]} for n in names}
    assert [found.ablations[n]["reference"] for n in names] == ["2wiki", "musique"]
    assert [found.sweeps[n]["trials"][0]["number"] for n in names] == [5, 7]
    assert list(read_sources(paths[:1]).curves) == ["retrieval"]


def test_as_many_parts_of_a_path_are_shown_as_tell_apart() -> None:
    paths = [Path("/a/small/x"), Path("/b/small/x"), Path("/b/large/y")]
    assert list(by_short_name(dict.fromkeys(paths))) == ["a/small/x", "b/small/x", "b/large/y"]
    assert by_short_name({}) == {}


def test_a_run_whose_folder_is_named_like_a_sweep_is_read(folders, tmp_path: Path) -> None:
    sweep = write(tmp_path / "sweeps" / "t2rag" / "trials.json", {"file": {}, "trials": []}).parent
    run = folders.write("t2rag", lambda n: True)
    found = read_sources([sweep, run])
    assert [one.directory for one in found.runs] == [run]
    assert list(found.sweeps) == ["t2rag"]


def test_studies_of_chosen_ablations_are_shown_beside_that_of_all(folders) -> None:
    folders.write("t2rag", lambda n: True, name="full")
    study = {"system": "t2rag", "dataset": "rivers", "differences": [GAP]}
    write(folders.root / "ablation-a.json", {**study, "chosen": ["a"]})
    assert list(read_sources([folders.root]).ablations) == ["ablation-a"]
    write(folders.root / "ablation.json", {**study, "chosen": []})
    found = read_sources([folders.root]).ablations
    titles = {name: told["title"] for name, told in found.items()}
    assert titles == {"runs": "t2rag on rivers", "ablation-a": "t2rag on rivers: a"}
