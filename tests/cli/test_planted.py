"""Algorithms that are bad on purpose: each ends in its right status, without a time, alone.

KSELECT_PLANTED is kselect with the entries of tests/planted beside its own.
"""

import json
import os
import subprocess

import pytest
from conftest import ROOT

CONFIG = {
    "schema": "kselect-config/1",
    "name": "planted",
    "axes": {"n": 512, "q": 4, "k": 20, "distribution": "few_distinct(16)"},
    "algorithms": ["planted/fine"],
    "measure": {"warmup": 1, "rounds": 5, "min_samples": 10, "max_samples": 10, "timeout_s": 60},
}

# Status and a part of the reason.
CAUGHT = {
    "planted/no-op": ("wrong", "index_range"),
    "planted/stale": ("wrong", "in round 1"),
    "planted/late": ("wrong", "rows wrong"),
    "planted/past-the-end": ("wrong", "past the end of values"),
    "planted/wrong-ties": ("wrong", "tie_break"),
    "planted/sometimes-wrong": ("wrong", "in round"),
    "planted/slow": ("timeout", "longer than 2 s"),
    "planted/hangs": ("timeout", "longer than 2 s"),
    "planted/crashes": ("error", "SIGABRT"),
    "planted/crashes-later": ("error", "SIGABRT"),
    "planted/exits": ("error", "exited with code 0"),
    "planted/babbles": ("error", "sent what makes no sense"),
    "planted/forges": ("error", "a cell that it was not given"),
    "planted/hangs-up": ("error", "closed its connection and did not end"),
    "planted/fails": ("error", "the planted failure"),
}


FAULTS = json.loads((ROOT / "tests" / "planted" / "faults.json").read_text())


@pytest.fixture
def run_planted(tmp_path):
    """Runs a config with changes; returns the finished process and the records by algorithm."""

    def run(*options, **changes):
        config = tmp_path / "planted.json"
        config.write_text(json.dumps(CONFIG | changes))
        done = subprocess.run(
            [os.environ["KSELECT_PLANTED"], "run", str(config), "--out", "o", *options],
            cwd=tmp_path, capture_output=True, text=True, timeout=6000, check=False)
        lines = (tmp_path / "o" / "runs.jsonl").read_text().splitlines()
        return done, {(r := json.loads(line))["algorithm"]["name"]: r for line in lines}

    return run


@pytest.mark.parametrize("name", CAUGHT)
def test_is_caught_and_costs_nobody_else(name, run_planted):
    limit = 2 if CAUGHT[name][0] == "timeout" else 60  # honest entries may be stopped for a while, too
    measure = CONFIG["measure"] | {"timeout_s": limit}
    done, records = run_planted(algorithms=["planted/fine", name, "cpu/heap"], measure=measure)
    assert done.returncode == 1, done.stderr
    status, reason = CAUGHT[name]
    bad = records[name]
    assert (bad["status"], bad["time"]) == (status, None), bad["reason"]
    assert reason in bad["reason"]
    for other in ("planted/fine", "cpu/heap"):
        assert records[other]["status"] == "ok", records[other]["reason"]
        assert len(records[other]["time"]["rounds"]) == 5


def test_an_entry_that_ignores_a_mask_is_caught(run_planted):
    axes = {"n": 512, "q": 4, "k": 20, "masks": "columns(0.5)"}
    done, records = run_planted(axes=axes, algorithms=["planted/ignores-mask", "auto"])
    assert done.returncode == 1, done.stderr
    bad = records["planted/ignores-mask"]
    assert (bad["status"], bad["time"]) == ("wrong", None), bad["reason"]
    assert "the mask admits no element" in bad["reason"]
    assert records["auto"]["status"] == "ok", records["auto"]["reason"]


@pytest.mark.slow
def test_all_of_them_in_one_group(run_planted):
    measure = CONFIG["measure"] | {"timeout_s": 2}
    done, records = run_planted(algorithms=["planted/*", "cpu/sort"], measure=measure)
    assert done.returncode == 1
    caught = {name: records[name]["status"] for name in CAUGHT}
    assert caught == {name: status for name, (status, _) in CAUGHT.items()}
    assert all(records[n]["status"] == "ok" for n in ("planted/fine", "cpu/sort", "planted/prints"))


@pytest.fixture
def run_faults(run_planted, tmp_path):
    """Runs FAULTS; returns all records. Skips the test where there is no GPU."""

    def run(*options):
        done, _ = run_planted(*options, **FAULTS)
        found = [json.loads(line) for line in (tmp_path / "o" / "runs.jsonl").read_text().splitlines()]
        if all(r["status"] == "unsupported" for r in found):
            pytest.skip(found[0]["reason"])
        assert done.returncode == 1, done.stderr
        assert len(found) == 8
        return found

    return run


def test_a_fault_on_the_gpu_costs_its_cell_alone(run_faults):
    for record in run_faults():
        name = record["algorithm"]["name"]
        if not name.startswith("planted"):
            assert record["status"] == "ok" and record["time"], record["reason"]
            continue
        assert (record["status"], record["time"]) == ("error", None)
        assert "cudaErrorIllegalAddress" in record["reason"]
        assert "compute-sanitizer" in record["reason"]
        assert record["verify"]["before"] == (name == "planted/faults-later")


def test_a_fault_on_the_gpu_ends_a_run_in_one_process(run_faults):
    by_fault = run_faults("--in-process")
    assert {r["status"] for r in by_fault} == {"error"}
    assert sum("not measured" not in r["reason"] for r in by_fault) == 1
    assert all("cudaErrorIllegalAddress" in r["reason"] for r in by_fault)


def test_faster_than_memory_is_implausible(run_planted):
    # Of values alone, because of indices each answer would have to show that an element moved.
    axes = {"n": 2**22, "q": 1, "k": 4, "distribution": "ascending", "payload": "values"}
    done, records = run_planted(algorithms=["planted/peeks", "cpu/heap"], axes=axes)
    assert done.returncode == 1
    peeks = records["planted/peeks"]
    assert (peeks["status"], peeks["time"]) == ("implausible", None)
    assert peeks["floor"]["share"] > 2 and peeks["floor"]["bytes"] == 2**24 + 4 * 4
    assert "measured ceiling" in peeks["reason"]
    assert records["cpu/heap"]["status"] == "ok" and records["cpu/heap"]["floor"]["share"] < 1


def test_an_element_that_moved_is_missed(run_planted):
    axes = {"n": 2**22, "q": 1, "k": 4, "distribution": "ascending"}
    _, records = run_planted(algorithms=["planted/peeks"], axes=axes)
    assert records["planted/peeks"]["status"] == "wrong" and "in round 1" in records["planted/peeks"]["reason"]


def test_what_an_algorithm_prints_is_not_among_the_results(run_planted):
    done, records = run_planted(algorithms=["planted/prints"])
    assert done.returncode == 0 and records["planted/prints"]["status"] == "ok"
    assert "printed by an algorithm" not in done.stdout
    assert "printed by an algorithm" in done.stderr


def test_resuming_tries_again_what_crashed(run_planted, tmp_path):
    run_planted(algorithms=["planted/crashes", "cpu/heap"])
    done, _ = run_planted("--resume", algorithms=["planted/crashes", "cpu/heap"])
    assert "1 cell run, 1 error; 1 done before" in done.stdout


def test_they_are_not_in_the_program_that_is_shipped(kselect):
    assert "planted" not in kselect("list").stdout
    assert "planted" not in "".join(p.read_text() for p in (ROOT / "configs").glob("*.json"))
