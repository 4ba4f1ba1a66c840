"""`python -m plots.knn_on_gpu` on records as peers/knn_on_gpu.py writes them."""

import csv
import json

import pytest
from plots import knn_on_gpu


def record(*, graph=False, share=0.5, rivals=("torch float32",)):
    """One search; kselect's samples are 4, 5 and 9 ms."""
    own = {"ms": 5.0, "samples_ms": [4.0, 9.0, 5.0], "exact": 32, "proven": 10_000,
           "stages_ms": {"prepare": 0.75}, "product": {"type": "float16", "share_of_ceiling": share}}  # fmt: skip
    arms = {"kselect float16": own}
    arms |= {name: {"ms": 180.0, "samples_ms": [170.0, 180.0, 181.0], "exact": 31} for name in rivals}
    return {"schema": 1, "what": "knn_on_gpu", "gpu": {"name": "Test GPU"}, "checked": 32, "arms": arms,
            "shape": {"n": 1_000_000, "queries": 10_000, "dimension": 128, "k": 10, "graph": graph}}  # fmt: skip


def write(directory, records):
    directory.mkdir(exist_ok=True)
    (directory / knn_on_gpu.FILE).write_text("".join(json.dumps(r) + "\n" for r in records))
    return str(directory)


def test_table_and_points(tmp_path, capsys):
    measured = write(tmp_path / "run", [record(rivals=("torch float32", "cuVS")),
                                        record(graph=True, share=None, rivals=())])  # fmt: skip
    assert knn_on_gpu.main([measured, "--out", str(tmp_path / "out")]) == 0
    head, _, *rows = (line for line in capsys.readouterr().out.splitlines() if line.startswith("|"))
    names = [cell.strip() for cell in head.split("|")[1:-1]]
    first, second = (dict(zip(names, (c.strip() for c in row.split("|")[1:-1]), strict=True))
                     for row in rows)  # fmt: skip
    assert first["n · Q · d · k"] == "1,000,000 · 10,000 · 128 · 10"
    assert first["kselect float16"] == "5 (32/32)" and first["cuVS"] == "180 (31/32)"
    assert first["share of the ceiling"] == "50 %" and first["preparing the corpus"] == "0.75"
    assert second["n · Q · d · k"].endswith(", graph") and second["cuVS"] == ""
    assert second["share of the ceiling"] == ""
    (table,) = (tmp_path / "out").glob("*.csv")
    assert table.stem == "knn-on-gpu-test-gpu"
    points = list(csv.DictReader(table.open()))
    assert [(p["library"], p["min_ms"], p["exact_rows"]) for p in points][:2] == [
        ("kselect float16", "4.0", "32"), ("torch float32", "170.0", "31")]  # fmt: skip
    assert len(points) == 4


def test_equal_records_give_equal_files(tmp_path):
    measured = write(tmp_path / "run", [record(), record(graph=True)])
    for out in ("a", "b"):
        assert knn_on_gpu.main([measured, "--out", str(tmp_path / out)]) == 0
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


def test_bad_input(tmp_path, capsys):
    assert knn_on_gpu.main([str(tmp_path / "none")]) == 3
    without = record()
    del without["arms"]["kselect float16"]
    assert knn_on_gpu.main([write(tmp_path / "one", [record(), without])]) == 3
    assert f"{knn_on_gpu.FILE}:2: is no record of a search beside others" in capsys.readouterr().err
    assert knn_on_gpu.main([write(tmp_path / "empty", [])]) == 3
    assert "no searches to draw" in capsys.readouterr().err


@pytest.mark.parametrize("arms", [0, 3])
def test_a_figure_of_any_number_of_rivals(tmp_path, arms):
    measured = write(tmp_path / "run", [record(rivals=[f"rival {i}" for i in range(arms)])])
    assert knn_on_gpu.main([measured, "--out", str(tmp_path / "out")]) == 0
