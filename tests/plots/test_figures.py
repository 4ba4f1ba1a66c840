"""The figures: what is drawn, what is only marked, and that equal records give equal bytes."""

import csv
import dataclasses
import io
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from plots import page, slices, style
from plots.figures import Drawing, Options, queue_updates, registry, speedup_map, time_over_n
from plots.records import Record, load
from plots.save import encode, points

from conftest import CONTENDERS, GPU_CONTENDERS, ROOT, cell, problem, quick_cells, write_run

# Robustness needs other distributions than the quick run has (test_kinds).
# Robustness needs several distributions, stages a search: each has tests of its own.
OTHERS = ("robustness", "stages")
TIMED = [kind for kind in registry().values() if not kind.of_counts and kind.name not in OTHERS]
STEADY = dataclasses.replace(GPU_CONTENDERS[0], name="a")


@pytest.fixture(autouse=True)
def _style() -> None:
    style.apply()


def rows(drawing: Drawing) -> list[dict[str, str]]:
    """Return the CSV of a drawing as it would be written."""
    return list(csv.DictReader(io.StringIO(points(drawing).decode())))


def lines(figure: Figure, marker: str) -> list[Line2D]:
    """Return the drawn lines with a marker, and only those that show points."""
    drawn = [line for axes in figure.axes for line in axes.lines]
    return [line for line in drawn if line.get_marker() == marker and len(line.get_xdata())]


def texts(figure: Figure) -> str:
    """Return everything written outside axes."""
    return "\n".join(text.get_text() for text in figure.texts)


def all_of(*directories: Path) -> list[Record]:
    """Load several runs as the command does."""
    return [r for i, path in enumerate(directories, 1) for r in load(path, i).records]


def only(drawings: Sequence[Drawing]) -> Drawing:
    """Return the one drawing there must be."""
    assert len(drawings) == 1
    return drawings[0]


def test_every_module_of_figures_is_registered_by_its_name() -> None:
    kinds = registry()
    several = ["ceiling", "profile", "robustness", "speedup", "stages", "time", "updates"]
    assert list(kinds) == [*several, "winner", "work"]
    assert all(kind.description and "\n" not in kind.description for kind in kinds.values())


@pytest.mark.slow
def test_two_processes_with_different_hash_seeds_write_the_same_bytes(
    tmp_path: Path,
) -> None:
    cells = [c for c in quick_cells(GPU_CONTENDERS[:5]) if c["problem"]["n"] <= 4096]
    quick = write_run(tmp_path / "quick", cells)
    written = []
    for seed in ("1", "2"):
        out = tmp_path / seed
        subprocess.run(
            [sys.executable, "-m", "plots", str(quick), "--out", str(out)],
            cwd=ROOT,
            env=os.environ | {"PYTHONHASHSEED": seed, "TZ": f"UTC+{seed}", "COLUMNS": seed * 2},
            check=True,
            capture_output=True,
        )
        written.append({path.name: path.read_bytes() for path in sorted(out.iterdir())})
    assert len(written[0]) == 3 * len(TIMED) + 1  # and their page
    assert written[0] == written[1]


@pytest.mark.slow
def test_the_order_of_records_does_not_reach_the_bytes(quick: Path) -> None:
    records = [r for r in all_of(quick) if r.k == 64]
    for kind in TIMED:
        forth = only(kind.draw(records, Options()))
        back = only(kind.draw(records[::-1], Options()))
        assert encode(forth) == encode(back)


def test_the_files_hold_neither_paths_nor_dates_nor_versions(quick: Path) -> None:
    for ending, data in encode(only(time_over_n.draw(all_of(quick), Options()))).items():
        for trace in (str(quick).encode(), b"CreationDate", b"Matplotlib", b"matplotlib"):
            assert trace not in data, (ending, trace)


def test_the_csv_has_each_cell_with_the_recorded_median(quick: Path) -> None:
    records = {r.key: r for r in all_of(quick)}
    written = rows(only(time_over_n.draw(list(records.values()), Options())))
    assert {row["key"] for row in written} == set(records)
    for row in written:
        record = records[row["key"]]
        assert (int(row["n"]), int(row["k"])) == (record.n, record.k)
        if record.time:
            assert float(row["median_ns"]) == record.time.median
        else:
            assert (row["median_ns"], row["low_ns"], row["high_ns"]) == ("", "", "")
            assert row["reason"] == record.reason


