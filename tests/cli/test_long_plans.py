"""Sweeps of more cells than fit into memory: counted, divided, run group by group and resumed."""

import json
import os
import signal
import subprocess
import time

import pytest
from conftest import SMALL, one_line, records
from knn_jobs import sanitized

THOUSAND = list(range(1, 1001))
AXES = {"n": [1000 + n for n in THOUSAND], "q": THOUSAND, "k": THOUSAND}
# With two algorithms just more cells than a plan lists (most_listed in harness/plan/plan.hpp).
BEYOND_A_LIST = {"n": [4096], "q": THOUSAND[:501], "k": THOUSAND}
GIBIBYTE = 1 << 20  # in KiB, the unit of ru_maxrss


def finish(job, seconds=600):
    """Stdout, stderr and exit code of a process that used less than 1 GiB of memory and so much processor time."""
    out, errors = job.stdout.read(), job.stderr.read()
    _, status, used = os.wait4(job.pid, 0)
    job.returncode = os.waitstatus_to_exitcode(status)
    assert used.ru_maxrss < GIBIBYTE and used.ru_utime + used.ru_stime < seconds, used
    return out, errors, job.returncode


@pytest.fixture
def start(binary, tmp_path):
    """Starts kselect in an empty directory."""
    jobs = []

    def run(*arguments):
        jobs.append(subprocess.Popen([binary, *map(str, arguments)], cwd=tmp_path, text=True,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        return jobs[-1]

    yield run
    for job in jobs:
        if job.returncode is None:
            job.kill()
        job.stdout.close()
        job.stderr.close()


def await_records(path, count):
    for _ in range(1200):
        if path.exists() and path.read_bytes().count(b"\n") >= count:
            return
        time.sleep(0.05)
    raise AssertionError(f"{path} has not {count} records")


def interrupt(job, path, count):
    """The messages of a sweep that is interrupted once it has so many records."""
    await_records(path, count)
    job.send_signal(signal.SIGINT)
    _, errors, code = finish(job)
    assert code == 130, errors
    return errors


@pytest.mark.parametrize("constraints", [[], ["k <= n", "n*q <= 2^24"]])
def test_a_milliard_cells_are_counted(start, config, constraints, binary):
    if sanitized(binary):
        pytest.skip("the limit of time is that of an optimised program")
    more = {"constraints": constraints} if constraints else {}
    out, _, code = finish(start("run", config(axes=AXES, algorithms=["cpu/heap"], **more), "--dry-run"), seconds=10)
    assert code == 0
    assert out.splitlines()[-1] == "1000000000 cells"
    assert "cpu/heap               cpu    1000000000 cells" in out


def test_a_filter_lists_a_part_of_a_long_plan(kselect, config):
    path = config(axes=BEYOND_A_LIST, algorithms=["cpu/heap", "cpu/sort"])
    assert kselect("run", path, "--dry-run").stdout.splitlines()[-1] == "1002000 cells"
    lines = kselect("run", path, "--dry-run", "--filter", "heap*Q=7/*k=9??/").stdout.splitlines()
    assert lines[-1] == "100 cells" and len(lines) == 101
    assert all("cpu/heap" in line and "/Q=7/n=4096/k=9" in line for line in lines[:-1])


@pytest.mark.slow
def test_shards_of_a_long_plan_are_the_plan(kselect, config, binary):
    if sanitized(binary):
        pytest.skip("takes minutes with sanitizers")
    path = config(axes=BEYOND_A_LIST, algorithms=["cpu/heap", "cpu/sort"])
    cells = []
    for index in (1, 2, 3):
        last = kselect("run", path, "--dry-run", "--shard", f"{index}/3", "--filter", "*").stdout.splitlines()[-1]
        assert f" of 1002000 cells, shard {index}/3" in last
        cells.append(int(last.split()[0]))
    assert sum(cells) == 1_002_000 and max(cells) < 1.01 * min(cells)


def test_a_combination_that_is_not_possible_is_found_among_a_milliard(kselect, config):
    done = kselect("run", config(axes=AXES | {"k": [*THOUSAND[:-1], 1002]}), "--dry-run", check=2)
    assert "k > n at n = 1001, q = 1, k = 1002" in one_line(done.stderr)


def test_a_long_plan_runs_group_by_group_and_resumes(start, config, tmp_path):
    path = config(axes=AXES, measure=SMALL["measure"])
    journal = tmp_path / "o" / "runs.jsonl"
    errors = interrupt(start("run", path, "--out", "o"), journal, 6)
    assert errors.startswith("2000000000 cells\n") and "/2000000000] cpu/sort n=1001 Q=1 k=1 " in errors
    before = len(records(tmp_path / "o"))
    plan = json.loads((tmp_path / "o" / "meta.json").read_text())["plan"]
    assert plan["cells"] == plan["cells_of_all"] == 2 * 10**9
    errors = interrupt(start("run", path, "--out", "o", "--resume"), journal, before + 4)
    assert errors.startswith(f"2000000000 cells, {before} done before\n")
    keys = [r["key"] for r in records(tmp_path / "o")]
    assert len(keys) == len(set(keys)) > before
