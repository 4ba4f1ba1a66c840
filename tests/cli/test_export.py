"""`kselect export` and kselect-gbench: what other programs read."""

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import records

CONFIG = {
    "schema": "kselect-config/1",
    "name": "small",
    "axes": {"n": [256, 1024], "q": [8], "k": [4, 512]},
    "constraints": ["k <= n"],
    "algorithms": ["cpu/heap", "cpu/sort", "qms-warp"],
    "executor": "cpu",
    "measure": {"warmup": 0, "min_samples": 22, "max_samples": 22, "max_seconds": 1},
}
COMPARE_PY = Path(os.environ.get("BENCHMARK_COMPARE_PY", "/usr/share/benchmark/compare.py"))


@pytest.fixture
def run_directory(kselect, tmp_path):
    """A run in which the kernel is unsupported on the CPU."""
    (tmp_path / "small.json").write_text(json.dumps(CONFIG))
    kselect("run", "small.json", "--out", "o")
    return tmp_path / "o"


def export(kselect, run, form):
    """The text of an export."""
    return kselect("export", run, "--format", form).stdout


def strict_json(text):
    """Parses as JavaScript does: no NaN, no Infinity."""

    def refuse(name):
        raise AssertionError(name)

    return json.loads(text, parse_constant=refuse)


def test_gbench_has_a_repetition_a_round_and_aggregates(kselect, run_directory):
    told = strict_json(export(kselect, run_directory, "gbench"))
    assert told["context"]["json_schema_version"] == 1
    ok = [r for r in records(run_directory) if r["status"] == "ok"]
    assert {r["status"] for r in records(run_directory)} == {"ok", "unsupported"}
    families = {row["family_index"] for row in told["benchmarks"]}
    assert families == set(range(len(ok)))
    for i, record in enumerate(ok):
        rows = [row for row in told["benchmarks"] if row["family_index"] == i]
        repetitions = [row for row in rows if row["run_type"] == "iteration"]
        assert len(repetitions) == 11 == repetitions[0]["repetitions"]
        assert [row["repetition_index"] for row in repetitions] == list(range(11))
        name = repetitions[0]["name"]
        assert name.startswith(record["algorithm"]["name"] + "/cpu/float32/smallest/q:8/n:")
        assert name.endswith("/manual_time") and name.isascii()
        aggregates = {row["aggregate_name"]: row for row in rows if row["run_type"] == "aggregate"}
        assert list(aggregates) == ["mean", "median", "stddev", "cv"]
        assert aggregates["median"]["name"] == name + "_median"
        assert aggregates["median"]["real_time"] == pytest.approx(record["time"]["median"] / 1e3)
        mean = sum(row["real_time"] for row in repetitions) / 11
        assert aggregates["mean"]["real_time"] == pytest.approx(mean)
        assert all(row["time_unit"] == "us" for row in rows)


