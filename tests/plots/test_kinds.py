"""Share of the ceiling, winner map, performance profile and robustness: numbers, marks, notes."""

import csv
import dataclasses
import io
import math
from collections.abc import Sequence
from pathlib import Path

import pytest
from plots import style
from plots.figures import (
    Drawing,
    Options,
    ceiling_share,
    performance_profile,
    robustness,
    winner_map,
)
from plots.records import Record, load
from plots.save import encode, points

from conftest import CONTENDERS, Contender, JsonObject, cell, problem, write_run


@pytest.fixture(autouse=True)
def _style() -> None:
    style.apply()


def contender(name: str, ns: float, **changes: object) -> Contender:
    """Return an algorithm that takes about `ns` a row, whatever the row."""
    return dataclasses.replace(CONTENDERS[2], name=name, cost=lambda n, q, k: ns * q, **changes)


def records(tmp_path: Path, cells: Sequence[JsonObject]) -> Sequence[Record]:
    """Return the cells as they are loaded."""
    return load(write_run(tmp_path / "run", cells)).records


def rows(drawing: Drawing) -> list[dict[str, str]]:
    """Return the CSV of a drawing as it would be written."""
    return list(csv.DictReader(io.StringIO(points(drawing).decode())))


def texts(drawing: Drawing) -> list[str]:
    """Return everything written, in axes or outside."""
    inside = [text.get_text() for axes in drawing.figure.axes for text in axes.texts]
    return [*inside, *(text.get_text() for text in drawing.figure.texts)]


def hatched(drawing: Drawing) -> int:
    """Count the hatched cells."""
    patches = [p for axes in drawing.figure.axes for p in axes.patches]
    return sum(bool(patch.get_hatch()) for patch in patches)


def test_shares_are_drawn_as_recorded_and_failures_hatched(tmp_path: Path) -> None:
    limited = contender("limited", 900, largest_k=16)
    cells = [
        cell(c, problem(1 << e, 4, k))
        for c in (contender("free", 500), limited)
        for k in (16, 32)
        for e in (10, 11, 12)
    ]
    found = records(tmp_path, cells)
    (drawing,) = ceiling_share.draw(found, Options())
    shares = {r.key: r.floor.share for r in found if r.floor}
    assert {row["key"]: float(row["y"]) for row in rows(drawing) if row["y"]} == shares
    assert hatched(drawing) == 3
    assert any(text.endswith("limited, unsupported: k > 16") for text in texts(drawing))
    assert any("Ceiling: read, 4400 GB/s" in text for text in texts(drawing))


def test_runs_without_a_measured_ceiling_have_no_shares(tmp_path: Path) -> None:
    cells = [cell(contender("a", 500), problem(1 << e, 4, 8)) | {"floor": None} for e in (10, 11)]
    assert ceiling_share.draw(records(tmp_path, cells), Options()) == []


def test_ceilings_of_a_hosts_cells_are_told_from_the_least_to_the_most(tmp_path: Path) -> None:
    cells = []
    for name, rate in (("serial", 30), ("threads", 60)):  # bytes a ns
        for e in (10, 11, 12):
            one = cell(contender(name, 500), problem(1 << e, 4, 8))
            one["floor"] |= {"ceiling": "rows_read"}
            one["floor"]["share"] = one["floor"]["bytes"] / one["time"]["median"] / rate
            cells.append(one)
    (drawing,) = ceiling_share.draw(records(tmp_path, cells), Options())
    assert any("Ceiling: rows read, 30 to 60 GB/s" in text for text in texts(drawing))


def test_the_fastest_wins_with_its_lead_for_each_q(tmp_path: Path) -> None:
    fast, slow = contender("fast", 500), contender("slow", 2000)
    cells = [
        cell(c, problem(1 << e, q, 8)) for c in (fast, slow) for q in (1, 16) for e in (10, 11)
    ]
    failing = [cell(c, problem(4096, 16, 8), "timeout", "too slow") for c in (fast, slow)]
    (drawing,) = winner_map.draw(records(tmp_path, [*cells, *failing]), Options())
    found = rows(drawing)
    assert {(row["algorithm"], row["rank"]) for row in found} == {
        ("fast", "1"), ("slow", "2"), ("fast", ""), ("slow", ""),
    }  # fmt: skip
    seconds = [float(row["over_best"]) for row in found if row["rank"] == "2"]
    assert seconds == pytest.approx([4] * 4, rel=0.2)
    assert sum(text.startswith("A ") for text in texts(drawing)) == 4
    assert hatched(drawing) == 2
    assert "n/a 1:  fast, timeout: too slow; slow, timeout: too slow" in texts(drawing)
    assert "n/a 2:  not in the config" in texts(drawing)  # n = 2^12 at Q = 1


