"""Records that are not a sweep's, not whole or not sane: refused with a code of the list, and left as they are."""

import json
import os
import shutil
import subprocess
import zlib

import numpy as np
import pytest
from conftest import SMALL, one_line, records, write_records


@pytest.fixture(scope="module")
def swept(binary, tmp_path_factory):
    """A folder with small.json and its finished sweep `o`."""
    folder = tmp_path_factory.mktemp("swept")
    (folder / "small.json").write_text(json.dumps(SMALL))
    subprocess.run([binary, "run", "small.json", "--out", "o"], cwd=folder, check=True, capture_output=True)
    return folder


@pytest.fixture
def run(swept, tmp_path):
    """A finished sweep in `o`."""
    shutil.copytree(swept, tmp_path, dirs_exist_ok=True)
    return tmp_path / "o"


def readers(directory):
    """Every command that reads a run."""
    return [["compare", directory, directory], ["export", directory, "--format", "csv"],
            ["merge", directory, "--out", "merged"], ["progress", directory]]


def test_a_journal_says_what_it_is_of(kselect, run, tmp_path):
    """Older programs kept searches in journals of their own."""
    (tmp_path / "s").mkdir()
    text = b'{"schema":1,"what":"index_search","started":"2026-11-20T10:00:00Z"}'
    (tmp_path / "s" / "runs.jsonl").write_bytes(text[:-1] + b',"crc32":"%08x"}\n' % zlib.crc32(text))
    shutil.copy(run / "meta.json", tmp_path / "s")
    for command in readers("s"):
        done = kselect(*command, check=2 if command[0] == "compare" else 3)
        assert 'is a record of "index_search"' in one_line(done.stderr)
    assert 'is a record of "index_search"' in kselect("run", "small.json", "--out", "s", "--resume", check=3).stderr


def test_the_file_of_another_program_is_not_cut(kselect, config, tmp_path):
    (tmp_path / "o").mkdir()
    for text in ('{"precious": 1}\n', '{"precious": 1}', "precious", '{"schema":1,"mine":2}\n'):
        (tmp_path / "o" / "runs.jsonl").write_text(text)
        done = kselect("run", config(), "--out", "o", "--resume", check=3)
        assert "no journal of this program" in one_line(done.stderr)
        assert (tmp_path / "o" / "runs.jsonl").read_text() == text
    (tmp_path / "o" / "runs.jsonl").unlink()
    os.mkfifo(tmp_path / "o" / "runs.jsonl")
    assert "not a regular file" in one_line(kselect("run", "small.json", "--out", "o", check=6).stderr)


def test_a_lock_that_is_a_link_is_not_followed(kselect, config, tmp_path):
    (tmp_path / "o").mkdir()
    (tmp_path / "precious").write_text("data")
    (tmp_path / "o" / ".lock").symlink_to(tmp_path / "precious")
    (tmp_path / "o" / ".mine.tmp.999999999").write_text("data")
    kselect("run", config(), "--out", "o", check=6)
    assert (tmp_path / "precious").read_text() == "data"
    (tmp_path / "o" / ".lock").unlink()
    kselect("run", "small.json", "--out", "o")
    assert (tmp_path / "o" / ".mine.tmp.999999999").exists()


@pytest.mark.parametrize("change", [{"plan": {}}, {"state": None}, {"git": []}, {"gpu": [1]}, {"host": {"name": 1}}])
def test_meta_data_that_make_no_sense(kselect, run, change):
    meta = json.loads((run / "meta.json").read_text())
    (run / "meta.json").write_text(json.dumps(meta | change))
    for command in [*readers("o"), ["run", "small.json", "--out", "o", "--resume"]]:
        done = kselect(*command, check=2 if command[0] == "compare" else 3)
        assert "meta.json: " in one_line(done.stderr)


def test_records_without_their_members(kselect, run):
    found = records(run)
    for member in ("key", "status"):
        write_records(run, [{n: v for n, v in found[0].items() if n != member}, *found[1:]])
        done = kselect("run", "small.json", "--out", "o", "--resume", check=3)
        assert "runs.jsonl: line 1: " in one_line(done.stderr) and member in done.stderr


@pytest.mark.parametrize("member", ["pinned", "throttled"])
def test_records_whose_marks_are_no_booleans(kselect, run, member):
    write_records(run, [record | {member: {}} for record in records(run)])
    for command in [["show", "o"], *readers("o")]:
        done = kselect(*command, check=None)
        assert done.returncode in (0, 3) or command[0] == "compare" and done.returncode == 2
        assert done.returncode == 0 or "o/runs.jsonl:1: type must be boolean, but is object" in one_line(done.stderr)


