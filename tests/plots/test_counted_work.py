"""Runs on fibers have counts and no times; they can be drawn."""

import csv
from pathlib import Path

import pytest
from conftest import GPU_CONTENDERS, cell, problem, write_run

from plots.__main__ import main
from plots.figures import registry
from plots.records import load


def counted(n: int, k: int, reads: int) -> dict:
    """Return a cell on fibers with counted work."""
    made = cell(GPU_CONTENDERS[0], problem(n, 4, k))
    counters = {"global_reads": reads, "comparisons": 3 * reads, "atomics": 0}
    return made | {"executor": "fiber", "time": None, "floor": None, "counters": counters}


@pytest.mark.parametrize("sizes", [[1024, 2048], [1024]])
def test_counts_are_drawn_by_the_element(tmp_path: Path, sizes: list[int]) -> None:
    run = write_run(tmp_path / "run", [counted(n, k, 5 * n) for n in sizes for k in (8, 16)])
    assert main([str(run), "--out", str(tmp_path / "out"), "--figure", "work"]) == 0
    tables = sorted((tmp_path / "out").glob("work-*.csv"))
    assert len(tables) == (2 if len(sizes) > 1 else 1), "a figure a k, or one against k"
    rows = [row for table in tables for row in csv.DictReader(
        line for line in table.read_text().splitlines() if not line.startswith("#"))]
    assert {row["counter"] for row in rows} == {"global_reads", "comparisons"}, "no zeros"
    reads = [row for row in rows if row["counter"] == "global_reads"]
    assert {float(row["per_element"]) for row in reads} == {1.25}
    assert len(reads) == 2 * len(sizes)


def test_no_figure_of_times_misses_them(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [counted(1024, 8, 5000)])
    (record,) = load(run).records
    assert [name for name, kind in registry().items() if kind.suits(record)] == ["work"]
