"""`kselect counters`: exact work against its record."""

import json

import pytest
from conftest import ROOT, one_line

CONFIG = {
    "schema": "kselect-config/1",
    "name": "tiny",
    "axes": {"n": [200], "q": [3], "k": [4, 9]},
    "algorithms": ["qms-block", "qms-warp", "cpu/heap"],
    "executor": "fiber",
}


@pytest.fixture
def recorded(kselect, tmp_path):
    """A config and the record of its four cells (native code has no counters)."""
    (tmp_path / "tiny.json").write_text(json.dumps(CONFIG))
    done = kselect("counters", "tiny.json", "--update", "c.json")
    assert "recorded the work of 4 cells" in done.stdout
    return tmp_path / "c.json"


def change(path, edit):
    """Edits the record's cells in place; returns the first one."""
    text = json.loads(path.read_text())
    edit(text["cells"])
    path.write_text(json.dumps(text))
    return text["cells"][0]


def test_unchanged_kernels_pass(kselect, recorded):
    done = kselect("counters", "tiny.json", "--check", recorded)
    assert "exactly the work recorded in" in done.stdout and done.stdout.endswith(": 4 cells\n")
    assert recorded.read_text().count('"algorithm":"qms-') == 4


def test_more_work_than_recorded_fails_and_says_by_how_much(kselect, recorded):
    def one_read_less(cells):
        cells[0]["counters"]["global_reads"] -= 1

    cell = change(recorded, one_read_less)
    was = cell["counters"]["global_reads"]
    done = kselect("counters", "tiny.json", "--check", recorded, check=1)
    line = done.stdout.splitlines()[0]
    assert line.startswith(f'MORE WORK  {cell["algorithm"]} {cell["problem"]}: global_reads: ')
    assert f"recorded {was}, now {was + 1}: +1 (+" in line
    assert "--update" in done.stdout
    kselect("counters", "tiny.json", "--update", recorded)
    kselect("counters", "tiny.json", "--check", recorded)


def test_less_work_and_vanished_cells_fail_too(kselect, recorded):
    def edit(cells):
        cells[0]["counters"]["block_syncs"] = 10**9
        cells.append(cells[0] | {"algorithm": "qms-forgotten"})

    change(recorded, edit)
    done = kselect("counters", "tiny.json", "--check", recorded, check=1)
    assert "LESS WORK" in done.stdout and "GONE       qms-forgotten" in done.stdout


def test_a_kernel_that_is_not_recorded_yet_is_no_failure(kselect, recorded):
    change(recorded, lambda cells: cells.pop())
    done = kselect("counters", "tiny.json", "--check", recorded)
    assert "not recorded yet: 1 cell, the first" in done.stdout


def test_wrong_usage(kselect, recorded):
    kselect("counters", "tiny.json", "--check", "c.json", "--update", "c.json", check=2)
    assert "nowhere" in one_line(
        kselect("counters", "tiny.json", "--check", "nowhere", check=3).stderr)
    recorded.write_text("[]")
    assert "c.json" in one_line(kselect("counters", "tiny.json", "--check", recorded, check=3).stderr)


def test_the_committed_record_covers_every_kernel(kselect):
    """Names of kernels in the record are names in the registry; the check itself is a CTest case."""
    cells = json.loads((ROOT / "results" / "counters.json").read_text())["cells"]
    kernels = {entry["name"] for entry in json.loads(kselect("list", "--json").stdout)
               if entry["executors"]["fiber"]["here"]}
    assert {cell["algorithm"] for cell in cells} <= kernels
