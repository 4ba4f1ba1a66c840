"""`python -m plots.scaling` and `plots.scale_plan` on cells as configs/templates/scaling.sh makes them."""

import csv
import json

import pytest
from plots import older_searches, scale_plan, scaling
from plots.records import load_whole


def record(gpus, seconds, *, n=1000, queries=100, compute=None, read=0.1, resident=True, bound=0, file="base.npy"):
    """One search; every rank computes for `compute` seconds and has its part of the corpus."""
    compute = seconds * 0.8 if compute is None else compute
    names = ("setup", "queries", "nearest", "read_wait", "ranks_wait", "exchange", "merge",
             "write", "write_wait")  # fmt: skip
    rank = {
        "vectors": n // gpus,
        "bytes_read": 4 * 128 * n // gpus,
        "resident": resident,
        "corpus_tiles": 1,
        "threads": 1,
        "rows_proven": 0,
        "unproven_queries": 0,
        "time": {name: seconds * 0.02e9 for name in names}
        | {"search": seconds * 1e9, "read": read * 1e9},
        "gpu_time": {"norms": 0.0, "distance": compute * 0.5e9, "selection": compute * 0.25e9,
                     "order": compute * 0.25e9, "redo": 0.0},
        "gpu": {"name": "Test GPU"},
        "host": {"cpu": "Test CPU"},
    }  # fmt: skip
    request = {"base": [file], "n": n, "queries": queries, "dimension": 128, "k": 100, "self": False,
               "exclude_self": False, "metric": "sqeuclidean", "memory_bytes": gpus << 30, "tf32": False,
               "device_memory_bytes": bound, "prove": "none"}  # fmt: skip
    return {"schema": 1, "what": "knn_in_tiles", "started": "2026-11-21T21:35:53Z", "elapsed_s": seconds,
            "request": request, "ranks": [rank | {"rank": r} for r in range(gpus)], "executor": "cuda",
            "algorithm": {"name": "auto", "family": "auto", "source": "", "file": "", "source_hash": ""},
            "exchange": "host", "query_tile": queries, "query_tiles": 1,
            "git": {"commit": "c" * 40, "dirty": False}, "build": {}}  # fmt: skip


def write(directory, searches):
    """Writes scaling.jsonl of (experiment, record), and what is no search; makes cells of it."""
    directory.mkdir(exist_ok=True)
    lines = [{"experiment": "file", "name": "out-of-core", "bytes": 5, "ns": 7}]
    lines += [{"experiment": e, "repeat": 1, "record": r} for e, r in searches]
    (directory / "scaling.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines))
    assert older_searches.rewrite(directory)
    return str(directory)


DISK = {"bound": 1 << 30, "file": "on-disk.npy"}


@pytest.fixture
def measured(tmp_path):
    searches = [("strong", record(1, t)) for t in (8.0, 9.0, 10.0)]
    searches += [("strong", record(2, 5.0)), ("strong", record(4, 3.0))]
    searches += [("weak", record(1, 2.0, n=250)), ("weak", record(4, 2.5))]
    searches += [("out-of-core", record(1, 4.0, compute=3.0, read=1.0, resident=False, bound=1 << 30))]
    searches += [("disk", record(1, 4.0, queries=10, compute=0.5, read=3.8, resident=False, **DISK))]
    searches += [("disk", record(1, 4.0, queries=50, compute=0.5, read=3.8, **DISK))]
    return write(tmp_path / "run", searches)


def test_efficiencies_shares_and_overlaps(measured, tmp_path):
    assert scaling.main([measured, "--out", str(tmp_path / "out")]) == 0
    (table,) = (tmp_path / "out").glob("*.csv")
    assert table.stem == "scaling-test-gpu-d128-k100"
    rows = list(csv.DictReader(table.open()))
    value = {(r["panel"], r["series"], r["x"]): float(r["value"]) for r in rows}
    assert value["efficiency", "strong", "1"] == 1
    assert value["efficiency", "strong", "2"] == pytest.approx(9 / (2 * 5))
    assert value["efficiency", "strong", "4"] == pytest.approx(9 / (4 * 2.75)), "3 and 2.5 s: two rounds"
    assert value["efficiency", "weak", "4"] == pytest.approx(2 / 2.75)
    assert value["share", "compute", "2"] == pytest.approx(0.8)
    assert value["share", "exchange", "4"] == pytest.approx(0.02)
    assert value["out of core", "from memory's file cache, 1 GPU", "100"] == pytest.approx(3 / 4)
    assert value["out of core", "from disk, 1 GPU", "10"] == pytest.approx(3.8 / 4)
    assert ("out of core", "from disk, 1 GPU", "50") not in value, "that one was resident"


def test_equal_records_give_equal_files(measured, tmp_path):
    for out in ("a", "b"):
        assert scaling.main([measured, "--out", str(tmp_path / out)]) == 0
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


def test_bad_input(tmp_path, capsys):
    assert scaling.main([str(tmp_path / "none")]) == 3
    assert "no such run" in capsys.readouterr().err
    assert scaling.main([write(tmp_path / "one", [("strong", record(1, 1.0))])]) == 3
    assert "no searches on several" in capsys.readouterr().err
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "scaling.jsonl").write_text('{"experiment": "strong", "record": {}}\n')
    assert older_searches.main([str(tmp_path / "bad")]) == 3
    assert "bad: no record of searches" in capsys.readouterr().err