def test_exactly_the_cells_with_a_time_are_points_and_the_others_crosses(quick: Path) -> None:
    records = all_of(quick)
    drawing = only(time_over_n.draw(records, Options()))
    looks = style.looks({r.algorithm for r in records})
    points = sum(
        len(line.get_xdata())
        for axes in drawing.figure.axes
        for line in axes.lines
        if line.get_marker() != "x"
    )
    assert points == sum(r.time is not None for r in records)
    crosses = [
        (line.get_color(), n) for line in lines(drawing.figure, "x") for n in line.get_xdata()
    ]
    expected = [(looks[r.algorithm].colour, r.n) for r in records if r.time is None]
    assert sorted(crosses) == sorted(expected)


def test_the_reason_of_each_failure_is_written(quick: Path) -> None:
    for kind in (k for k in TIMED if k.name in ("ceiling", "speedup", "time")):
        figure = only(kind.draw(all_of(quick), Options(baseline="thrust/sort"))).figure
        assert "sismanis/truncated_bitonic, unsupported: k > 512" in texts(figure)
        assert "tang/insertion, timeout: no answer after 30 s" in texts(figure)


def test_a_line_does_not_pass_a_cell_without_a_time(tmp_path: Path) -> None:
    cells = [
        cell(STEADY, problem(1 << e, 16, 8), *(("throttled", "hot") if e == 12 else ()))
        for e in range(10, 16)
    ]
    records = all_of(write_run(tmp_path / "run", cells))
    figure = only(time_over_n.draw(records, Options())).figure
    stretches = [list(line.get_xdata()) for line in lines(figure, "o")]
    assert stretches == [[1 << 10, 1 << 11], [1 << 13, 1 << 14, 1 << 15]]


def test_each_series_has_its_own_marker_and_line() -> None:
    looks = style.looks(f"algorithm {i}" for i in range(65))
    assert len({(look.marker, look.line) for look in looks.values()}) == 65
    assert not any(look.marker == "x" for look in looks.values())


def test_the_footer_says_run_machine_commit_and_how_cells_ended(tmp_path: Path) -> None:
    run = write_run(
        tmp_path / "night",
        quick_cells(),
        state="interrupted",
        git={"commit": "fedcba9876543210", "dirty": True},
    )
    written = texts(only(time_over_n.draw(all_of(run), Options())).figure)
    assert "run night (interrupted)   |   NVIDIA H200   |   git fedcba9 dirty" in written
    assert "333 of 352 cells ok: 4 out of memory, 1 throttled, 3 timeout, 11 unsupported" in written


def test_a_build_without_git_has_an_unknown_commit(tmp_path: Path) -> None:
    cells = [cell(STEADY, problem(1 << e, 16, 8)) for e in (10, 11, 12)]
    run = write_run(tmp_path / "run", cells, git={"commit": "", "dirty": False})
    assert "git unknown   |" in texts(only(time_over_n.draw(all_of(run), Options())).figure)


def test_dollar_signs_in_names_and_reasons_are_text(tmp_path: Path) -> None:
    priced = dataclasses.replace(STEADY, name="a$x_1$")
    cells = [cell(c, problem(1 << e, 16, 8)) for c in (priced, STEADY) for e in (10, 11, 12)]
    cells.append(cell(priced, problem(1 << 13, 16, 8), "unsupported", "costs $5, not $\\bad$"))
    records = all_of(write_run(tmp_path / "run", cells, host={"cpu": "$"}))
    for kind in TIMED:
        encode(only(kind.draw(records, Options(baseline="a"))))


