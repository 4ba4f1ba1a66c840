"""Entries from outside the tree: shared objects that --plugin adds to the registry.

KSELECT_PLUGINS is the folder of the shared objects that tests/plugins builds.
"""

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from conftest import one_line, records

PLUGINS = Path(os.environ.get("KSELECT_PLUGINS", Path(os.environ.get("KSELECT_BINARY", "x")).parent / "tests/plugins"))


def plugin(name: str) -> Path:
    """The path of a test's plug-in; fails if the build has none."""
    path = (PLUGINS / f"{name}.so").resolve()
    assert path.exists(), f"{path} is missing: build the target kselect_test_plugins"
    return path


@pytest.fixture
def mine():
    return plugin("warp_list")


def test_list_shows_it_like_any_other(kselect, mine):
    names = kselect("list", "--names", "--plugin", mine).stdout.split()
    assert names[-2:] == ["warp-list", "cpu/list"] and "auto" in names
    (entry,) = json.loads(kselect("list", "warp-list", "--json", "--plugin", mine).stdout)
    assert entry["plugin"] == entry["file"] == str(mine)
    assert entry["contract"]["ordering"] == "stable_sorted" and entry["executors"]["fiber"]["here"]
    assert f"plug-in    {mine}" in kselect("list", "cpu/list", "--long", "--plugin", mine).stdout
    assert "warp-list" not in kselect("list", "--names").stdout
    assert one_line(kselect("list", "warp-list", check=2).stderr)


def test_select_uses_it(kselect, mine, tmp_path):
    rows = np.random.default_rng(3).random((5, 300), np.float32)
    np.save(tmp_path / "rows.npy", rows)
    for algorithm, executor in (("cpu/list", "cpu"), ("warp-list", "fiber")):
        kselect("select", "rows.npy", "--k", 7, "--algorithm", algorithm, "--executor", executor, "--plugin", mine,
                "--values", "v.npy", "--indices", "i.npy")
        np.testing.assert_array_equal(np.load(tmp_path / "i.npy"), np.argsort(rows, kind="stable")[:, :7])
        np.testing.assert_array_equal(np.load(tmp_path / "v.npy"), np.sort(rows)[:, :7])


def test_explain_shows_its_launches(kselect, mine):
    shape = ["--n", 1000, "--q", 12, "--k", 8]
    done = kselect("explain", *shape, "--algorithm", "warp-list", "--executor", "fiber", "--json", "--plugin", mine)
    (launch,) = json.loads(done.stdout)["launches"]
    assert (launch["blocks"], launch["threads"]) == (12, 32) and "warp_list_kernel" in launch["kernel"]
    shape[-1] = 33
    refused = kselect("explain", *shape, "--algorithm", "warp-list", "--executor", "fiber", "--plugin", mine, check=4)
    assert "k > 32" in one_line(refused.stderr)
    own = kselect("explain", "--n", 1000, "--q", 12, "--k", 8, "--algorithm", "bms-block", "--executor", "fiber")
    assert "launches" in own.stdout


def test_the_battery_proves_it(kselect, mine):
    done = kselect("test", "*list", "--plugin", mine, "--case", "BoundarySizes", timeout=600)
    assert "warp-list on fiber" in done.stdout and "cpu/list on cpu" in done.stdout and "0 failed" in done.stdout
    wrong = kselect("test", "faulty/wrong", "--plugin", plugin("faulty"), "--case", "BoundarySizes", check=7)
    assert "FAILED" in wrong.stdout


def test_a_sweep_times_it_beside_others(kselect, mine, config, tmp_path):
    kselect("run", config(algorithms=["cpu/list", "auto"]), "--out", "o", "--plugin", mine)
    found = records(tmp_path / "o")
    assert {r["algorithm"]["name"] for r in found} == {"cpu/list", "auto"}
    for record in found:
        assert record["status"] == "ok" and record["time"]["median"] > 0, record["reason"]
        assert (record["algorithm"].get("plugin") == str(mine)) == (record["algorithm"]["name"] == "cpu/list")
    meta = json.loads((tmp_path / "o" / "meta.json").read_text())
    (named,) = meta["plugins"]
    assert named["file"] == str(mine) and named["version"] == "0.1.0"
    assert named["hash"] == next(r["algorithm"]["source_hash"] for r in found if "plugin" in r["algorithm"])
    assert "cpu/list" in kselect("show", "o").stdout


def test_a_config_names_its_plugins(kselect, mine, config, tmp_path, monkeypatch):
    path = Path(config(algorithms=["cpu/list", "cpu/sort"], plugins=["./mine.so"], axes={"n": 64, "q": 2, "k": 3}))
    missing = one_line(kselect("run", path, "--out", "o", check=3).stderr)
    assert f"{path}: /plugins/0: " in missing and "mine.so" in missing
    (path.parent / "mine.so").symlink_to(mine)
    kselect("run", path, "--out", "o")
    found = {r["algorithm"]["name"]: r for r in records(tmp_path / "o")}
    assert found["cpu/list"]["status"] == "ok" and found["cpu/list"]["algorithm"]["plugin"] == str(mine)
    meta = json.loads((tmp_path / "o" / "meta.json").read_text())
    assert meta["config"]["plugins"] == ["./mine.so"] and meta["plugins"][0]["file"] == str(mine)
    monkeypatch.setenv("MINE", str(mine))
    kselect("run", config(algorithms=["cpu/list"], plugins=["${MINE}"], axes={"n": 9, "q": 1, "k": 3}), "--out", "p")
    twice = kselect("run", config(algorithms=["auto"], plugins=["a.so", "a.so"]), "--out", "q", check=2)
    assert '/plugins/1: repeats "a.so"' in one_line(twice.stderr)
    empty = kselect("run", config(algorithms=["auto"], plugins=[]), "--out", "q", check=2)
    assert "/plugins" in one_line(empty.stderr)