def test_json_that_nests_without_end(kselect, run):
    deep = json.loads((run / "meta.json").read_text())
    text = json.dumps(deep)[:-1] + ',"deep":' + "[" * 1_000_000 + "]" * 1_000_000 + "}"
    (run / "meta.json").write_text(text)
    for command in readers("o"):
        done = kselect(*command, check=2 if command[0] == "compare" else 3)
        assert "nests deeper than" in one_line(done.stderr)


@pytest.mark.parametrize("text", ['{"schema": "kselect-noise/1", "machine": {}, "cells": []}',
                                  '{"schema": "kselect-noise/1", "machine": {"cpu": {}, "gpu": 1}, "cells": []}',
                                  "[" * 100_000])
def test_a_noise_floor_that_makes_no_sense(kselect, run, tmp_path, text):
    (tmp_path / "noise.json").write_text(text)
    assert "noise.json" in one_line(kselect("compare", "o", "o", "--noise", "noise.json", check=2).stderr)


def test_two_shards_with_the_same_cells_are_not_a_sweep(kselect, config, tmp_path):
    for shard in (1, 2):
        kselect("run", config(), "--out", f"s{shard}", "--shard", f"{shard}/2")
    meta = json.loads((tmp_path / "s2" / "meta.json").read_text())
    shutil.rmtree(tmp_path / "s2")
    shutil.copytree(tmp_path / "s1", tmp_path / "s2")
    count = len(records(tmp_path / "s1"))
    meta["plan"]["cells"] = count
    (tmp_path / "s2" / "meta.json").write_text(json.dumps(meta))
    done = kselect("merge", "s1", "s2", "--out", "merged", check=2)
    assert "which are different shards" in one_line(done.stderr)
    assert not (tmp_path / "merged").exists()


def test_two_empty_runs_have_no_verdict(kselect, run):
    (run / "runs.jsonl").write_text("")
    assert "no verdict is possible" in one_line(kselect("compare", "o", "o", check=2).stderr)
    assert "neither a share" in one_line(kselect("compare", "o", "o", "--threshold", "5", check=2).stderr)


def test_exports_and_errors_hold_no_control_character(kselect, run):
    found = records(run)
    found[0]["status"], found[0]["time"], found[0]["reason"] = "error", None, "a|b\n\x1b[2J<script>"
    write_records(run, found)
    table = kselect("export", "o", "--format", "markdown").stdout
    assert "a\\|b\\n\\x1b[2J\\<script>" in table and "\x1b" not in table
    assert "\x1b" not in kselect("export", "o", "--format", "csv").stdout
    done = kselect("select", "--input", "two\nlines.npy", "--k", 1, "--algorithm", "cpu/sort", check=3)
    assert "two\\nlines.npy" in one_line(done.stderr)


def test_a_filter_costs_no_time_and_names_need_no_encoding(kselect, config, tmp_path):
    assert "longer than 1000" in one_line(
        kselect("run", config(), "--dry-run", "--filter", "a" * 100_000, check=2).stderr)
    kselect("run", config(), "--dry-run", "--filter", "(.*)*z", check=2, timeout=60)
    name = os.fsdecode(b"v\xff.npy")
    np.save(tmp_path / name, np.random.default_rng(1).random((50, 4), np.float32))
    dataset = {"dataset": {"base": "x.npy", "metric": "euclidean", "self": True}}
    config(input=dataset, axes={"n": [40], "q": [8], "k": [4]})
    kselect("run", "small.json", "--dataset", name, "--out", "o", "--filter", os.fsdecode(b"heap"))
    assert [r["status"] for r in records(tmp_path / "o")] == ["ok"]
    kselect("run", "small.json", "--dataset", name, "--dry-run", "--filter", os.fsdecode(b"\xff"), check=2)


def test_a_config_ends_where_its_file_ends(kselect, config):
    path = config()
    path.write_bytes(path.read_bytes() + b"\0, ignored")
    assert "a zero byte" in one_line(kselect("run", path, "--dry-run", check=2).stderr)


def test_vectors_that_do_not_fit_are_cells_out_of_memory(kselect, config, tmp_path):
    vectors = {"generator": {"vectors": {"dimension": 1 << 18, "metric": "sqeuclidean"}}}
    axes = {"n": [16, "2^22"], "q": [1], "k": [4]}  # 4 TiB of vectors for 16 MiB of rows
    kselect("run", config(input=vectors, axes=axes), "--out", "o", check=1)
    assert {r["problem"]["n"]: r["status"] for r in records(tmp_path / "o")} == {16: "ok", 1 << 22: "out_of_memory"}
