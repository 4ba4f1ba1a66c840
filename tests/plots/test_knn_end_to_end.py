"""`python -m plots.knn_end_to_end` on records as scripts/knn_end_to_end.sh writes them."""

import csv
import json

import pytest
from plots import knn_end_to_end

# Of a counted repeat, in ns.
STAGES = {"norms": 1e6, "distance": 60e6, "selection": 10e6, "merge": 0.5e6, "order": 2e6,
          "redo": 0, "elapsed": 74e6, "bare_product": 50e6}  # fmt: skip


def record(*, selection=(9e6, 10e6, 12e6), tf32=False, n=1_000_000, queries=10_000):
    """One record: a slow first repeat, then one for each time of selection."""
    samples = {name: [1e9] + [ns] * len(selection) for name, ns in STAGES.items()}
    samples["selection"] = [1e9, *selection]
    return {
        "request": {"base": {"count": n, "dimension": 128}, "queries": queries, "k": 10},
        "algorithm": {"name": "auto"},
        "options": {"tf32": tf32},
        "tiles": {"queries": 10, "corpus": 1},
        "verify": {"rows": 160, "unproven_queries": 3},
        "time": {"unit": "ns", "left_out": 1, "samples": samples},
        "ceilings": {"read": 4e12, "copy": 4e12, "cached_read": 0},
        "gpu": [{"name": "Test GPU"}],
    }


def write(directory, records):
    directory.mkdir(exist_ok=True)
    (directory / knn_end_to_end.FILE).write_text("".join(json.dumps(r) + "\n" for r in records))
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
    assert (first["product"], second["product"]) == ("float32", "TF32")
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
    assert points["tf32", "order"]["repeats"] == "1"
    assert points["tf32", "order"]["rows_proven"] == "160"


def test_equal_records_give_equal_files(measured, tmp_path):
    for out in ("a", "b"):
        assert knn_end_to_end.main([measured, "--out", str(tmp_path / out)]) == 0
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


def test_bad_input(tmp_path, capsys):
    assert knn_end_to_end.main([str(tmp_path / "none")]) == 3
    assert "cannot be read" in capsys.readouterr().err
    untimed = record() | {"ceilings": None}
    assert knn_end_to_end.main([write(tmp_path / "one", [record(), untimed])]) == 3
    assert f"{knn_end_to_end.FILE}:2: is no record of a timed search" in capsys.readouterr().err
    assert knn_end_to_end.main([write(tmp_path / "empty", [])]) == 3
    assert "no searches to draw" in capsys.readouterr().err