def test_the_speedup_is_the_baselines_median_over_the_records(quick: Path) -> None:
    records = {r.key: r for r in all_of(quick)}
    drawing = only(speedup_map.draw(list(records.values()), Options(baseline="thrust/sort")))
    written = rows(drawing)
    assert {row["series"] for row in written} == {c.name for c in GPU_CONTENDERS[:-1]}
    compared = [row for row in written if row["speedup"]]
    assert compared
    for row in compared:
        mine, other = records[row["key"]], records[row["baseline_key"]]
        assert (other.algorithm, other.n, other.k) == ("thrust/sort", mine.n, mine.k)
        assert mine.time is not None
        assert other.time is not None
        assert float(row["speedup"]) == other.time.median / mine.time.median
        apart = mine.time.high < other.time.low or other.time.high < mine.time.low
        assert row["significant"] == str(apart).lower()
    missing = [r for r in records.values() if r.time is None and r.algorithm == "thrust/sort"]
    alone = {(r.n, r.k) for r in missing}
    assert all(not row["speedup"] for row in written if (int(row["n"]), int(row["k"])) in alone)


def test_the_default_baseline_is_nth_element_even_of_another_machine(
    quick: Path, tmp_path: Path
) -> None:
    cpu = write_run(tmp_path / "cpu", quick_cells(CONTENDERS[:2]), gpu=[])
    drawings = speedup_map.draw(all_of(quick, cpu), Options())
    assert [drawing.name.split("-")[1] for drawing in drawings] == ["cpu", "cuda"]
    for drawing in drawings:
        assert {row["baseline"] for row in rows(drawing)} == {"cpu/nth_element"}
    assert "Intel(R) Xeon(R) Platinum 8480+, NVIDIA H200" in texts(drawings[1].figure)


def test_without_nth_element_the_default_baseline_is_the_slowest_of_the_fullest(
    quick: Path,
) -> None:
    # thrust/sort is slower, but not ok everywhere.
    written = rows(only(speedup_map.draw(all_of(quick), Options())))
    assert {row["baseline"] for row in written} == {"tang/merge_aligned+buffer+partition"}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0312, "0.031"),
        (0.5, "0.50"),
        (0.996, "1.0"),
        (9.96, "10"),
        (1165.4, "1165"),
        (4e-4, "4e-4"),
    ],
)
def test_ratios_are_short(value: float, text: str) -> None:
    assert speedup_map.ratio(value) == text


def test_a_sweep_at_a_fixed_product_is_one_figure(tmp_path: Path) -> None:
    cells = [cell(STEADY, problem(1 << e, 1 << (20 - e), 8)) for e in range(10, 20)]
    parts = slices.cut(all_of(write_run(tmp_path / "run", cells)))
    assert [(part.fixed, part.value) for part in parts] == [("n·Q", 1 << 20)]


def test_a_full_grid_of_n_and_q_is_one_figure_for_each_q(tmp_path: Path) -> None:
    cells = [cell(STEADY, problem(1 << e, 1 << f, 8)) for e in range(10, 16) for f in range(3)]
    parts = slices.cut(all_of(write_run(tmp_path / "run", cells)))
    assert [(part.fixed, part.value) for part in parts] == [("Q", 1), ("Q", 2), ("Q", 4)]


@pytest.mark.parametrize(
    "change",
    [
        {"dtype": "float64"},
        {"index": "int64"},
        {"direction": "largest"},
        {"payload": "values"},
        {"distribution": "normal"},
    ],
)
def test_different_problems_are_different_figures(
    tmp_path: Path, change: dict[str, object]
) -> None:
    cells = [cell(STEADY, problem(1 << e, 16, 8, **c)) for e in (10, 11, 12) for c in ({}, change)]
    drawings = time_over_n.draw(all_of(write_run(tmp_path / "run", cells)), Options())
    assert len({drawing.name for drawing in drawings}) == 2
    assert [len(drawing.rows) for drawing in drawings] == [3, 3]


def test_one_algorithm_on_two_layouts_and_in_two_runs_is_several_series(tmp_path: Path) -> None:
    columns = dataclasses.replace(STEADY, layout="column_major")
    cells = [cell(c, problem(1 << e, 16, 8)) for c in (STEADY, columns) for e in (10, 11)]
    before = write_run(tmp_path / "before", cells)
    after = write_run(tmp_path / "after", cells[:2])
    assert list(slices.series(all_of(before))) == ["a [column major]", "a [row major]"]
    assert list(slices.series(all_of(before, after))) == [
        "a [column major, run before]",
        "a [row major, run before]",
        "a [row major, run after]",
    ]
    again = write_run(tmp_path / "again", cells, run="before")
    again_and_before = all_of(again, before)
    assert "runs again, before   |" in page.footer(again_and_before)
    # Runs of one config in folders of one name are told apart by their number.
    other = write_run(tmp_path / "elsewhere" / "before", cells[:2])
    assert list(slices.series(all_of(before, other)))[1:] == [
        "a [row major, run 1 before]",
        "a [row major, run 2 before]",
    ]


