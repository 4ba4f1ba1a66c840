"""`kselect run`: records, resuming, killing, and what a bad config or directory gets."""

import fcntl
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import time
from pathlib import Path

import jsonschema
import pytest
from conftest import RECORD_SCHEMA, ROOT, SMALL, first_in_time, one_line, records, wait_until


def keys(directory):
    """Keys of the ok records."""
    return [r["key"] for r in records(directory) if r["status"] == "ok"]


def test_types_and_directions_are_told_apart(kselect, config, tmp_path):
    axes = {"n": 256, "q": 8, "k": 4, "dtype": ["float32", "float16", "bfloat16"],
            "direction": ["smallest", "largest"]}
    done = kselect("run", config(axes=axes), "--out", "o")
    assert "12 cells run, 12 ok" in done.stdout
    shown = [line.split()[3:-4] for line in done.stdout.splitlines()[1:7]]  # two times with units
    assert sorted(shown) == sorted(
        [*dtype, "uniform", *wanted]
        for dtype in ([], ["float16"], ["bfloat16"]) for wanted in ([], ["largest"])
    )
    found = records(tmp_path / "o")
    for record in found:
        jsonschema.validate(record, RECORD_SCHEMA)
    moved = {r["problem"]["dtype"]: r["floor"]["bytes"] for r in found}
    rows, answers = 8 * 256, 8 * 4
    narrow = 2 * rows + (2 + 4) * answers
    assert moved == {"float32": 4 * rows + (4 + 4) * answers, "float16": narrow, "bfloat16": narrow}


def test_every_cell_is_proven_timed_and_recorded(kselect, config, tmp_path):
    done = kselect("run", config(), "--out", "o", env={"KSELECT_TEST_CEILING_MIB": ""})
    assert "8 cells run, 8 ok" in done.stdout
    found = records(tmp_path / "o")
    assert len(found) == 8
    for record in found:
        assert record["status"] == "ok"
        verify = record["verify"]
        assert (verify["rows"], verify["before"], verify["after"]) == (8, True, True)
        assert verify["answers"] >= 1 + len(record["time"]["samples"])
        assert record["time"]["min"] <= record["time"]["median"] <= record["time"]["max"]
        assert len(record["time"]["samples"]) in (2, 3)
        assert len(record["time"]["rounds"]) == len(record["time"]["round_sizes"])
    meta = json.loads((tmp_path / "o" / "meta.json").read_text())
    assert meta["state"] == "complete"
    assert meta["config"]["axes"]["n"] == [256, 1024]
    assert meta["host"]["threads"] >= 1 and meta["build"]["compiler"]
    assert meta["gpu"] == [] or meta["gpu"][0]["uuid"].startswith("GPU-")
    assert meta["floor"]["cpu"]["cached_read"] > meta["floor"]["cpu"]["read"] > 1e8


def test_the_schema_is_valid_itself():
    jsonschema.Draft202012Validator.check_schema(RECORD_SCHEMA)


def test_kernels_on_fibers_are_counted_and_not_timed(kselect, config, tmp_path):
    done = kselect("run", config(algorithms=["qms-warp"]), "--out", "o", "--executor", "fiber")
    assert "4 cells run, 4 ok" in done.stdout
    for record in records(tmp_path / "o"):
        assert record["time"] is None
        assert record["counters"]["global_reads"] >= 8 * record["problem"]["n"]


@pytest.mark.parametrize("executor", ["cpu", "fiber"])
def test_a_record_tells_what_its_distances_took(kselect, config, tmp_path, executor):
    vectors = {"generator": {"vectors": {"dimension": 16, "metric": "sqeuclidean"}}}
    algorithm = {"cpu": "cpu/heap", "fiber": "tang/heap"}[executor]
    path = config(input=vectors, algorithms=[algorithm], executor=executor)
    kselect("run", path, "--out", "r")
    for record in records(tmp_path / "r"):
        taken = record["inputs"]["distances"]
        assert (taken["executor"], taken["clock"], taken["unit"]) == ("cpu", "steady", "ns")
        assert min(taken["samples"]) <= taken["median"] <= max(taken["samples"])
        assert "to_host" not in record["inputs"]
        assert "distances" not in record["input"], "made on the CPU, as ever"
    kselect("run", config(), "--out", "s")
    assert all("distances" not in record["inputs"] for record in records(tmp_path / "s"))


@pytest.mark.parametrize("how", [[], ["--in-process"]])
def test_without_rounds_cells_run_once_and_are_proven(kselect, config, tmp_path, how):
    done = kselect("run", config(measure={"rounds": 0}), "--out", "o", *how)
    assert "8 cells run, 8 ok" in done.stdout
    for record in records(tmp_path / "o"):
        jsonschema.validate(record, RECORD_SCHEMA)
        assert record["time"] is None and record["floor"] is None
        assert (record["verify"]["answers"], record["verify"]["before"]) == (1, True)
    meta = json.loads((tmp_path / "o" / "meta.json").read_text())
    assert not any(rate for rates in meta["floor"].values() for rate in rates.values())