def test_an_unsure_winner_has_a_dot(tmp_path: Path) -> None:
    twins = [contender("a", 500), contender("b", 500.1)]
    (drawing,) = winner_map.draw(
        records(tmp_path, [cell(c, problem(1024, 4, 8)) for c in twins]), Options()
    )
    assert sum(len(axes.lines) for axes in drawing.figure.axes) == 1


def test_the_profile_counts_failures_as_infinite_and_gaps_not_at_all(tmp_path: Path) -> None:
    fast, slow = contender("fast", 500), contender("slow", 1000)
    cells = [cell(fast, problem(1 << e, 4, 8)) for e in (10, 11, 12, 13)]
    cells += [cell(slow, problem(1 << e, 4, 8)) for e in (10, 11)]
    cells.append(cell(slow, problem(4096, 4, 8), "out_of_memory", "needs 9 GiB"))
    found = records(tmp_path, cells)
    ratios = performance_profile.ratios(found)
    assert set(ratios["fast"].values()) == {1.0}
    assert [math.isinf(r) for r in ratios["slow"].values()] == [False, False, True]
    (drawing,) = performance_profile.draw(found, Options())
    curve = next(
        line
        for line in drawing.figure.axes[0].lines
        if line.get_drawstyle() == "steps-post" and line.get_ydata()[0] == 0
    )
    assert curve.get_ydata()[-1] == pytest.approx(2 / 3)
    told = "slow: infinite on 1 of 3; 1 out of memory (needs 9 GiB); 1 of 4 problems are not in"
    assert any(text.startswith(told) for text in texts(drawing))
    statuses = [row["status"] for row in rows(drawing) if row["ratio"] in ("", "inf")]
    assert statuses == ["out_of_memory", "not in the run"]


def test_robustness_is_the_mean_and_the_worst_ratio_to_uniform_rows(tmp_path: Path) -> None:
    steady, shaky = contender("steady", 500), contender("shaky", 500)
    cells = []
    for c in (steady, shaky):
        for n in (1024, 4096):
            for distribution in ("uniform", "descending", "kth_ties(8)"):
                made = cell(c, problem(n, 4, 8, distribution=distribution))
                if c is shaky and distribution == "descending":
                    factor = {1024: 2.0, 4096: 8.0}[n]
                    base = cell(c, problem(n, 4, 8))["time"]
                    made["time"] |= {
                        "median": factor * base["median"],
                        "ci95": [factor * x for x in base["ci95"]],
                    }
                if c is shaky and distribution.startswith("kth"):
                    made = cell(c, made["problem"], "timeout", "no answer after 1 s")
                cells.append(made)
    (drawing,) = robustness.draw(records(tmp_path, cells), Options())
    assert "4.00 (8.00)" in texts(drawing)
    assert hatched(drawing) == 1
    assert "n/a 1:  shaky, timeout: no answer after 1 s" in texts(drawing)
    ratios = {
        (row["distribution"], int(row["n"])): row["ratio"]
        for row in rows(drawing)
        if row["algorithm"] == "shaky"
    }
    assert float(ratios["descending", 4096]) == pytest.approx(8)
    assert ratios["kth_ties(8)", 1024] == ""


def test_one_distribution_has_no_figure_of_robustness(tmp_path: Path) -> None:
    cells = [cell(contender("a", 500), problem(1 << e, 4, 8)) for e in (10, 11)]
    assert robustness.draw(records(tmp_path, cells), Options()) == []


def test_the_source_is_written_into_the_files(tmp_path: Path) -> None:
    cells = [cell(contender(n, 500), problem(1024, 4, 8)) for n in ("a", "b")]
    (drawing,) = winner_map.draw(records(tmp_path, cells), Options())
    named = encode(drawing._replace(source="results/here/run"))
    assert b"Source\x00results/here/run" in named["png"]
    assert b"results/here/run" in named["pdf"]
    assert b"results/here" not in encode(drawing)["png"]