def test_a_slice_with_one_n_has_no_time_figure_but_a_speedup(tmp_path: Path) -> None:
    cells = [cell(c, problem(1024, 16, k)) for c in GPU_CONTENDERS[:2] for k in (8, 16)]
    records = all_of(write_run(tmp_path / "run", cells))
    assert time_over_n.draw(records, Options()) == []
    assert len(only(speedup_map.draw(records, Options())).rows) == 2


def counted_cells(ks: Sequence[int] = (4, 8)) -> list[dict[str, object]]:
    """Return cells of two queues counted on fibers: 3 Q (k - i) updates of slot i, or Q of each."""
    cells = []
    for name, updates in (
        ("tang/insertion", lambda k, i: 3 * (k - i)),
        ("tang/heap", lambda *_: 1),
    ):
        queue = dataclasses.replace(STEADY, name=name, executor="fiber")
        for k in ks:
            counted = cell(queue, problem(1024, 16, k)) | {"time": None}
            places = {"queue_updates": [16 * updates(k, i) for i in range(k)]}
            cells.append(counted | {"places": places})
    return cells


def test_counted_cells_are_drawn_by_position_and_in_all_as_means_of_a_query(
    tmp_path: Path,
) -> None:
    records = all_of(write_run(tmp_path / "counted", counted_cells()))
    position, total = queue_updates.draw(records, Options())
    curves = {tuple(line.get_ydata()) for axes in position.figure.axes for line in axes.lines}
    assert curves == {(12, 9, 6, 3), (24, 21, 18, 15, 12, 9, 6, 3), (1,) * 4, (1,) * 8}
    curves = {tuple(line.get_ydata()) for axes in total.figure.axes for line in axes.lines}
    assert curves == {(30, 108), (4, 8)}
    assert [row["updates"] for row in rows(total)] == ["64", "128", "480", "1728"]
    assert sum(int(row["updates"]) for row in rows(position)) == 64 + 128 + 480 + 1728
    assert "Intel(R) Xeon(R) Platinum 8480+" in texts(total.figure)
    assert all(kind.draw(records, Options()) == [] for kind in TIMED)


def test_one_k_has_no_figure_of_totals(tmp_path: Path) -> None:
    records = all_of(write_run(tmp_path / "counted", counted_cells([8])))
    assert only(queue_updates.draw(records, Options())).name.endswith("-n1024-position")


def test_timed_cells_have_no_figure_of_updates(quick: Path) -> None:
    assert queue_updates.draw(all_of(quick), Options()) == []


def test_nothing_written_overlaps_or_leaves_the_page(quick: Path, tmp_path: Path) -> None:
    counted = all_of(write_run(tmp_path / "counted", counted_cells()))
    options = Options(baseline="thrust/sort")
    drawn = [(kind, only(kind.draw(all_of(quick), options))) for kind in TIMED]
    drawn += [(registry()["updates"], d) for d in queue_updates.draw(counted, Options())]
    for kind, drawing in drawn:
        figure = drawing.figure
        figure.draw_without_rendering()
        panels = [axes for axes in figure.axes if axes.lines or axes.patches]
        boxes = [text.get_window_extent() for text in figure.texts]
        boxes += [legend.get_window_extent() for legend in figure.legends]
        # Under a panel of `time` stands the band of its crosses, less high than the tick beside it.
        boxes += [axes.get_tightbbox().padded(0, -0.04 * figure.dpi) for axes in panels]
        page = figure.bbox
        for i, box in enumerate(boxes):
            assert page.x0 <= box.x0 < box.x1 <= page.x1, (kind.name, box)
            assert page.y0 <= box.y0 < box.y1 <= page.y1, (kind.name, box)
            for other in boxes[i + 1 :]:
                wide = min(box.x1, other.x1) - max(box.x0, other.x0)
                high = min(box.y1, other.y1) - max(box.y0, other.y0)
                assert min(wide, high) < 0.02 * figure.dpi, (kind.name, box, other)