def compare_py(tmp_path, *arguments):
    """Google Benchmark's own comparison of two files."""
    if not COMPARE_PY.exists():
        pytest.skip(f"{COMPARE_PY} is not installed (package libbenchmark-tools)")
    done = subprocess.run([sys.executable, COMPARE_PY, "--no-color", *arguments], cwd=tmp_path,
                          capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_compare_py_reads_the_export(kselect, run_directory, tmp_path):
    kselect("export", run_directory, "--format", "gbench", "--output", "e.json")
    told = compare_py(tmp_path, "benchmarks", "e.json", "e.json")
    ok = [r for r in records(run_directory) if r["status"] == "ok"]
    assert told.count("U Test, Repetitions: 11 vs 11") == len(ok)
    assert "OVERALL_GEOMEAN" in told
    told = compare_py(tmp_path, "filters", "e.json", "cpu/heap", "cpu/sort")
    assert told.count("[cpu/heap vs. cpu/sort]") >= 11


def test_ci_has_a_median_with_range_a_cell(kselect, run_directory):
    told = strict_json(export(kselect, run_directory, "ci"))
    ok = [r for r in records(run_directory) if r["status"] == "ok"]
    assert len(told) == len(ok) == len({row["name"] for row in told})
    for row, record in zip(told, ok, strict=True):
        assert set(row) == {"name", "unit", "value", "range", "extra"} and row["unit"] == "us"
        assert row["value"] == pytest.approx(record["time"]["median"] / 1e3)
        low, high = record["time"]["ci95"]
        assert float(row["range"].removeprefix("± ")) == pytest.approx((high - low) / 2e3, rel=1e-3)


def test_csv_and_markdown_have_every_cell(kselect, run_directory):
    found = records(run_directory)
    rows = list(csv.DictReader(io.StringIO(export(kselect, run_directory, "csv"))))
    assert len(rows) == len(found)
    for row, record in zip(rows, found, strict=True):
        assert row["algorithm"] == record["algorithm"]["name"]
        assert (int(row["n"]), int(row["k"])) == (record["problem"]["n"], record["problem"]["k"])
        assert row["status"] == record["status"] and row["reason"] == record["reason"]
        assert (row["median_ns"] == "") == (record["time"] is None)
    markdown = export(kselect, run_directory, "markdown")
    assert markdown.count("| unsupported |") == sum(r["status"] == "unsupported" for r in found)


def test_wrong_usage(kselect, run_directory):
    kselect("export", run_directory, "--format", "xml", check=2)
    kselect("export", run_directory, check=2)
    kselect("export", "nowhere", "--format", "csv", check=3)


def test_nvbench_has_a_benchmark_an_entry_and_a_state_a_cell(kselect, run_directory):
    told = strict_json(export(kselect, run_directory, "nvbench"))
    assert told["meta"]["version"]["json"] == {"major": 1, "minor": 0, "patch": 0, "string": "1.0.0"}
    assert told["devices"] == []
    every = records(run_directory)
    assert [b["name"] for b in told["benchmarks"]] == list(dict.fromkeys(r["algorithm"]["name"] for r in every))
    for benchmark in told["benchmarks"]:
        own = [r for r in every if r["algorithm"]["name"] == benchmark["name"]]
        assert len(benchmark["states"]) == len(own) == len({state["name"] for state in benchmark["states"]})
        axes = {axis["name"]: axis for axis in benchmark["axes"]}
        assert axes["k"]["type"] == "int64" and axes["dtype"]["type"] == "string"
        assert {value["value"] for value in axes["n"]["values"]} == {r["problem"]["n"] for r in own}
        for state, record in zip(benchmark["states"], own, strict=True):
            values = {v["name"]: v["value"] for v in state["axis_values"]}
            assert (values["n"], values["k"]) == (str(record["problem"]["n"]), str(record["problem"]["k"]))
            # nvbench_compare.py reads summaries so: by tag, then the datum "value".
            found = {s["tag"]: {d["name"]: d for d in s["data"]}["value"] for s in state["summaries"]}
            assert state["is_skipped"] == (record["status"] != "ok")
            if state["is_skipped"]:
                assert state["skip_reason"] == f"unsupported: {record['reason']}" and not found
                continue
            samples = [sample * 1e-9 for sample in record["time"]["samples"]]
            mean = found["nv/cpu_only/time/cpu/mean"]
            assert mean["type"] == "float64" and float(mean["value"]) == pytest.approx(sum(samples) / len(samples))
            assert found["nv/cpu_only/sample_size"] == {"name": "value", "type": "int64", "value": str(len(samples))}
            assert float(found["nv/cpu_only/time/cpu/stdev/relative"]["value"]) >= 0
            assert float(found["nv/cpu_only/time/cpu/min"]["value"]) == pytest.approx(min(samples))


def test_nvbench_calls_a_gpu_s_times_cold(kselect):
    root = Path(__file__).resolve().parents[2]
    told = strict_json(export(kselect, root / "results" / "nvidia-h200" / "goal_many_rows", "nvbench"))
    (device,) = told["devices"]
    assert (device["id"], device["name"], device["sm_version"]) == (0, "NVIDIA H200", 900)
    (state, *_) = told["benchmarks"][0]["states"]
    assert told["benchmarks"][0]["devices"] == [0] and state["device"] == 0 and state["name"].startswith("Device=0 n=")
    tags = {summary["tag"] for summary in state["summaries"]}
    assert {"nv/cold/time/gpu/mean", "nv/cold/time/gpu/stdev/relative", "nv/cold/bw/global/bytes_per_second"} <= tags


def gbench(tmp_path, *arguments, check=0):
    """Runs kselect-gbench."""
    program = os.environ.get("KSELECT_GBENCH")
    if not program:
        pytest.skip("kselect-gbench was not built (Google Benchmark is not installed)")
    done = subprocess.run([program, *map(str, arguments)], cwd=tmp_path, capture_output=True,
                          text=True, check=False, timeout=120)
    assert done.returncode == check, done.stdout + done.stderr
    return done


@pytest.mark.slow
def test_gbench_measures_the_same_cells_under_the_same_names(kselect, run_directory, tmp_path):
    done = gbench(tmp_path, "small.json", "--benchmark_min_time=0.001", "--benchmark_repetitions=3",
                  "--benchmark_out=g.json", "--benchmark_out_format=json")
    assert "left out qms-warp/" in done.stderr
    kselect("export", run_directory, "--format", "gbench", "--output", "e.json")

    def names(file):
        rows = json.loads((tmp_path / file).read_text())["benchmarks"]
        return {row["name"] for row in rows if row["run_type"] == "iteration"}

    assert names("g.json") == names("e.json")
    assert not any("error_occurred" in row for row in
                   json.loads((tmp_path / "g.json").read_text())["benchmarks"])
    compare_py(tmp_path, "benchmarks", "e.json", "g.json")
    gbench(tmp_path, "small.json", "--nonsense", check=2)
    assert "missing.json" in gbench(tmp_path, "missing.json", check=3).stderr
