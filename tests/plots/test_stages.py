"""Searches are cells of a sweep: their settings keep them apart, their stages are drawn."""

import csv
from pathlib import Path

import pytest
from conftest import GPU_CONTENDERS, cell, problem, write_run

from plots.__main__ import main
from plots.figures import registry
from plots.figures.stages import _parts
from plots.records import load
from plots.report.__main__ import main as write_report
from plots.report.data import cell_data

NS = {"prepare": 900.0, "distance": 300.0, "selection": 200.0}


def searched(n: int, metric: str = "cosine") -> dict:
    """Return a search: 60 % of its time has a name; `prepare` is beside it."""
    made = cell(GPU_CONTENDERS[0], problem(n, 4, 8) | {"dimension": 16, "metric": metric, "share": 0.0})
    unit = made["time"]["median"] / 1000
    stages = {
        name: {"unit": "ns", "of_time": name != "prepare", "median": ns * unit * 1.2,
               "ci95": [1, 2], "rounds": [ns]}
        for name, ns in NS.items()
    }
    return made | {"task": "knn", "stages": stages, "counts": {"survivors": 4.0}}


def test_bars_have_the_stages_and_what_is_left(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [searched(1024), searched(2048)])
    record = load(run).records[0]
    whole = record.time.median
    assert _parts(record) == pytest.approx(
        {"distance": 0.36 * whole, "selection": 0.24 * whole, "other": 0.4 * whole})
    assert main([str(run), "--out", str(tmp_path / "out"), "--figure", "stages"]) == 0
    (table,) = (tmp_path / "out").glob("stages-*.csv")
    rows = list(csv.DictReader(
        line for line in table.read_text().splitlines() if not line.startswith("#")))
    assert {row["stage"]: row["of_time"] for row in rows} == {
        "prepare": "0", "distance": "1", "selection": "1"}
    assert len(rows) == 6


def test_settings_keep_searches_apart(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [searched(1024, "cosine"), searched(1024, "euclidean")])
    assert {record.workload for record in load(run).records} == {
        "uniform, dimension = 16, metric = cosine, share = 0",
        "uniform, dimension = 16, metric = euclidean, share = 0",
    }
    shown = cell_data(searched(1024))
    assert shown["input"] == "uniform, dimension = 16, metric = cosine, share = 0"
    assert shown["stages"]["distance"]["of_time"] is True and shown["task"] == "knn"


def indexed(n: int, name: str) -> dict:
    """Return a search with an index: its kernels have a time, it has no certificate of a selection."""
    made = searched(n)
    made["task"], made["counts"] = "index", {"pending": 1.0, "intrinsic_dimension": 4.2}
    made["stages"] = {"kernels": made["stages"]["distance"]}
    made["problem"] |= {"metric": "euclidean", "radius": 0.0, "stand_in": "none"}
    made["algorithm"] |= {"name": name, "family": "metric index", "settings": {"cluster_size": 32}}
    return made | {"key": f"{made['key'][:8]}{len(name):08x}"}


def test_a_run_of_several_tasks_is_drawn_and_reported(tmp_path: Path) -> None:
    names = ("none", "list_of_clusters+cluster_size=32")
    selections = [cell(GPU_CONTENDERS[0], problem(n, 4, 8)) for n in (1024, 2048)]
    searches = [indexed(n, name) for name in names for n in (1024, 2048)]
    run = write_run(tmp_path / "run", [*selections, searched(1024), searched(2048), *searches])
    assert main([str(run), "--out", str(tmp_path / "out"), "--figure", "time", "--figure", "stages"]) == 0
    drawn = "".join(table.read_text() for table in (tmp_path / "out").glob("*.csv"))
    assert all(name in drawn for name in (*names, GPU_CONTENDERS[0].name))
    assert write_report([str(run), "--out", str(tmp_path / "report.html")]) == 0
    page = (tmp_path / "report.html").read_text()
    assert "list_of_clusters+cluster_size=32" in page and "intrinsic_dimension" in page


def test_a_data_set_of_a_search_has_no_metric_of_its_own(tmp_path: Path) -> None:
    made = searched(1024) | {"input": {"kind": "dataset", "name": "/data/base.npy"}}
    run = write_run(tmp_path / "run", [made])
    assert load(run).records[0].workload.startswith("base.npy, dimension = 16")
    assert cell_data(made)["input"].startswith("base.npy, dimension")


def test_selections_have_no_stages(quick: Path) -> None:
    kind = registry()["stages"]
    assert not any(kind.suits(record) for record in load(quick).records)
