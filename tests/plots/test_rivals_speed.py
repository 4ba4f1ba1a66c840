"""`python -m plots.rivals_speed`: how many times as fast `auto` is as its rivals."""

import csv

import pytest
from conftest import GPU_CONTENDERS, cell, problem, write_run
from plots import rivals_speed


def made(name, nanoseconds, n=4096, q=8, k=16, **changes):
    """Returns a cell of that algorithm and median."""
    record = cell(GPU_CONTENDERS[0], problem(n, q, k, **changes))
    record["algorithm"]["name"] = name
    if name in {"swift", "slow"}:
        record["algorithm"]["family"] = "library top-k"
    record["key"] = f"{abs(hash((name, n, q, k))):016x}"[-16:]
    record["time"] |= {"median": nanoseconds, "ci95": [nanoseconds * 0.9, nanoseconds * 1.1]}
    return record


@pytest.fixture
def cells():
    few = [made("auto", 10_000), made("swift", 9_000), made("slow", 40_000), made("bms-warp", 5_000)]
    many = [made("auto", 20_000, q=64), made("swift", 80_000, q=64)]
    return [*few, *many, made("slow", 1_000, n=64)]


def test_the_table_has_each_rival_and_the_fastest_of_each_problem(cells, tmp_path, capsys):
    run = write_run(tmp_path / "run", cells)
    assert rivals_speed.main([str(run), "--out", str(tmp_path / "figures")]) == 0
    rows = [line.split(" | ") for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    assert [[part.strip("| ") for part in row] for row in rows[1:]] == [
        ["slow", "1", "4.00", "4.00 to 4.00", "0"],
        ["swift", "2", "1.90", "0.90 to 4.00", "1"],
        ["the fastest of them", "2", "1.90", "0.90 to 4.00", "1"],
    ]


def test_the_figure_has_the_panels_with_several_numbers_of_rows(cells, tmp_path):
    run = write_run(tmp_path / "run", cells)
    assert rivals_speed.main([str(run), "--out", str(tmp_path / "figures")]) == 0
    with (tmp_path / "figures" / "times-as-fast-float32.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["panel"] for row in rows} == {"n = 4,096, k = 16"}
    assert sorted((float(row["x"]), round(float(row["y"]), 2)) for row in rows) == [(8, 0.9), (8, 4), (64, 4)]


def test_a_run_without_rivals_is_named(tmp_path, capsys):
    run = write_run(tmp_path / "run", [made("auto", 10_000)])
    assert rivals_speed.main([str(run), "--out", str(tmp_path / "figures")]) == 3
    assert "no rival beside auto to draw" in capsys.readouterr().err
