"""The reproduction from records to files: what is drawn, what is told, what --check sees."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from plots import line_panels, style
from plots.figures import Drawing
from plots.reproduce import figures
from plots.reproduce.cells import Missing, best_of_family
from plots.reproduce.library import Library

from conftest import QMS, JsonObject, cell, garcia_cells, problem, write_run
from reproduced import EXPERIMENTS, drawn, rows, texts


def test_a_speed_up_is_the_ratio_of_recorded_medians_and_failures_are_hatched(here: Path) -> None:
    drawing = drawn("K-fig4", here / "results" / "some-gpu" / "komarov_fig4")
    medians = {
        (c["algorithm"]["name"], c["problem"]["n"], c["problem"]["k"]): c["time"]["median"]
        for c in garcia_cells()
        if c["time"]
    }
    found = rows(drawing)
    assert len(found) == 4
    for row in found:
        n, k = int(row["n"]), int(row["k"])
        if k == 64:
            ratio = medians["garcia", n, k] / medians["qms-block+paper", n, k]
            assert float(row["y"]) == pytest.approx(ratio)
            assert float(row["low"]) < ratio < float(row["high"])
        else:
            assert row["y"] == ""
    hatches = [p for axes in drawing.figure.axes for p in axes.patches if p.get_hatch()]
    assert len(hatches) == 2
    written = texts(drawing)
    assert "n/a 1: garcia, unsupported: k > 256" in written
    assert "no cell of qms-warp, qms-block" in written
    assert "komarov_fig4 (sha256 " in written  # the record it came from
    stars = [
        line for axes in drawing.figure.axes for line in axes.lines if line.get_marker() == "*"
    ]
    assert [(line.get_xdata()[0], line.get_ydata()[0]) for line in stars] == [(2**18, 350)]


def test_the_page_of_a_paper_figure_holds_all_that_is_written(here: Path) -> None:
    figure = drawn("K-fig4", here / "results" / "some-gpu" / "komarov_fig4").figure
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in figure.texts]
    boxes += [legend.get_window_extent() for legend in figure.legends]
    boxes += [axes.get_tightbbox().padded(-0.04 * figure.dpi) for axes in figure.axes]
    for i, box in enumerate(boxes):
        assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1
        for other in boxes[i + 1 :]:
            wide = min(box.x1, other.x1) - max(box.x0, other.x0)
            high = min(box.y1, other.y1) - max(box.y0, other.y0)
            assert min(wide, high) < 0.03 * figure.dpi


def test_a_run_without_the_cells_of_a_figure_says_which(tmp_path: Path) -> None:
    run = write_run(tmp_path / "gpu" / "komarov_fig4", garcia_cells()[:2])
    (source,) = Library(run).sources(EXPERIMENTS["K-fig4"])
    with pytest.raises(Missing, match=r"2 of 2 points without a cell of garcia, garcia\+global"):
        figures.draw(EXPERIMENTS["K-fig4"], EXPERIMENTS["K-fig4"].figures[0], source)


def test_the_best_of_a_family_is_one_series(tmp_path: Path) -> None:
    def takes(name: str, n: int, ns: float | None) -> JsonObject:
        made = cell(dataclasses.replace(QMS, name=name), problem(n, 8, 8))
        if ns is None:
            return made | {"status": "timeout", "reason": "60 s", "time": None}
        return made | {"time": made["time"] | {"median": ns, "ci95": [ns, ns]}}

    cells = [takes("sort", 1024, 30), takes("sort+t512", 1024, 20), takes("sorted", 1024, 10)]
    cells += [takes("sort", 2048, 40), takes("sort+t512", 2048, None), takes("heap", 1024, 50)]
    (source,) = Library(write_run(tmp_path / "gpu" / "run", cells)).sources(
        dataclasses.replace(EXPERIMENTS["K-fig4"], config="run")
    )
    kept = best_of_family(source.records, ["sort", "heap"])
    assert sorted((r.algorithm, r.n, r.time and r.time.median) for r in kept) == [
        ("heap", 1024, 50),
        ("sort (best)", 1024, 20),
        ("sort (best)", 2048, 40),
        ("sorted", 1024, 10),
    ]


def test_another_run_serves_as_a_slice_until_the_own_is_there(tmp_path: Path) -> None:
    cells = [cell(QMS, problem(1 << e, 1 << (27 - e), 8)) for e in (12, 15)]
    cells.append(cell(QMS, problem(1 << 12, 8, 8)))  # of another product
    write_run(tmp_path / "gpu" / "komarov_grid", cells)
    drawing = drawn("K-fig6", tmp_path, 1)
    assert len(rows(drawing)) == 2
    assert "its own run is not recorded" in texts(drawing)
    write_run(tmp_path / "gpu" / "komarov_fig6", cells[:1])
    drawing = drawn("K-fig6", tmp_path, 1)
    assert len(rows(drawing)) == 1
    assert "its own run is not recorded" not in texts(drawing)


def test_of_runs_on_one_model_of_device_the_newest_is_drawn(tmp_path: Path) -> None:
    def write(where: str, started: str, **meta: Any) -> None:
        write_run(tmp_path / where, garcia_cells(), started=started, **meta)

    def found(name: str) -> list[str]:
        sources = Library(tmp_path).sources(EXPERIMENTS[name])
        return [run.path.removeprefix(f"{tmp_path}/") for s in sources for run in s.runs]

    write("a/goal_many_rows", "2026-11-21T08:00:00Z")
    write("b/goal_many_rows", "2026-11-20T08:00:00Z")
    assert found("X-goal-rows") == ["a/goal_many_rows"]
    write("b/tuned_goal_many_rows", "2026-11-22T08:00:00Z")
    assert found("X-goal-rows") == ["b/tuned_goal_many_rows"]
    write("c/goal_many_rows", "2026-11-20T08:00:00Z", gpu=[])
    assert found("X-goal-rows") == ["b/tuned_goal_many_rows", "c/goal_many_rows"]
    write("d/komarov_grid", "2026-11-23T08:00:00Z")  # a slice, though newer
    write("b/winner_map", "2026-11-22T08:00:00Z")
    assert found("X-winner") == ["b/winner_map"]


def at_table1(name: str, milliseconds: float, **changes: Any) -> JsonObject:
    """Return a cell of T-table1 that takes so long, with other members replaced."""
    made = cell(dataclasses.replace(QMS, name=name), problem(1 << 15, 8192, 32))
    ns = milliseconds * 1e6
    return made | {"time": made["time"] | {"median": ns, "ci95": [ns, ns]}} | changes


def table1(tmp_path: Path, cells: list[JsonObject]) -> tuple[Drawing, dict[Any, dict[str, str]]]:
    write_run(tmp_path / "gpu" / "tang_table1", cells)
    drawing = drawn("T-table1", tmp_path)
    return drawing, {(row["row"], row["column"]): row for row in rows(drawing)}


def test_the_table_has_ours_beside_the_published(tmp_path: Path) -> None:
    failed = cell(
        dataclasses.replace(QMS, name="tang/merge+lockstep"),
        problem(1 << 15, 8192, 32),
        "timeout",
        "60 s",
    )
    cells = [at_table1("tang/heap+lockstep", 3), at_table1("cpu/heap+omp", 20, threads=24), failed]
    drawing, found = table1(tmp_path, cells)
    assert found["Heap_Queue", "k = 2^5"]["seconds"] == "0.003"
    assert found["Heap_Queue", "k = 2^5"]["published_s"] == "0.05"
    assert found["Merge_Queue", "k = 2^5"]["status"] == "timeout"
    assert found["Heap_Queue", "n = 2^13"]["status"] == "not in the record"
    assert "tang/merge+lockstep, timeout: 60 s" in texts(drawing)
    assert found["CPU_24 (CPU_16)", "k = 2^5"]["seconds"] == "0.02"
    hatches = [p for axes in drawing.figure.axes for p in axes.patches if p.get_hatch()]
    assert len(hatches) == len(found) - 2


def stage(milliseconds: float) -> JsonObject:
    ns = milliseconds * 1e6
    timed = {"clock": "cuda_event", "unit": "ns", "median": ns, "samples": [ns]}
    return {"executor": "cuda"} | timed


def test_the_table_has_the_stages_beside_selection(tmp_path: Path) -> None:
    inputs = {"copies": 1, "fresh": True, "distances": stage(7), "to_host": stage(90)}
    cells = [at_table1(n, 3, inputs=inputs) for n in ("tang/heap", "data_copy/heap")]
    _, found = table1(tmp_path, cells)
    assert found["Distance calculation", "k = 2^5"]["seconds"] == "0.007"
    assert found["Distance calculation", "k = 2^5"]["published_s"] == "0.14"
    assert found["Data_Copy", "k = 2^5"]["seconds"] == "0.09"


# A difference of two noisy times was below zero.
def test_the_table_says_which_stages_an_old_record_lacks(tmp_path: Path) -> None:
    old = {"inputs": {"copies": 1, "fresh": False}}
    cells = [at_table1("tang/heap", 3, **old), at_table1("data_copy/heap", 20, **old)]
    drawing, found = table1(tmp_path, [*cells, at_table1("cpu/heap", 30, **old)])
    for row in ("Distance calculation", "Data_Copy"):
        assert found[row, "k = 2^5"]["seconds"] == ""
        assert found[row, "k = 2^5"]["status"] == "not in the record"
    assert "the time of the distances is not in this record" in texts(drawing)
    assert "the time of a copy of the rows to the host is not in this record" in texts(drawing)


def trials(n: int, **inputs: Any) -> JsonObject:
    made = cell(QMS, problem(n, 256, 32))
    made["time"]["rounds"] = [99.0, 100.0, 101.0]
    return made | ({"inputs": inputs} if inputs else {})


def test_trials_are_drawn_as_mean_and_deviation(tmp_path: Path) -> None:
    cells = [
        trials(1 << 16, copies=1, fresh=True),
        trials(1 << 18, copies=1, fresh=False),
        trials(1 << 20),
    ]
    write_run(tmp_path / "gpu" / "komarov_table2", cells)
    fresh, same, unknown = rows(drawn("K-table2", tmp_path))
    assert (fresh["trials"], float(fresh["mean_ns"]), float(fresh["deviation_ns"])) == ("3", 100, 1)
    assert [row["data_sets"] for row in (fresh, same, unknown)] == ["3", "1", ""]


def test_time_is_split_by_stage(tmp_path: Path) -> None:
    def stage(median: float, of_time: bool = True) -> JsonObject:
        return {"unit": "ns", "of_time": of_time, "median": median, "ci95": [median, median]}

    made = cell(QMS, problem(10, 10, 2))
    made["stages"] = {"distance": stage(600.0), "selection": stage(300.0), "redo": stage(0.0),
                      "order": stage(100.0), "prepare": stage(50.0, of_time=False)}  # fmt: skip
    made["problem"] |= {"dimension": 3, "metric": "euclidean"}
    folder = write_run(tmp_path / "gpu" / "mnist_knng", [made | {"task": "knn", "counts": {}}])
    (source,) = Library(tmp_path).sources(EXPERIMENTS["K-knng"])
    (drawing,) = figures.draw(EXPERIMENTS["K-knng"], EXPERIMENTS["K-knng"].figures[0], source)
    shares = {row["stage"]: float(row["share"]) for row in rows(drawing)}
    assert shares == {"distance": 0.6, "selection": 0.3, "order": 0.1}
    del made["stages"]["order"]["of_time"]
    write_run(folder, [made])
    library = Library(tmp_path)
    assert not list(library.sources(EXPERIMENTS["K-knng"]))
    assert "of_time" in library.failures[0]


def test_equal_points_are_drawn_whatever_their_values() -> None:
    record = drawn_record()
    placed = [line_panels.Point(x, 5.0, 5.0, 5.0, (record,)) for x in (8, 16)]
    for scale in ("auto", "log", "share"):
        sheet = line_panels.Sheet("t", "s", {"p": {"a": placed}}, "x", "y", y_scale=scale)
        style.apply()
        assert len(line_panels.draw(sheet).axes[0].lines) == 1


def drawn_record() -> Any:
    """Return some record."""
    from plots.records import Run, _parse

    run = Run(1, "r", "cpu", "gpu", "", False, "complete")
    return _parse(garcia_cells()[0], run, "here")


def test_every_figure_kind_of_the_lists_is_known() -> None:
    registered: Mapping[str, object] = figures.figures.registry()
    for one in EXPERIMENTS.values():
        for figure in one.figures:
            own = {"lines", "table", "searches", "stages", "spread", "ladder"}
            assert figure.kind in {*registered, *own}, one.id
