"""`python -m plots.ragged_table`: ragged rows beside equal rows of as many bytes."""

import pytest
from conftest import GPU_CONTENDERS, cell, problem, write_run
from plots import ragged_table


def made(n, nanoseconds, moved, **changes):
    """Returns a cell of `auto` that moves that many bytes in that time."""
    record = cell(GPU_CONTENDERS[0], problem(n, 64, 8, **changes))
    record["algorithm"]["name"] = "auto"
    record["time"] |= {"median": nanoseconds, "ci95": [nanoseconds, nanoseconds]}
    record["floor"]["bytes"] = moved
    return record


@pytest.fixture
def ragged():
    return made(1 << 20, 60_000, 1_000_000, lengths="two_sizes(0.1)")


def test_a_cell_stands_beside_equal_rows_of_as_many_bytes(ragged, tmp_path, capsys):
    equal = made(4096, 50_000, 1_005_000)
    run = write_run(tmp_path / "run", [ragged, equal, made(1 << 20, 900_000, 16_000_000)])
    assert ragged_table.main([str(run)]) == 0
    _, _, row, _, last = capsys.readouterr().out.splitlines()
    cells = [part.strip() for part in row.split("|")[1:-1]]
    assert cells == ["1,048,576", "two_sizes(0.1)", "64", "8", "float32", "auto", "1.0", "60.0", "50.0", "1.21"]
    assert "1.21 times" in last and "1 of 1 within 1.25" in last


def test_equal_rows_of_other_bytes_or_types_are_no_counterpart(ragged, tmp_path, capsys):
    other = [made(4096, 50_000, 1_100_000), made(4100, 50_000, 1_000_000, dtype="bfloat16")]
    run = write_run(tmp_path / "run", [ragged, *other])
    assert ragged_table.main([str(run)]) == 3
    assert "has no timed cell of ragged rows" in capsys.readouterr().err
