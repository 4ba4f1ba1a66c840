"""`kselect show`, and the table that `kselect run` ends with."""

import json
import re

import pytest
from conftest import SMALL, one_line, records, write_records


@pytest.fixture
def ran(kselect, config, tmp_path):
    kselect("run", config(), "--out", "o")
    return tmp_path / "o"


def with_times(directory, times):
    """Gives the cells of each algorithm a median and an interval, in microseconds."""
    found = records(directory)
    for record in found:
        median, low, high = (1000.0 * us for us in times[record["algorithm"]["name"]])
        record["time"] |= {"median": median, "ci95": [low, high]}
    write_records(directory, found)


def test_ties_share_the_star_and_uncertainty_is_shown(kselect, ran):
    with_times(ran, {"cpu/heap": (750, 521, 880), "cpu/sort": (839, 552, 1062)})
    shown = kselect("show", "o").stdout
    lines = shown.splitlines()
    assert len([line for line in lines if "*750±180 us" in line and "*839±255 us" in line]) == 4
    assert "of 4 points" in lines[-1] and "shared" in lines[-1]
    with_times(ran, {"cpu/heap": (750, 740, 760), "cpu/sort": (839, 830, 840)})
    lines = kselect("show", "o").stdout.splitlines()
    assert len([line for line in lines if "*750±10 us" in line and " 839±5 us" in line]) == 4
    assert lines[-1].startswith("cpu/heap is fastest at 4 of 4 points on cpu")


def test_tables(kselect, ran):
    with_times(ran, {"cpu/heap": (100, 99, 101), "cpu/sort": (400, 390, 410)})
    cells = kselect("show", "o", "--table", "cells", "--baseline", "cpu/sort").stdout
    assert len(re.findall(r"\*100±1 us +4\.00 ", cells)) == 4
    assert cells.count("cpu/sort  (baseline)") == 4
    assert "4.0 times as fast as cpu/sort." in cells.splitlines()[-1]
    winners = kselect("show", "o", "--table", "winners", "--baseline", "cpu/sort").stdout
    assert len(re.findall(r"100±1 us +4\.00  cpu/heap", winners)) == 4
    # A terminal that is too narrow for a column an algorithm gets a line a cell.
    narrow = kselect("show", "o", env={"COLUMNS": "40"}).stdout
    assert narrow.startswith("n = 256, Q = 8, k = 4")
    wide = kselect("show", "o", env={"COLUMNS": "120"}).stdout
    *shape, first, second = wide.splitlines()[0].split()
    assert shape == ["n", "Q", "k", "rows"] and {first, second} == {"cpu/heap", "cpu/sort"}
    one = kselect("show", "o", "--filter", "cpu/heap .*n=256/k=16").stdout
    assert "1 cell, 1 ok" in one and "cpu/sort" not in one
    none = kselect("show", "o", "--filter", "nothing matches", check=2).stderr
    title = re.search("no cell is left; --filter excludes all; .* titles such as '(.+)'", none)[1]
    assert "1 cell, 1 ok" in kselect("show", "o", "--filter", f"^{title}$").stdout


def test_warnings_of_doctor_as_recorded(kselect, ran):
    meta = json.loads((ran / "meta.json").read_text())
    meta["host"] |= {"load_1min": 7.5, "threads_online": 2, "governor": "powersave"}
    meta["build"] |= {"type": "Debug"}
    (ran / "meta.json").write_text(json.dumps(meta))
    shown = kselect("show", "o").stdout
    assert "WARNING  other load    load average 7.50 on 2 threads" in shown
    assert "WARNING  CPU governor  powersave" in shown and "WARNING  build         Debug" in shown
    meta["host"] |= {"load_1min": 0.0, "governor": "performance"}
    meta["build"] |= {"type": "Release", "sanitizers": ""}
    (ran / "meta.json").write_text(json.dumps(meta))
    shown = kselect("show", "o").stdout
    assert not re.search("WARNING  (other load|CPU governor|build)", shown)


def test_the_load_of_a_run_is_the_load_before_it(kselect, config, tmp_path):
    """Later, the load is the run's own."""

    def load():
        return float(open("/proc/loadavg").read().split()[0])

    before = load()
    kselect("run", config(), "--out", "o")
    low, high = sorted((before, load()))  # of what else runs here
    meta = json.loads((tmp_path / "o" / "meta.json").read_text())
    assert low - 1.5 < meta["host"]["load_1min"] < high + 1.5


def test_a_partial_run_says_so(kselect, ran):
    write_records(ran, records(ran)[:3])
    meta = json.loads((ran / "meta.json").read_text())
    (ran / "meta.json").write_text(json.dumps(meta | {"state": "interrupted"}))
    shown = kselect("show", "o").stdout
    assert "interrupted, recorded: 3 of 8 cells" in shown and "3 cells, 3 ok" in shown


def test_a_resumed_run_ends_with_the_whole_table(kselect, config, ran):
    write_records(ran, records(ran)[:3])
    done = kselect("run", config(), "--out", "o", "--resume")
    assert "5 cells run, 5 ok; 3 done before" in done.stdout
    table = [line for line in done.stdout.splitlines() if re.match(r" +(256|1024) ", line)]
    assert len(table) == 4 and all(line.count("±") == 2 for line in table)
    assert "points on cpu" in done.stdout.splitlines()[-1]
    again = kselect("run", config(), "--out", "o", "--resume").stdout
    assert "0 cells run; 8 done before" in again and again.count("±") == 9


def test_a_big_sweep_ends_short(kselect, config, tmp_path):
    axes = {"n": 64, "q": 1, "k": list(range(1, 51))}
    done = kselect("run", config(axes=axes, measure=SMALL["measure"] | {"max_seconds": 0.01}),
                   "--out", "o")
    assert len(done.stdout.splitlines()) < 20 and "`kselect show o`" in done.stdout
    assert len(kselect("show", "o").stdout.splitlines()) > 50


def test_failed_cells_have_their_reasons(kselect, ran):
    found = records(ran)
    found[0] |= {"status": "error", "reason": "its process was killed\u001b[2J", "time": None}
    write_records(ran, found)
    shown = kselect("show", "o", "--table", "cells").stdout
    assert "error: its process was killed" in shown and "\x1b" not in shown


def test_runs_on_fibers_show_counted_work(kselect, config, tmp_path):
    done = kselect("run", config(algorithms=["qms-warp"]), "--out", "o", "--executor", "fiber")
    reads = [str(r["counters"]["global_reads"]) for r in records(tmp_path / "o")]
    for shown in done.stdout, kselect("show", "o").stdout:
        table = shown.splitlines()[:5]
        assert "global_reads" in table[0]
        assert sorted(row for row in reads) == sorted(
            line.split()[table[0].split().index("global_reads")] for line in table[1:])


def test_says_what_is_no_run(kselect, tmp_path):
    assert "absent" in one_line(kselect("show", "absent", check=3).stderr)
    kselect("show", check=2)
