"""`python -m plots.index_searches` on cells of searches in metric indexes."""

import csv

import pytest
from conftest import line, write_run
from plots import index_searches, older_searches
from plots.journal import read_journal


def record(kind, executor, time, *, k=None, share=None, batch=0, alpha=0.5, threads=2, **search):
    """One record; `time` in ns for 10 queries, or the distances of a query on fibers."""
    index = {"kind": kind, "source": "images.npy", "objects": 96, "metric": "euclidean"}
    index |= {"list_of_clusters": {"cluster_size": 64}, "sss": {"alpha": alpha, "pivots": 2}}.get(kind, {})
    if kind == "sss":
        search = {"distribution": "elements"} | search
    search |= {"what": "knn" if share is None else "range", "queries": 10, "batch": batch}
    search |= {name: x for name, x in (("k", k), ("share", share)) if x is not None}
    counted = {"per_query": {"distances": time, "bytes_read": 10.0, "bytes_written": 5.0}}
    fiber = executor == "fiber"
    return {
        "schema": 1,
        "what": "index_search",
        "index": index,
        "search": search,
        "executor": executor,
        "threads": threads,
        "time": None if fiber else {"median": time},
        "work": counted if fiber else None,
        "started": "2026-11-22T08:36:55Z",
        "git": {"commit": "0123456", "dirty": False},
        "host": {"cpu": "a CPU"},
        "gpu": [{"name": "a GPU"}],
    }


def write(directory, records):
    """Writes a run of cells, from records in the older form."""
    directory.mkdir(exist_ok=True)
    (directory / "runs.jsonl").write_bytes(b"".join(line(value) for value in records))
    assert older_searches.rewrite(directory)
    return directory


def drawn(directory, out):
    """The CSV rows of each figure, by name."""
    assert index_searches.main([str(directory), "--out", str(out)]) == 0
    return {path.stem: list(csv.DictReader(path.open())) for path in out.glob("*.csv")}


def test_every_figure(tmp_path):
    lists = [record("list_of_clusters", "cuda", 100.0 * k, k=k) for k in (8, 16)]
    falling = [
        record("list_of_clusters", "cuda", 300.0 * k, k=k, radius_rule="decreasing") for k in (8, 16)
    ]
    host = [record("list_of_clusters", "cpu", 900.0 * k, k=k, threads=1) for k in (8, 16)]
    alphas = [record("sss", "fiber", 50.0 * a, k=8, alpha=a) for a in (0.4, 0.6)]
    batches = [record("list_of_clusters", "cuda", 1e4 / b, share=0.1, batch=b) for b in (5, 30)]
    figures = drawn(write(tmp_path, lists + falling + host + alphas + batches), tmp_path / "out")
    assert set(figures) == {f"index-images-96-{x}" for x in ("k", "alpha", "speedup-knn", "batch")}
    speedups = {row["k"]: float(row["value"]) for row in figures["index-images-96-speedup-knn"]}
    assert speedups == {"8": 9.0, "16": 9.0}
    times = figures["index-images-96-k"]
    assert {row["series"] for row in times} == {
        "List of Clusters, of 64",
        "List of Clusters, of 64, decreasing",
    }
    rates = {row["queries at a time"]: float(row["value"]) for row in figures["index-images-96-batch"]}
    assert rates["30"] == pytest.approx(6 * rates["5"])
    quantities = {row["quantity"] for row in figures["index-images-96-alpha"]}
    assert quantities == {"distances a query", "bytes moved a query"}


def test_the_last_of_equal_searches_counts(tmp_path):
    twice = [record("none", "cuda", t, k=k) for k in (8, 16) for t in (1.0, 2000.0)]
    rows = drawn(write(tmp_path, twice), tmp_path / "out")["index-images-96-k"]
    assert [float(row["value"]) for row in rows] == [0.2, 0.2]


def test_errors(tmp_path, capsys):
    out = ["--out", str(tmp_path / "out")]
    assert index_searches.main([str(tmp_path / "none"), *out]) == 3
    assert index_searches.main([str(write_run(tmp_path / "empty", [])), *out]) == 3
    run = write(tmp_path / "one", [record("sss", "cuda", 1.0, k=8)])
    cells, _ = read_journal(run / "runs.jsonl.gz")
    (run / "runs.jsonl.gz").unlink()
    del cells[0]["counts"], cells[0]["crc32"]
    (run / "runs.jsonl").write_bytes(line(cells[0]))
    assert index_searches.main([str(run), *out]) == 3
    assert "one: cell 1 lacks 'counts'" in capsys.readouterr().err
