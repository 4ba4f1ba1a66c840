"""`python -m plots.knn_end_to_end` on cells of k-NN searches."""

import csv
import json

import pytest
from conftest import write_run
from plots import knn_end_to_end, older_searches

# Of a counted repeat, in ns.
STAGES = {"norms": 1e6, "distance": 60e6, "selection": 10e6, "merge": 0.5e6, "order": 2e6,
          "redo": 0, "elapsed": 74e6, "bare_product": 50e6}  # fmt: skip


def record(*, selection=(9e6, 10e6, 12e6), tf32=False, n=1_000_000, queries=10_000):
    """An older record: a slow first repeat, then one for each time of selection."""
    samples = {name: [1e9] + [ns] * len(selection) for name, ns in STAGES.items()}
    samples |= {"selection": [1e9, *selection], "total": [1e9] + [74e6] * len(selection)}
    return {
        "schema": 1,
        "what": "knn",
        "started": "2026-11-22T00:41:05Z",
        "request": {
            "base": {"source": "1.npy", "hash": "1", "count": n, "dimension": 128},
            "query": {"source": "2.npy", "hash": "2", "count": queries, "dimension": 128},
            "queries": queries, "k": 10, "metric": "sqeuclidean",
        },
        "algorithm": {"name": "auto", "family": "auto", "source": "", "file": "", "source_hash": ""},
        "executor": "cuda",
        "threads": 2,
        "options": {"tf32": tf32, "half_product": False},
        "tiles": {"queries": 10, "corpus": 1},
        "verify": {"rows": 160, "unproven_queries": 3},
        "time": {"clock": "cuda_event", "unit": "ns", "left_out": 1, "samples": samples},
        "ceilings": {"read": 4e12, "copy": 4e12, "cached_read": 0},
        "git": {"commit": "0123456789", "dirty": False},
        "host": {"cpu": "a CPU"},
        "gpu": [{"name": "Test GPU"}],
    }  # fmt: skip


def write(directory, records):
    """Writes a run of cells, from records in the older form."""
    directory.mkdir(exist_ok=True)
    (directory / "knn_end_to_end.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    assert older_searches.rewrite(directory)
    return str(directory)


@pytest.fixture
def measured(tmp_path):
    return write(tmp_path / "run", [record(), record(tf32=True, selection=(20e6,))])


def test_table_and_points(measured, tmp_path, capsys):
    assert knn_end_to_end.main([measured, "--out", str(tmp_path / "out")]) == 0
    head, _, *rows = (line for line in capsys.readouterr().out.splitlines() if line.startswith("|"))
    names = [cell.strip() for cell in head.split("|")[1:-1]]
    first, second = (dict(zip(names, (c.strip() for c in row.split("|")[1:-1]), strict=True))
                     for row in rows)  # fmt: skip
    assert first["n · Q · d · k"] == "1,000,000 · 10,000 · 128 · 10"
    assert (first["product"], second["product"]) == ("float32", "tf32")
    assert first["selection"] == "10 [9.5, 11]", "the first repeat does not count"
    assert first["floor"] == "10" and first["selection / floor"] == "1.00"
    assert second["selection / floor"] == "2.00"
    assert first["adds to distance"] == "14", "all that the search takes beyond the distances"
    assert first["of it the bare product"] == "50" and first["done again"] == "0"
    (table,) = (tmp_path / "out").glob("*.csv")
    assert table.stem == "knn-end-to-end-test-gpu"
    points = {(r["product"], r["stage"]): r for r in csv.DictReader(table.open())}
    assert float(points["float32", "floor"]["median_ms"]) == pytest.approx(10)
    assert float(points["float32", "selection"]["q3_ms"]) == pytest.approx(11)
    assert float(points["tf32", "selection"]["median_ms"]) == 20
    assert points["tf32", "order"]["rounds"] == "1"
    assert points["tf32", "order"]["rows_proven"] == "160"


def test_equal_records_give_equal_files(measured, tmp_path):
    for out in ("a", "b"):
        assert knn_end_to_end.main([measured, "--out", str(tmp_path / out)]) == 0
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


def test_without_a_ceiling_there_is_no_floor(tmp_path, capsys):
    run = write(tmp_path / "one", [record()])
    meta = json.loads((tmp_path / "one" / "meta.json").read_text())
    (tmp_path / "one" / "meta.json").write_text(json.dumps(meta | {"floor": {}}))
    assert knn_end_to_end.main([run, "--out", str(tmp_path / "out")]) == 0
    head, _, row = capsys.readouterr().out.splitlines()[:3]
    cells = dict(zip(head.split("|"), row.split("|"), strict=True))
    assert cells[" floor "] == cells[" selection / floor "] == " - "
    (table,) = (tmp_path / "out").glob("*.csv")
    assert "floor" not in table.read_text()


def test_bad_input(tmp_path, capsys):
    assert knn_end_to_end.main([str(tmp_path / "none")]) == 3
    assert "no such run directory" in capsys.readouterr().err
    run = write(tmp_path / "one", [record()])
    meta = json.loads((tmp_path / "one" / "meta.json").read_text())
    (tmp_path / "one" / "meta.json").write_text(json.dumps(meta | {"floor": {"cuda": {}}}))
    assert knn_end_to_end.main([run]) == 3
    assert "cell 1 is no timed search: KeyError('read')" in capsys.readouterr().err
    assert knn_end_to_end.main([str(write_run(tmp_path / "empty", []))]) == 3
    assert "no searches of a GPU to draw" in capsys.readouterr().err
    assert knn_end_to_end.main([write(tmp_path / "host", [record() | {"executor": "cpu"}])]) == 3
    assert "no searches of a GPU to draw" in capsys.readouterr().err
