"""One sweep in shards: `kselect run --shard`, `kselect progress`, `kselect merge`, the templates."""

import json
import os
import shutil
import subprocess

import pytest
from conftest import ROOT, one_line, records, write_records

CONFIG = {
    "schema": "kselect-config/1",
    "name": "small",
    "seed": 1,
    "axes": {"n": [256, 512, 1024, 4096], "q": [4], "k": [4]},
    "algorithms": ["cpu/heap", "cpu/sort"],
    "measure": {"warmup": 0, "rounds": 2, "min_samples": 2, "max_samples": 2, "max_seconds": 1},
}


@pytest.fixture(scope="module")
def shards(binary, tmp_path_factory):
    """The directory with CONFIG run as one and in three shards: whole, 1, 2, 3."""
    at = tmp_path_factory.mktemp("shards")
    (at / "small.json").write_text(json.dumps(CONFIG))
    for out, shard in (("whole", "1/1"), ("1", "1/3"), ("2", "2/3"), ("3", "3/3")):
        subprocess.run([binary, "run", "small.json", "--out", out, "--shard", shard], cwd=at,
                       check=True, capture_output=True, timeout=600)
    return at


@pytest.fixture
def copy(shards, tmp_path):
    """The same, to be spoilt, where `kselect` runs."""
    shutil.copytree(shards, tmp_path, dirs_exist_ok=True)
    return tmp_path


def keys(directory):
    """The keys of all records, sorted."""
    return sorted(record["key"] for record in records(directory))


def change_meta(directory, change):
    """Rewrites meta.json by `change`."""
    path = directory / "meta.json"
    meta = json.loads(path.read_text())
    change(meta)
    path.write_text(json.dumps(meta))


def only_run(directory):
    """The one run in a merged directory."""
    (run,) = directory.iterdir()
    return run


def test_shards_merge_into_the_whole_sweep(kselect, copy):
    parts = [keys(copy / name) for name in "123"]
    assert sorted(sum(parts, [])) == keys(copy / "whole") and all(parts)
    done = kselect("merge", "3", "1", "2", "--out", "merged")
    run = only_run(copy / "merged")
    assert f"merged/{run.name}: 8 cells from" in done.stdout
    assert keys(run) == keys(copy / "whole")
    meta = json.loads((run / "meta.json").read_text())
    assert meta["state"] == "complete" and [m["shard"] for m in meta["merged"]] == [1, 2, 3]
    kselect("export", f"merged/{run.name}", "--format", "csv")


def test_a_division_depends_on_nothing_but_the_plan(kselect, copy):
    first = kselect("run", "small.json", "--shard", "2/3", "--dry-run").stdout
    assert first == kselect("run", "small.json", "--shard", "2/3", "--dry-run").stdout
    listed = [line.split()[0] for line in first.splitlines()[:-1]]
    assert sorted(listed) == keys(copy / "2")
    assert "of 8 cells, shard 2/3" in first


@pytest.mark.parametrize("shard", ["0/3", "4/3", "3", "1/x"])
def test_bad_shards(kselect, copy, shard):
    done = kselect("run", "small.json", "--shard", shard, check=2)
    assert "expected I/N" in one_line(done.stderr)


def test_more_shards_than_groups(kselect, copy):
    done = kselect("run", "small.json", "--shard", "5/5", check=2)
    assert "4 cell groups" in one_line(done.stderr)


def test_a_directory_continues_one_shard(kselect, copy):
    done = kselect("run", "small.json", "--out", "1", "--shard", "2/3", "--resume", check=2)
    assert "shard 1/3" in one_line(done.stderr)
    assert "0 cells run" in kselect("run", "small.json", "--out", "1", "--shard", "1/3",
                                    "--resume").stdout


def refused(kselect, *directories, code=2):
    """The message of a merge that must fail and write nothing."""
    done = kselect("merge", *directories, "--out", "merged", check=code)
    return one_line(done.stderr)


def test_missing_shard(kselect, copy):
    assert "shard 2/3 is missing" in refused(kselect, "1", "3")
    assert not (copy / "merged").exists()
    done = kselect("merge", "1", "3", "--out", "merged", "--partial")
    assert "shard 2/3 is missing" in done.stderr
    assert keys(only_run(copy / "merged")) == sorted(keys(copy / "1") + keys(copy / "3"))


def test_unfinished_shard(kselect, copy):
    found = records(copy / "2")
    write_records(copy / "2", found[:-1])
    expected = f"2 (shard 2/3) has {len(found) - 1} of {len(found)} cells"
    assert expected in refused(kselect, "1", "2", "3")
    progress = kselect("progress", "1", "2", "3")
    assert f"{len(found) - 1} of {len(found)} cells" in progress.stdout
    assert "7 of 8 cells" in progress.stdout