def test_bench_ranks_it(kselect, mine):
    done = kselect("bench", "--n", 512, "--q", 4, "--k", 8, "--algorithms", "cpu/list,cpu/sort", "--seconds", "0.05",
                   "--rounds", 2, "--plugin", mine)
    assert "cpu/list" in done.stdout and "cpu/sort" in done.stdout


def test_its_work_is_counted(kselect, mine, config):
    path = config(algorithms=["warp-list"], executor="fiber", axes={"n": 100, "q": 2, "k": 3})
    counted = kselect("counters", path, "--plugin", mine).stdout
    assert "global_reads 200" in counted


def test_resume_sees_a_changed_plugin(kselect, mine, config, tmp_path):
    copy = tmp_path / "mine.so"
    shutil.copy(mine, copy)
    run = ["run", config(algorithms=["cpu/list", "cpu/sort"]), "--out", "o", "--resume", "--plugin", "mine.so"]
    kselect(*run)
    assert "8 done before" in kselect(*run).stdout
    copy.unlink()  # a loader that had it mapped would see bytes appended in place
    copy.write_bytes(mine.read_bytes() + b"\0")
    assert "4 cells run, 4 ok; 4 done before" in kselect(*run).stdout
    assert len({r["algorithm"]["source_hash"] for r in records(tmp_path / "o") if "plugin" in r["algorithm"]}) == 2


FAULTS = {
    "faulty/wrong": ("wrong", "rows wrong"),
    "faulty/throws": ("error", "threw an exception: the planted exception"),
    "faulty/crashes": ("error", "SIGABRT"),
    "faulty/hangs": ("timeout", "longer than 2 s"),
    "faulty/doubts": ("unsupported", "its plan() threw an exception: the planted doubt"),
}


def test_faults_cost_their_cells_alone(kselect, config, tmp_path):
    measure = {"warmup": 0, "rounds": 2, "min_samples": 2, "max_samples": 3, "timeout_s": 2}
    path = config(algorithms=["faulty/*", "cpu/sort"], axes={"n": 256, "q": 8, "k": 4}, measure=measure)
    kselect("run", path, "--out", "o", "--plugin", plugin("faulty"), check=1)
    found = {r["algorithm"]["name"]: r for r in records(tmp_path / "o")}
    for name, (status, reason) in FAULTS.items():
        assert found[name]["status"] == status and reason in found[name]["reason"], found[name]["reason"]
        assert found[name]["time"] is None
    for name in ("faulty/fine", "cpu/sort"):
        assert found[name]["status"] == "ok", found[name]["reason"]


def test_a_wrong_answer_of_it_is_not_written(kselect, tmp_path):
    np.save(tmp_path / "rows.npy", np.random.default_rng(3).random((5, 300), np.float32))
    select = ["select", "rows.npy", "--k", 7, "--plugin", plugin("faulty"), "--values", "v.npy", "--algorithm"]
    assert "wrong" in one_line(kselect(*select, "faulty/wrong", check=7).stderr)
    assert "the planted exception" in one_line(kselect(*select, "faulty/throws", check=4).stderr)
    assert not (tmp_path / "v.npy").exists()


REFUSED = {
    "other_abi": (3, "was built for kselect 7.8.9 (plug-in ABI 6), this is kselect 0.1.0 (plug-in ABI 5); build it"),
    "other_sizes": (3, "and its problem has 80 bytes, ours 72; build it again"),
    "taken_name": (2, "its entry cpu/sort has the name of an entry of this program; give it another name"),
    "twice": (2, "its entry twice has the name of an entry of this plug-in"),
    "bad_name": (3, "an entry is called 'a name'"),
    "idle": (3, "its entry idle has no plan"),
    "stranger": (3, "exports no symbol kselect_plugin"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_is_refused_with_one_sentence(name, kselect):
    code, reason = REFUSED[name]
    said = one_line(kselect("list", "--plugin", plugin(name), check=code).stderr)
    assert str(plugin(name)) in said and reason in said


def test_what_is_no_plugin_is_refused(kselect, mine, tmp_path):
    (tmp_path / "text.so").write_text("not a shared object")
    (tmp_path / "empty.so").touch()
    (tmp_path / "cut.so").write_bytes(mine.read_bytes()[:3000])
    for name, reason in (("none.so", "No such file"), ("text.so", "is no shared object"),
                         ("empty.so", "is no shared object"), ("cut.so", "is cut off; build or copy it again"),
                         (".", "is not a regular file")):
        for command in (["list"], ["test", "auto"], ["run", "smoke"], ["bench", "--n", 8, "--q", 1, "--k", 1]):
            said = one_line(kselect(*command, "--plugin", name, check=3).stderr)
            assert reason in said and (name == "." or name in said)


def test_two_plugins_and_one_twice(kselect, mine, tmp_path):
    os.symlink(mine, tmp_path / "again.so")
    both = kselect("list", "--names", "--plugin", mine, "--plugin", plugin("faulty"), "--plugin", "again.so").stdout
    assert both.split().count("warp-list") == 1 and "faulty/fine" in both
    shutil.copy(mine, tmp_path / "copy.so")
    said = one_line(kselect("list", "--plugin", mine, "--plugin", "copy.so", check=2).stderr)
    assert f"copy.so: its entry warp-list has the name of an entry of {mine}" in said
