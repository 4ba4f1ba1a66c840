"""`python -m plots.knn_rivals` on runs as peers/knn_on_gpu.py and peers/knn_on_host.py write them."""

import csv
import json

import pytest
from plots import knn_rivals
from plots.board.gather import gather
from plots.board.searches import searches

from conftest import write_run

ASKED = {
    "n": 1_000_000, "q": 10_000, "k": 10, "dtype": "float32", "index": "int32", "direction": "smallest",
    "payload": "values_and_indices", "layout": "row_major", "pitch": 0, "distribution": "external", "seed": 0,
    "dimension": 128, "metric": "sqeuclidean", "queries": "separate",
}  # fmt: skip
OWN = "auto+product=float16"


def arm(name, times_ms, exact=32, executor="cuda", stages=(), counts=None, **problem):
    """One arm's cell; without times it is unsupported."""
    ns = [1e6 * ms for ms in times_ms]
    time = {"clock": "steady", "unit": "ns", "median": sorted(ns)[len(ns) // 2], "ci95": [min(ns), max(ns)],
            "rounds": ns} if ns else None  # fmt: skip
    stages = {stage: {"median": 1e6 * ms, "of_time": False} for stage, ms in stages}
    if exact < 32 and ns:
        time, stages["search"] = None, time | {"of_time": False}
    return {
        "schema": 1, "key": f"{name} {problem}", "status": "ok" if time else "unsupported",
        "reason": "" if time else "no time", "problem": ASKED | problem, "input": {"kind": "dataset", "name": "uniform.npy"},
        "algorithm": {"name": name, "family": "auto" if name == OWN else "library k-NN", "source": "", "file": "",
                      "source_hash": ""},
        "executor": executor, "threads": 1, "time": time, "task": "knn",
        "stages": stages,
        "counts": {"rows_checked": 32.0, "rows_exact": float(exact)} if counts is None else counts,
    }  # fmt: skip


def own(share=0.5, **problem):
    counts = {"rows_checked": 32.0, "rows_exact": 32.0} | ({} if share is None else {"share_of_products": share})
    return arm(OWN, [4, 9, 5], stages=[("prepare", 0.75)], counts=counts, **problem)


def write(directory, cells, **meta):
    meta = {"config": {"name": "knn", "task": "knn"}, "gpu": [{"name": "Test GPU"}], "rivals": []} | meta
    return str(write_run(directory, cells, **meta))


def cells(rivals=("torch", "cuvs")):
    first = [own(), *(arm(name, [170, 180, 181], exact=31) for name in rivals)]
    return [*first, own(share=None, queries="graph"), arm("torch", [], queries="graph")]


def test_table_and_points(tmp_path, capsys):
    assert knn_rivals.main([write(tmp_path / "run", cells()), "--out", str(tmp_path / "out")]) == 0
    head, _, *rows = (line for line in capsys.readouterr().out.splitlines() if line.startswith("|"))
    names = [cell.strip() for cell in head.split("|")[1:-1]]
    first, second = (dict(zip(names, (c.strip() for c in row.split("|")[1:-1]), strict=True))
                     for row in rows)  # fmt: skip
    assert first["n · Q · d · k"] == "1,000,000 · 10,000 · 128 · 10"
    assert first[OWN] == "5 (32/32)" and first["cuvs"] == "180 (31/32)"
    assert first["share of the ceiling"] == "50 %" and first["preparing the corpus"] == "0.75"
    assert second["n · Q · d · k"].endswith(", graph") and second["torch"] == second["cuvs"] == ""
    assert second["share of the ceiling"] == ""
    (table,) = (tmp_path / "out").glob("*.csv")
    assert table.stem == "knn-rivals-test-gpu"
    points = list(csv.DictReader(table.open()))
    assert [(p["library"], p["min_ms"], p["exact_rows"]) for p in points][:2] == [
        (OWN, "4.0", "32"), ("torch", "170.0", "31")]  # fmt: skip
    assert len(points) == 4


def host_cells():
    """Two arms of one search on a host, by one thread and by two."""
    return [
        arm(name, [ms] * 3, executor="cpu", stages=[("processors", processors)], counts=counts, threads=threads)
        for threads in (1, 2)
        for name, ms, processors, counts in (("auto", 2, 1.5, {}), ("faiss-cpu", 8, 6, None))
    ]  # fmt: skip


def test_a_host_has_a_search_for_each_number_of_threads_and_the_processors_time(tmp_path, capsys):
    folder = write(tmp_path / "host", host_cells(), gpu=[], host={"cpu": "Test CPU"})
    assert knn_rivals.main([folder, "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert "128 · 10, threads 1 | 2 | 8 (32/32) |" in said and "128 · 10, threads 2 |" in said
    (table,) = searches([tmp_path / "host"]).tables
    assert table["title"] == "Search beside other libraries, Test CPU"
    told = dict(zip(table["heads"], table["rows"][1], strict=True))
    assert told["threads"] == 1 and told["library"] == "faiss-cpu"
    assert told["over kselect's"] == told["processors over kselect's"] == "4"
    assert told["exact rows of those checked"] == "32 of 32"


def test_the_board_tells_of_a_gpus_searches_once(tmp_path):
    write(tmp_path / "run", cells())
    found = searches([tmp_path / "run"])
    assert [table["title"] for table in found.tables] == ["Search beside other libraries, Test GPU"]
    assert len(found.tables[0]["rows"]) == 4 and found.failures == []
    assert "threads" not in found.tables[0]["heads"]
    write_run(tmp_path / "sweep", [own()], config={"name": "sweep", "task": "knn"})
    assert gather([tmp_path]).names == ["sweep"], "other pages leave searches beside libraries out"


def test_a_search_without_kselects_time_is_left_out(tmp_path):
    timed, lost = own(), own(queries="graph") | {"status": "out_of_memory", "time": None}
    rivals = [arm("torch", [170, 180], **problem) for problem in ({}, {"queries": "graph"})]
    write(tmp_path / "run", [timed, lost, *rivals])
    (only,) = knn_rivals.read([tmp_path / "run"])
    assert only.problem["queries"] == "separate"


def test_equal_records_give_equal_files(tmp_path):
    measured = write(tmp_path / "run", cells())
    for out in ("a", "b"):
        assert knn_rivals.main([measured, "--out", str(tmp_path / out)]) == 0
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


def test_bad_input(tmp_path, capsys):
    assert knn_rivals.main([str(tmp_path / "none")]) == 3
    without = json.loads(json.dumps(own()))
    del without["counts"]
    assert knn_rivals.main([write(tmp_path / "one", [arm("torch", [1]), without])]) == 3
    assert "cell 2 is no search beside others: KeyError('counts')" in capsys.readouterr().err
    assert knn_rivals.main([write(tmp_path / "empty", [])]) == 3
    assert "no searches to draw" in capsys.readouterr().err


@pytest.mark.parametrize("arms", [0, 3])
def test_a_figure_of_any_number_of_rivals(tmp_path, arms):
    measured = write(tmp_path / "run", cells([f"rival {i}" for i in range(arms)]))
    assert knn_rivals.main([measured, "--out", str(tmp_path / "out")]) == 0
