"""A ladder of variants: what each change gains, on which problems, and what is left out."""

import csv
import dataclasses
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from plots.reproduce import figures, manifest
from plots.reproduce.cells import Missing
from plots.reproduce.library import Library
from plots.save import points

from conftest import QMS, JsonObject, cell, problem, write_run

LADDER = next(e for e in manifest.load() if e.id == "X-ladder")
SHAPES = [(1 << 12, 1 << 15), (1 << 17, 1 << 10)]
KS = (8, 64)


def timed(name: str, n: int, q: int, k: int, nanoseconds: float) -> JsonObject:
    """Return a cell whose median is exactly the given time."""
    made = cell(dataclasses.replace(QMS, name=name), problem(n, q, k))
    made["time"] |= {"median": nanoseconds, "ci95": [nanoseconds, nanoseconds]}
    return made


def rung_names() -> list[str]:
    """Return the algorithms of the first figure, one a rung."""
    names = [row["of"] for row in LADDER.figures[0].ask["rows"]]
    assert all(len(of) == 1 for of in names)
    return [of[0] for of in names]


def sweep(slower: Mapping[int, float] | None = None) -> list[JsonObject]:
    """Return cells in which rung i takes 1000 / 2^i ns; `slower` are factors of rung 1 by k."""
    return [
        timed(name, n, q, k, 1000 / 2**i * ((slower or {}).get(k, 1) if i == 1 else 1))
        for i, name in enumerate(rung_names())
        for n, q in SHAPES
        for k in KS
    ]


def drawn(tmp_path: Path, cells: list[JsonObject]) -> Any:
    """Draw the first figure of the experiment from a run with these cells."""
    write_run(tmp_path / "gpu" / LADDER.config, cells)
    (source,) = Library(tmp_path).sources(LADDER)
    (drawing,) = figures.draw(LADDER, LADDER.figures[0], source)
    return drawing


def words(drawing: Any) -> list[str]:
    """Return all texts of the figure's table and around it."""
    inside = [text.get_text() for axes in drawing.figure.axes for text in axes.texts]
    return inside + [" ".join(text.get_text().split()) for text in drawing.figure.texts]


def test_each_rung_has_its_gain_over_the_first_and_over_the_one_before(tmp_path: Path) -> None:
    drawing = drawn(tmp_path, sweep())
    rows = list(csv.DictReader(io.StringIO(points(drawing).decode())))
    assert len(rows) == len(rung_names()) * len(SHAPES) * len(KS)
    for row in rows:
        i = rung_names().index(row["algorithm"])
        assert float(row["times_as_fast"]) == pytest.approx(2**i)
        assert float(row["this_change"]) == pytest.approx(2 if i else 1)
    written = words(drawing)
    assert "log₂(n/Q) = -3" in written
    assert "log₂(n/Q) = 7" in written
    assert f"{2 ** (len(rung_names()) - 1):.2f}" in written
    assert "2.00 to 2.00" in written
    assert not any("left out" in text for text in written)


def test_means_are_geometric_and_a_loss_is_below_one(tmp_path: Path) -> None:
    written = words(drawn(tmp_path, sweep({8: 8, 64: 2})))  # 4 and 1 times the first rung's time
    assert "0.50" in written  # the mean of 1/4 and 1
    assert "0.25 to 1.00" in written


def test_a_problem_that_a_rung_lacks_is_left_out_and_counted(tmp_path: Path) -> None:
    cells = sweep()
    name = rung_names()[3]
    gone = next(c for c in cells if c["algorithm"]["name"] == name)
    gone |= {"status": "out_of_memory", "reason": "too large", "time": None, "floor": None}
    drawing = drawn(tmp_path, cells)
    assert "1 of 4 problems are left out: a rung has no time there." in words(drawing)
    rows = list(csv.DictReader(io.StringIO(points(drawing).decode())))
    assert len(rows) == len(rung_names()) * 3


def test_without_a_whole_ladder_there_is_no_figure(tmp_path: Path) -> None:
    cells = [c for c in sweep() if c["algorithm"]["name"] != rung_names()[-1]]
    with pytest.raises(Missing, match="all rungs"):
        drawn(tmp_path, cells)


def test_one_launch_is_compared_with_a_launch_an_iteration(tmp_path: Path) -> None:
    pairs = {"qms-block+paper": 100, "qms-host+paper": 700, "qms-block": 10, "qms-host": 30}
    cells = [
        timed(name, n, q, k, ns) for name, ns in pairs.items() for n, q in SHAPES for k in KS
    ]
    one_launch = next(e for e in manifest.load() if e.id == "X-one-launch")
    write_run(tmp_path / "gpu" / one_launch.config, cells)
    (source,) = Library(tmp_path).sources(one_launch)
    (drawing,) = figures.draw(one_launch, one_launch.figures[0], source)
    rows = list(csv.DictReader(io.StringIO(points(drawing).decode())))
    found = {(row["panel"], float(row["x"]), float(row["y"])) for row in rows}
    assert found == {
        (panel, shape, gain)
        for panel, gain in (("the paper's form", 7), ("today's form", 3))
        for shape in (-3, 7)
    }