def test_repeats_are_rounds_and_lines_kept_twice_count_once(tmp_path):
    both = record(2, 5.0)
    run = write(tmp_path / "run", [("strong", both), ("weak", both), ("strong", record(2, 7.0)),
                                   ("weak", record(1, 5.0, n=500))])  # fmt: skip
    whole = load_whole(scaling.Path(run))
    assert [c["time"]["rounds"] for c in whole.cells] == [[5e9, 7e9], [5e9]]
    assert whole.meta["converted_from"]["other_lines"][0]["bytes"] == 5
    assert {(s.experiment, s.gpus) for s in scaling.read([scaling.Path(run)])} == {("weak", 1), ("weak", 2)}


def test_the_plan_follows_from_the_rates(measured, capsys):
    found = list(scaling.cells([scaling.Path(measured)]))
    rates = scale_plan.rates_of([found[0]], 128)  # one GPU: 8, 9 and 10 s, 0.8 of them computing
    assert rates.products == pytest.approx(2 * 100 * 1000 * 128 / 3.6)
    assert rates.selection == pytest.approx(100 * 1000 / 3.6)
    assert rates.read == pytest.approx(4 * 128 * 1000 / 0.1)
    assert rates.link is None, "one GPU alone"
    arguments = [measured, "--n", "1e9", "--queries", "1e6", "--device-gib", "139"]
    assert scale_plan.main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    cells = {line.split("|")[1].strip(): [c.strip() for c in line.split("|")[2:-1]]
             for line in lines if line.startswith("| ") and "GPUs" not in line}  # fmt: skip
    assert cells["1"][:3] == ["476.8", "no", "10"]
    assert cells["8"][:3] == ["59.6", "yes", "1"]
    assert cells["1"][5] == "0 s" and cells["4"][5] != "open"


def test_a_plan_without_a_record_of_a_gpu(measured, capsys):
    assert scale_plan.main([measured, "--dimension", "64"]) == 3
    assert "no record of a GPU with dimension 64" in capsys.readouterr().err
    with pytest.raises(SystemExit) as stopped:
        scale_plan.main([measured, "--n", "0"])
    assert stopped.value.code == 2


def test_the_documentation_follows_from_the_record(tmp_path, capsys):
    """docs/scale.md has the plan by the committed record, which has its figure's points beside it."""
    root = scaling.Path(__file__).parents[2]
    run = root / "results" / "nvidia-h200-x2" / "scaling"
    text = (root / "docs" / "scale.md").read_text()
    assert scale_plan.main([str(run), "--n", "1e9", "--queries", "1e6", "--tile", "100000"]) == 0
    assert all(row in text for row in capsys.readouterr().out.splitlines() if row.startswith("|"))
    assert scaling.main([str(run), "--out", str(tmp_path)]) == 0
    (points,) = run.glob("*.csv")
    assert points.read_bytes() == (tmp_path / points.name).read_bytes()
