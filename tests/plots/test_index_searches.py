"""`python -m plots.index_searches` on records as `kselect index --record` writes them."""

import csv
import json
import zlib

import pytest
from plots import index_searches


def record(kind, executor, time, *, k=None, share=None, batch=0, alpha=0.5, threads=2, **search):
    """One record; `time` in ns for 10 queries, or the distances of a query on fibers."""
    index = {"kind": kind, "source": "images.npy", "objects": 96, "metric": "euclidean"}
    index |= {"list_of_clusters": {"cluster_size": 64}, "sss": {"alpha": alpha}}.get(kind, {})
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
    }


def write(directory, records):
    """Writes runs.jsonl with checksums."""
    directory.mkdir(exist_ok=True)
    lines = []
    for value in records:
        text = json.dumps(value)
        lines.append(f'{text[:-1]},"crc32":"{zlib.crc32(text.encode()):08x}"}}\n')
    (directory / "runs.jsonl").write_text("".join(lines))
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
    assert index_searches.main([str(write(tmp_path, [])), *out]) == 3
    broken = record("sss", "cuda", 1.0, k=8)
    del broken["search"]
    assert index_searches.main([str(write(tmp_path, [broken])), *out]) == 3
    assert "runs.jsonl:1: lacks 'search'" in capsys.readouterr().err
