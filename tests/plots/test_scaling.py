"""`python -m plots.scaling` and `plots.scale_plan` on cells as configs/templates/scaling.sh makes them."""

import csv
import json

import pytest
from plots import older_searches, scale_plan, scaling
from plots.records import load_whole


def record(gpus, seconds, *, n=1000, queries=100, compute=None, read=0.1, resident=True, bound=0, file="base.npy"):
    """One search; every rank computes for `compute` seconds and has its part of the corpus."""
    compute = seconds * 0.8 if compute is None else compute
    names = ("setup", "load", "queries", "nearest", "read_wait", "ranks_wait", "exchange", "merge",
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
        | {"search": seconds * 1e9, "read": read * 1e9, "nearest": compute * 1e9 + seconds * 0.02e9},
        "gpu_time": {"prepare": 1.0, "threshold": compute * 0.25e9, "distance": compute * 0.5e9,
                     "order": compute * 0.25e9, "redo": 0.0},
        "gpu": {"name": "Test GPU"},
        "host": {"cpu": "Test CPU"},
    }  # fmt: skip
    request = {"base": [file], "n": n, "queries": queries, "dimension": 128, "k": 100, "self": False,
               "exclude_self": False, "metric": "sqeuclidean", "memory_bytes": gpus << 30, "tf32": False,
               "device_memory_bytes": bound, "prove": "none", "product": "float16"}  # fmt: skip
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


def cell_of(*searches):
    """The cell of equal searches."""
    (cell,) = older_searches.convert("knn_in_tiles", searches)
    return cell


def beside(cell):
    """The same cell by a program that exchanges beside the search."""
    rounds = len(cell["time"]["rounds"])
    for name, ns in (("queries_wait", 1e6), ("lists_wait", 2e6), ("download", 3e6)):
        cell["stages"][name] = cell["stages"]["queries"] | {"median": ns, "rounds": [ns] * rounds}
    return cell


def test_what_is_hidden_is_no_part_of_the_time(tmp_path, monkeypatch):
    older = scaling.Path(write(tmp_path / "old", [("strong", record(g, 4.0 / g)) for g in (1, 2)]))
    found = scaling.read([older])
    assert "exchange" in found[1].parts and "lists_wait" not in found[1].parts
    whole = load_whole(older)
    assert len([beside(cell) for cell in whole.cells]) == 2
    monkeypatch.setattr(scaling, "load_whole", lambda _: whole)
    found = scaling.read([older])
    assert set(found[1].parts) == {"compute", "queries_wait", "read_wait", "lists_wait",
                                   "ranks_wait", "write_wait"}  # fmt: skip
    assert found[1].parts["lists_wait"] == pytest.approx(2e-3)
    assert scaling.main([str(older), "--out", str(tmp_path / "out")]) == 0
    (table,) = (tmp_path / "out").glob("*.csv")
    assert "lists_wait" in table.read_text() and "exchange" not in table.read_text()


def test_the_rates_follow_from_the_record():
    found = cell_of(record(1, 9.0), record(1, 9.0))  # 7.2 s of them computing
    rates = scale_plan.rates_of([found], 128)
    assert rates.products == pytest.approx(2 * 100 * 1000 * 128 / 5.4)
    assert rates.orders == pytest.approx(100 / 1.8)
    assert rates.prepared == pytest.approx(1000 / 1e-9)
    assert rates.download == pytest.approx(20 * 100 * 100 / 0.18), "what computing leaves of `nearest`"
    assert rates.read == pytest.approx(4 * 128 * 1000 / 0.1)
    assert rates.loaded == pytest.approx(4 * 128 * 1000 / 0.18)
    assert rates.write == pytest.approx(12 * 100 * 100 / 0.18)
    assert rates.link is None and rates.merged is None, "one GPU alone"
    two = scale_plan.rates_of([beside(cell_of(record(2, 9.0)))], 128)
    assert two.link == pytest.approx(20 * 100 * 100 / 2 / 0.18)
    assert two.merged == pytest.approx(100 * 100 / 0.18)
    assert two.download == pytest.approx(20 * 100 * 100 / 3e-3)
    assert two.write == pytest.approx(12 * 100 * 100 / 0.36), "stages are means, and rank 0 alone writes"
    streamed = scale_plan.rates_of([cell_of(record(1, 9.0, resident=False))], 128)
    assert streamed.loaded is None and streamed.orders is None and streamed.read is not None
    older = record(1, 9.0)
    older["request"]["product"] = "float32"
    assert scale_plan.rates_of([cell_of(older)], 128).products is None