def test_multiprocessors_are_refused_off_a_gpu(kselect, config):
    for executor in ("cpu", "fiber"):
        said = one_line(kselect("run", config(algorithms=["cpu/heap"]), "--multiprocessors", 16,
                                "--executor", executor, "--dry-run", check=2).stderr)
        assert "small.json: /measure/multiprocessors: cpu/heap would run on executor" in said
        assert "--executor cuda" in said
    done = kselect("run", config(measure={"multiprocessors": 16}), "--dry-run", check=2)
    said = one_line(done.stderr)
    assert "/measure/multiprocessors: " in said


def test_multiprocessors_are_part_of_a_cells_key(kselect, config):
    def keys_with(*more):
        path = config(algorithms=["qms-block"], executor="cuda")
        lines = kselect("run", path, "--dry-run", *more).stdout.splitlines()[:-1]
        return {line.split()[0] for line in lines}

    assert len(keys_with()) == 4
    assert not keys_with() & keys_with("--multiprocessors", 16)


def test_in_process_gives_the_same_cells(kselect, config, tmp_path):
    kselect("run", config(), "--out", "a")
    kselect("run", config(), "--out", "b", "--in-process")
    assert sorted(keys(tmp_path / "a")) == sorted(keys(tmp_path / "b"))


def alive(pid):
    """Whether the process runs; one that only nobody has waited for does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def test_a_worker_dies_with_its_sweep(config, tmp_path, binary):
    path = config(measure=SMALL["measure"] | {"min_samples": 10**6, "max_samples": 10**6,
                                               "max_seconds": 600})
    sweep = subprocess.Popen([binary, "run", str(path), "--out", "o"], cwd=tmp_path,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def workers():
        listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(sweep.pid)], text=True,
                                capture_output=True, check=False).stdout
        return [int(pid) for pid in listed.split()]

    found = wait_until(workers)
    sweep.kill()
    sweep.wait()
    assert len(found) == 1
    wait_until(lambda: not alive(found[0]))


def test_second_run_does_nothing_and_says_so(kselect, config, tmp_path):
    kselect("run", config(), "--out", "o")
    before = (tmp_path / "o" / "runs.jsonl").read_bytes()
    done = kselect("run", config(), "--out", "o", "--resume")
    assert "0 cells run; 8 done before" in done.stdout
    assert (tmp_path / "o" / "runs.jsonl").read_bytes() == before


def test_records_are_not_overwritten(kselect, config, tmp_path):
    kselect("run", config(), "--out", "o")
    done = kselect("run", config(), "--out", "o", check=6)
    assert "--resume" in one_line(done.stderr)
    done = kselect("run", config(seed=2), "--out", "o", "--resume", check=2)
    assert "another config" in one_line(done.stderr)
    assert len(records(tmp_path / "o")) == 8


def test_torn_tail_is_cut_and_told(kselect, config, tmp_path):
    kselect("run", config(), "--out", "o")
    path = tmp_path / "o" / "runs.jsonl"
    whole = path.read_bytes()
    expected = sorted(keys(tmp_path / "o"))
    path.write_bytes(whole[:-40])
    done = kselect("run", config(), "--out", "o", "--resume")
    assert "cut" in done.stderr and "1 cell run" in done.stdout
    assert sorted(keys(tmp_path / "o")) == expected


@pytest.mark.slow
def test_kill_at_any_time_then_resume_gives_the_same_cells(kselect, config, tmp_path, binary):
    axes = {"n": [1000, 2000, 3000], "q": [16, 32], "k": [1, 10, 100]}
    path = config(axes=axes)
    kselect("run", path, "--out", "whole")
    expected = sorted(keys(tmp_path / "whole"))
    assert len(expected) == 36
    rng = random.Random(5)
    for _ in range(8):
        child = subprocess.Popen(
            [binary, "run", str(path), "--out", "killed", "--resume"],
            cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(rng.uniform(0.05, 0.9))
        child.kill()
        child.wait()
    kselect("run", path, "--out", "killed", "--resume")
    found = keys(tmp_path / "killed")
    assert sorted(found) == expected, "every cell once"


def test_resuming_a_complete_run_leaves_it_as_it_is(kselect, config, tmp_path):
    path = config()
    kselect("run", path, "--out", "o")
    meta = (tmp_path / "o" / "meta.json").read_text()
    assert "cpu" in json.loads(meta)["floor"]
    done = kselect("run", path, "--out", "o", "--resume")
    assert "8 done before" in done.stdout
    assert (tmp_path / "o" / "meta.json").read_text() == meta


def test_interrupt_finishes_the_cell_and_resumes(kselect, config, tmp_path, binary):
    path = config(measure=SMALL["measure"] | {"min_samples": 400, "max_samples": 400,
                                               "max_seconds": 1})

    def interrupted():
        shutil.rmtree(tmp_path / "o", ignore_errors=True)
        child = subprocess.Popen([binary, "run", str(path), "--out", "o"], cwd=tmp_path,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in child.stderr:  # the first lines say that cells are running
            break
        child.send_signal(signal.SIGINT)
        out, said = child.communicate(timeout=120)
        return (child.returncode, out, said) if child.returncode != 0 else None

    code, out, said = first_in_time(interrupted)
    assert code == 130 and "--resume" in out
    assert said.count("kselect: stopping: the cells that take turns now are finished and recorded first; a second") == 1
    done = len(records(tmp_path / "o"))
    assert done < 8
    assert json.loads((tmp_path / "o" / "meta.json").read_text())["state"] == "interrupted"
    kselect("run", path, "--out", "o", "--resume")
    assert len(keys(tmp_path / "o")) == 8


def test_the_second_signal_of_any_kind_ends_a_run_at_once(config, tmp_path, binary):
    path = config(axes={"n": 2**16, "q": [64], "k": [4]}, algorithms=["cpu/heap"],
                  measure=SMALL["measure"] | {"min_samples": 10**6, "max_samples": 10**6, "max_seconds": 600})
    child = subprocess.Popen([binary, "run", str(path), "--out", "o"], cwd=tmp_path,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    child.stderr.readline()
    child.send_signal(signal.SIGINT)
    assert any("stopping" in line for line in child.stderr)
    child.send_signal(signal.SIGTERM)
    assert child.wait(timeout=120) == -signal.SIGTERM
    child.stderr.close()


def test_two_runs_cannot_write_one_directory(kselect, config, tmp_path):
    (tmp_path / "o").mkdir()
    with open(tmp_path / "o" / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = kselect("run", config(), "--out", "o", check=6)
    assert "o" in one_line(done.stderr)


def test_full_disk_is_an_error_and_nothing_is_lost(kselect, config, tmp_path, binary):
    path = config()

    def few_bytes():
        resource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    done = subprocess.run([binary, "run", str(path), "--out", "o"], cwd=tmp_path, text=True,
                          capture_output=True, preexec_fn=few_bytes, restore_signals=False,
                          check=False)
    assert done.returncode == 6, done.stderr
    assert "runs.jsonl" in done.stderr.splitlines()[-1]
    kept = keys(tmp_path / "o")
    assert 0 < len(kept) < 8
    kselect("run", path, "--out", "o", "--resume")
    assert keys(tmp_path / "o")[: len(kept)] == kept and len(keys(tmp_path / "o")) == 8


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"axes": {"n": [8], "q": [1], "kk": [1]}}, '/axes/kk'),
        ({"axes": {"n": [8], "q": [1], "k": [0]}}, "/axes/k"),
        ({"axes": {"n": [8], "q": [1], "k": [9]}}, "k"),
        ({"algorithms": ["cpu/hepa"]}, "cpu/heap"),
        ({"measure": {"max_samples": "many"}}, "/measure/max_samples"),
        ({"schema": "kselect-config/9"}, "/schema"),
    ],
)
def test_bad_configs_name_the_file_and_the_place(kselect, config, tmp_path, changes, said):
    done = kselect("run", config(**changes), "--out", "o", check=2)
    message = one_line(done.stderr)
    assert "small.json" in message and said in message
    assert not (tmp_path / "o").exists()


def test_syntax_errors_name_the_line(kselect, tmp_path):
    (tmp_path / "bad.json").write_text('{\n  "schema": "kselect-config/1",\n  oops\n}\n')
    message = one_line(kselect("run", "bad.json", check=2).stderr)
    assert "bad.json" in message and ":3:" in message
    one_line(kselect("run", "missing.json", check=3).stderr)


def test_cells_that_do_not_fit_are_said_before_the_run(kselect, config, tmp_path):
    huge = {"n": [256, "2^30"], "q": [5000], "k": [4]}  # 20 TiB
    done = kselect("run", config(axes=huge), "--out", "o", check=1)
    first = done.stderr.splitlines()[0]
    assert "will not fit" in first and "1073741824" in first
    by_status = {r["problem"]["n"]: r["status"] for r in records(tmp_path / "o")}
    assert by_status == {256: "ok", 2**30: "out_of_memory"}


def test_empty_cells_are_an_empty_success(kselect, config, tmp_path):
    kselect("run", config(axes={"n": [256], "q": [0], "k": [4]}), "--out", "o")
    assert [r["status"] for r in records(tmp_path / "o")] == ["ok", "ok"]


def test_dry_run_and_filter(kselect, config, tmp_path):
    done = kselect("run", config(), "--dry-run", "--filter", "cpu/heap .*k=16")
    assert done.stdout.strip().endswith("2 cells")
    assert not (tmp_path / "out").exists()
    kselect("run", config(), "--filter", "(", check=2)
    message = kselect("run", config(), "--filter", "nothing matches", check=2).stderr
    title = re.search("no cell is left; --filter excludes all; .* titles such as '(.+)'", message)[1]
    assert kselect("run", config(), "--dry-run", "--filter", f"^{title}$").stdout.endswith("\n1 cell\n")


@pytest.mark.slow
def test_every_shipped_config_plans(kselect, tmp_path):
    for path in sorted((ROOT / "configs").glob("*.json")):
        if path.name == "config.schema.json":
            continue
        text = json.loads(path.read_text())
        if any("dataset" in part.get("input", {}) for part in [text, *text.get("parts", [])]):
            continue  # needs its file
        done = kselect("run", path, "--dry-run", check=None)
        planned = done.returncode == 0 and "cells" in done.stdout
        for_gpus = done.returncode == 2 and "no cell is left; left out: " in done.stderr and "need a GPU" in done.stderr
        assert planned or for_gpus, done.stderr


@pytest.mark.slow
def test_smoke_config_runs(kselect, tmp_path):
    kselect("run", ROOT / "configs" / "smoke.json", "--out", "o", timeout=300)
    assert all(r["status"] == "ok" for r in records(tmp_path / "o"))


def test_default_directory_is_named_after_the_config(kselect, config, tmp_path):
    kselect("run", config())
    assert [p.name.startswith("small-") for p in (tmp_path / "out").iterdir()] == [True]
    assert os.listdir(tmp_path / "out")


def gpu_is_here(kselect):
    return any(e["executors"]["cuda"]["here"] for e in json.loads(kselect("list", "--json").stdout))


@pytest.mark.parametrize("glob", ["*", "*@here", "qms-*@here"])
def test_globs_leave_out_what_cannot_run_here(kselect, config, tmp_path, glob):
    if gpu_is_here(kselect):
        pytest.skip("a GPU is here")
    path = config(algorithms=["cpu/heap", glob, "cpu/sort"] if glob.startswith("q") else [glob],
                  axes={"n": 64, "q": 1, "k": 2}, measure={"rounds": 0})
    done = kselect("run", path, "--out", "o")
    lines = [line for line in done.stderr.splitlines() if line.startswith("left out: ")]
    listed = json.loads(kselect("list", "--json").stdout)
    wanted = [e for e in listed if glob[0] == "*" or e["name"].startswith("qms-")]
    kernels = [e for e in wanted if not e["executors"]["cpu"]["reason"] in ("",)
               and e["executors"]["cpu"]["reason"] == "not written for it"]
    assert len(lines) == 1 and f"{len(kernels)} algorithms need a GPU: " in lines[0]
    assert all(r["status"] == "ok" for r in records(tmp_path / "o"))
    assert "left out" in kselect("run", path, "--dry-run").stderr


def test_named_algorithms_become_cells_that_say_unsupported(kselect, config, tmp_path):
    if gpu_is_here(kselect):
        pytest.skip("a GPU is here")
    path = config(algorithms=["*", "qms-warp"], axes={"n": 64, "q": 1, "k": 2},
                  measure={"rounds": 0})
    kselect("run", path, "--out", "o")
    refused = [r for r in records(tmp_path / "o") if r["status"] != "ok"]
    assert [(r["algorithm"]["name"], r["status"]) for r in refused] == [("qms-warp", "unsupported")]
    resolved = json.loads((tmp_path / "o" / "meta.json").read_text())["config"]["algorithms"]
    assert resolved == ["*", "qms-warp"]
    said = one_line(kselect("run", config(algorithms=["qms-*@here"]), check=2).stderr)
    assert "no cell is left" in said and "need a GPU" in said
    assert "@here" in one_line(kselect("run", config(algorithms=["a@b"]), check=2).stderr)


def test_an_entry_that_decides_nothing_is_said(kselect, config):
    path = config(algorithms=[{"name": "cpu/sor?", "where": "k <= 4"}, "cpu/heap", "cpu/sort"])
    done = kselect("run", path, "--dry-run")
    assert '/algorithms/0: "cpu/sor?" decides nothing' in done.stderr
    assert done.stdout.splitlines()[-1] == "8 cells"
    path = config(algorithms=[{"name": "cpu/sort*", "where": "k <= 4"}, "cpu/heap", "cpu/sort"])
    assert "decides nothing" not in kselect("run", path, "--dry-run").stderr  # it still decides cpu/sort+omp