def test_progress_fails_while_a_shard_runs(kselect, copy):
    change_meta(copy / "3", lambda meta: meta.update(state="running"))
    assert "running" in kselect("progress", "1", "2", "3", check=1).stdout


def test_other_config(kselect, copy):
    change_meta(copy / "2", lambda meta: meta["config"]["axes"].update(k=[5]))
    said = refused(kselect, "1", "2", "3")
    assert "2 (shard 2/3)" in said and "/axes/k is [4] and [5]" in said


def test_other_program(kselect, copy):
    change_meta(copy / "3", lambda meta: meta["git"].update(commit="f" * 40))
    said = refused(kselect, "1", "2", "3")
    assert "3 (shard 3/3)" in said and "different programs" in said


def test_other_plan(kselect, copy):
    kselect("run", "small.json", "--shard", "2/3", "--out", "filtered", "--filter", "heap")
    assert "different cells (8 and 4)" in refused(kselect, "1", "filtered", "3")
    assert "another division" in refused(kselect, "1", "2", "3", "whole")


def test_a_cell_with_two_answers(kselect, copy):
    shutil.copytree(copy / "2", copy / "again")
    kselect("merge", "1", "2", "3", "again", "--out", "same")  # the very same records
    found = records(copy / "again")
    found[0]["status"], found[0]["time"] = "unsupported", None
    write_records(copy / "again", found)
    said = refused(kselect, "1", "2", "3", "again")
    assert "two different records" in said and "2/runs.jsonl:1" in said
    assert "again/runs.jsonl:1" in said and found[0]["algorithm"]["name"] in said
    # An attempt that failed is no answer: the other one stands.
    found[0]["status"] = "error"
    write_records(copy / "again", found)
    kselect("merge", "again", "1", "2", "3", "--out", "merged")
    assert all(r["status"] == "ok" for r in records(only_run(copy / "merged")))


def test_machines_are_kept_apart(kselect, copy):
    change_meta(copy / "2", lambda meta: meta["host"].update(cpu="Another CPU @ 3 GHz", name="b"))
    change_meta(copy / "3", lambda meta: meta["host"].update(name="c"))
    done = kselect("merge", "1", "2", "3", "--out", "merged")
    assert keys(copy / "merged" / "another-cpu-3-ghz") == keys(copy / "2")
    (other,) = [d for d in (copy / "merged").iterdir() if d.name != "another-cpu-3-ghz"]
    assert keys(other) == sorted(keys(copy / "1") + keys(copy / "3"))
    assert "cells from b" in done.stdout


def test_failed_cells_fail_the_merge(kselect, copy):
    found = records(copy / "1")
    found[0]["status"], found[0]["time"] = "error", None
    write_records(copy / "1", found)
    done = kselect("merge", "1", "2", "3", "--out", "merged", check=1)
    assert "1 of them failed" in done.stdout


def test_results_are_not_overwritten(kselect, copy):
    kselect("merge", "1", "2", "3", "--out", "merged")
    done = kselect("merge", "1", "2", "3", "--out", "merged", check=6)
    assert "already has results" in one_line(done.stderr)
    assert "no-such" in one_line(kselect("merge", "no-such", "--out", "m", check=3).stderr)


def test_the_slurm_template(copy, binary):
    """As an array of two tasks, the second one submitted twice, then the merge."""
    template = ROOT / "configs" / "templates" / "slurm-array.sbatch"

    def task(**environment):
        return subprocess.run(["bash", template, "small.json", "out"], cwd=copy, check=True,
                              capture_output=True, text=True, timeout=600,
                              env=os.environ | {"KSELECT": binary} | environment)

    for index in "122":
        last = task(SLURM_ARRAY_TASK_ID=index, SLURM_ARRAY_TASK_COUNT="2")
    assert "0 cells run" in last.stdout
    assert "8 cells" in task(MERGE="2").stdout
    assert keys(only_run(copy / "out" / "merged")) == keys(copy / "whole")


def test_merge_refuses_shards_on_other_multiprocessors(kselect, tmp_path):
    config = CONFIG | {"algorithms": ["qms-block"], "executor": "cuda"}
    (tmp_path / "small.json").write_text(json.dumps(config))
    for out, shard, more in (("1", "1/2", []), ("2", "2/2", ["--multiprocessors", 16])):
        kselect("run", "small.json", "--out", out, "--shard", shard, *more)
    said = one_line(kselect("merge", "1", "2", "--out", "o", check=2).stderr)
    assert "/measure/multiprocessors is 0 and 16" in said