RATES = scale_plan.Rates(products=1e12, orders=1e6, prepared=1e9, read=1e9, loaded=2e9,
                         queries=1e9, download=1e10, link=1e9, merged=1e9, write=1e9)  # fmt: skip


def test_the_longest_stage_decides_and_the_ends_are_not_hidden():
    search = scale_plan.Search(n=10**6, queries=2 << 13, dimension=128, k=100, tile=10**5,
                               component=4, device_gib=79)  # fmt: skip
    t = 1 << 13
    plan = scale_plan.plan_of(2, search, RATES)
    assert plan.resident and plan.tiles == 2 and plan.stream == 0
    compute = t * (2 * 5e5 * 128 / 1e12 + 1e-6)
    lists = t * 100 * (20 / 1e10 + 20 / 2 / 1e9 + 1 / 1e9)
    queries, write = t * 512 / 1e9, t * 1200 / 1e9
    assert plan.compute == pytest.approx(2 * compute) and compute > lists + queries > write
    assert plan.beside == pytest.approx(2 * (lists + queries))
    assert plan.time == pytest.approx(queries + 2 * compute + lists + write)
    many = scale_plan.plan_of(512, search, RATES)
    assert many.time > many.beside > many.compute, "the lists decide"


def test_a_corpus_that_does_not_fit_is_streamed():
    search = scale_plan.Search(n=10**9, queries=10**5, dimension=128, k=100, tile=10**4,
                               component=1, device_gib=79)  # fmt: skip
    plan = scale_plan.plan_of(8, search, RATES)
    assert not plan.resident and plan.tiles == 10
    # The file has bytes, the GPU takes float32.
    assert plan.stream == pytest.approx(10 * max(10**9 / 8 * 128 / 1e9, 10**9 / 8 * 512 / 2e9))


def test_the_plan_is_a_table(measured, capsys):
    arguments = [measured, "--n", "1e9", "--queries", "1e6", "--gpus", "1", "8", "64"]
    assert scale_plan.main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    cells = {line.split("|")[1].strip(): [c.strip() for c in line.split("|")[2:-1]]
             for line in lines if line.startswith("| ") and "GPUs" not in line}  # fmt: skip
    assert set(cells) == {"1", "8", "64"}
    assert cells["1"][:3] == ["748.8", "no", "10"] and cells["1"][-1] == "100 %"
    assert cells["64"][1:3] == ["yes", "1"] and cells["64"][-2] != "open"


def test_a_plan_without_a_record_of_a_gpu(measured, capsys):
    assert scale_plan.main([measured, "--dimension", "64"]) == 3
    assert "no record of products in float16 on a GPU with dimension 64" in capsys.readouterr().err
    with pytest.raises(SystemExit) as stopped:
        scale_plan.main([measured, "--n", "0"])
    assert stopped.value.code == 2


@pytest.mark.parametrize("corpus", [["--n", "1e9"], ["--n", "1e10", "--component", "1"]])
def test_the_documentation_follows_from_the_record(corpus, capsys):
    """docs/scale.md has the plans by the committed record."""
    root = scaling.Path(__file__).parents[2]
    run = root / "results" / "nvidia-h200-x2" / "scaling"
    text = " ".join((root / "docs" / "scale.md").read_text().split())
    asked = [*corpus, "--queries", "1e6", "--gpus", *map(str, (8, 16, 32, 64, 128, 256, 512, 1024))]
    assert scale_plan.main([str(run), *asked]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(line in text for line in lines if line.startswith(("|", "P =")))


@pytest.mark.parametrize("host", ["nvidia-h200-x2", "nvidia-h100-x2"])
def test_figures_have_their_points_beside_them(host, tmp_path):
    run = scaling.Path(__file__).parents[2] / "results" / host / "scaling"
    assert scaling.main([str(run), "--out", str(tmp_path)]) == 0
    (points,) = run.glob("*.csv")
    assert points.read_bytes() == (tmp_path / points.name).read_bytes()
