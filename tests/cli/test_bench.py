"""`kselect bench`: the ranking of one problem or a few, from generated rows or from a file."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from conftest import one_line, records

QUICK = ["--rounds", 2, "--seconds", 0.05]
FOUR = ["--algorithms", "cpu/heap,cpu/sort,cpu/nth_element,one-pass"]


def test_ranks_what_was_measured_and_answers_in_a_sentence(kselect, tmp_path):
    done = kselect("bench", "--n", 4096, "--q", 4, "--k", 8, *FOUR, *QUICK, "--out", "o")
    found = {r["algorithm"]["name"]: r["time"] for r in records(tmp_path / "o")}
    assert len(found) == 4
    by_time = sorted(found, key=lambda name: found[name]["median"])
    lines = done.stdout.splitlines()
    assert lines[0] == "n = 4096, Q = 4, k = 8, uniform, on cpu"
    shown = [re.search(r"(one-pass|cpu/\w+)", line).group() for line in lines[2:6]]
    assert shown == by_time, "fastest first"
    best = found[by_time[0]]
    starred = {name for name in found if found[name]["ci95"][0] <= best["ci95"][1]}
    assert {n for n, line in zip(shown, lines[2:6], strict=True) if "*" in line} == starred
    baseline = next(name for name in by_time if name.startswith("cpu/"))
    assert f"{baseline}  (baseline)" in done.stdout
    assert all("±" in line and " %" in line for line in lines[2:6])
    assert by_time[0] in lines[-1] and "n = 4096, Q = 4, k = 8" in lines[-1]
    assert "4 cells, 4 ok" in done.stdout and "records: o/runs.jsonl" in done.stdout


def test_factors_are_over_the_named_baseline(kselect, tmp_path):
    done = kselect("bench", "--n", 4096, "--q", 4, "--k", 8, *FOUR, *QUICK, "--out", "o",
                   "--baseline", "cpu/sort")
    found = {r["algorithm"]["name"]: r["time"]["median"] for r in records(tmp_path / "o")}
    lines = {re.search(r"(one-pass|cpu/\w+)", line).group(): line
             for line in done.stdout.splitlines()[2:6]}
    for name, median in found.items():
        factor = float(re.search(r"[num]?s\s+([\d.e+-]+)\s", lines[name]).group(1))
        assert factor == pytest.approx(found["cpu/sort"] / median, rel=0.1), name
    assert "times as fast as cpu/sort." in done.stdout
    wrong = kselect("bench", "--n", 8, "--q", 1, "--k", 1, *FOUR, *QUICK, "--baseline", "cpu/srot",
                    check=2)
    assert "cpu/sort" in one_line(wrong.stderr), "said before anything is measured"


def test_keeps_nothing_unless_told(kselect, tmp_path):
    (tmp_path / "scratch").mkdir()
    kselect("bench", "--n", 64, "--q", 1, "--k", 1, "--algorithms", "cpu/heap", *QUICK,
            env={"TMPDIR": str(tmp_path / "scratch")})
    assert list((tmp_path / "scratch").iterdir()) == []
    assert [path.name for path in tmp_path.iterdir()] == ["scratch"]


def test_lists_give_every_combination(kselect, tmp_path):
    done = kselect("bench", "--n", "8,2^8", "--q", "1,2", "--k", "4,16", "--algorithms",
                   "cpu/heap,one-pass", *QUICK, "--out", "o")
    shapes = {(p["n"], p["q"], p["k"]) for p in (r["problem"] for r in records(tmp_path / "o"))}
    assert shapes == {(8, 1, 4), (8, 2, 4), *((256, q, k) for q in (1, 2) for k in (4, 16))}
    assert " of 6 points on cpu" in done.stdout.splitlines()[-1]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_takes_the_rows_of_a_file(kselect, tmp_path, order, dtype):
    rows = np.random.default_rng(1).random((6, 300)).astype(dtype)
    np.save(tmp_path / "rows.npy", np.asarray(rows, order=order))
    kselect("bench", "--input", "rows.npy", "--k", 5, "--algorithms", "auto,cpu/heap", *QUICK,
            "--out", "o")
    for record in records(tmp_path / "o"):
        assert record["status"] == "ok"
        problem = record["problem"]
        assert (problem["n"], problem["q"], problem["dtype"]) == (300, 6, dtype)
        assert problem["distribution"] == "external"
        assert (record["input"]["kind"], record["input"]["rows"]) == ("rows", 6)
    # The folder's config makes the same run again, and every reader of runs reads it.
    meta = json.loads((tmp_path / "o" / "meta.json").read_text())
    (tmp_path / "again.json").write_text(json.dumps(meta["config"]))
    kselect("run", "again.json", "--out", "p")
    kselect("export", "o", "--format", "csv")


def test_a_part_of_the_file_is_a_problem_too(kselect, tmp_path):
    np.save(tmp_path / "rows.npy", np.random.default_rng(1).random((6, 300)))
    kselect("bench", "--input", "rows.npy", "--k", 5, "--n", 100, "--q", 2, "--algorithms", "cpu/heap",
            *QUICK, "--out", "o")
    (record,) = records(tmp_path / "o")
    assert (record["status"], record["problem"]["n"], record["problem"]["q"]) == ("ok", 100, 2)


def test_contracts_that_exclude_nan_are_held_against_the_file(kselect, tmp_path):
    rows = np.random.default_rng(1).random((4, 100)).astype("float32")
    rows[2, 3] = np.nan
    np.save(tmp_path / "rows.npy", rows)
    kselect("bench", "--input", "rows.npy", "--k", 5, *QUICK, "--out", "o")
    excluded = {e["name"] for e in json.loads(kselect("list", "--json").stdout)
                if e["contract"]["nan"] == "unsupported"}
    for record in records(tmp_path / "o"):
        name = record["algorithm"]["name"]
        assert record["status"] == ("unsupported" if name in excluded else "ok"), name
        assert ("NaN" in record["reason"]) == (name in excluded)


def test_says_what_is_wrong(kselect, tmp_path):
    def said(*arguments, check=2):
        return one_line(kselect("bench", *arguments, check=check).stderr)

    assert "--n and --q" in said("--k", 3)
    # In the words of the options, never in those of the config that is made of them.
    assert said("--n", 4, "--q", 1, "--k", 5) == (
        "kselect: --k: k = 5 is larger than n = 4: a row has no more than n elements to select; give a smaller --k "
        "or a larger --n")
    assert "k = 9 is larger than n = 8" in said("--n", "4,8", "--q", 1, "--k", "9,2^4")
    assert said("--n", 4, "--q", 1, "--k", 0).startswith("kselect: --k: must lie between 1 and")
    assert said("--n", "1e3", "--q", 1, "--k", 1).startswith("kselect: --n: ")
    assert "near" in said("--n", 4, "--q", 1, "--k", 1, "--algorithms", "cpu/hepa")
    np.save(tmp_path / "one.npy", np.zeros(9))
    assert "reshape(1, -1)" in said("--input", "one.npy", "--k", 1, check=3)
    np.save(tmp_path / "none.npy", np.float32(1))
    assert "none.npy" in said("--input", "none.npy", "--k", 1, check=3)
    np.save(tmp_path / "whole.npy", np.zeros((3, 3), np.int16))
    assert "astype" in said("--input", "whole.npy", "--k", 1, check=3)
    np.save(tmp_path / "rows.npy", np.zeros((3, 3)))
    assert "3 columns" in said("--input", "rows.npy", "--k", 1, "--n", 4)
    assert "3 rows" in said("--input", "rows.npy", "--k", 1, "--q", 4)
    assert said("--input", "rows.npy", "--k", 4).endswith(
        "k = 4 is larger than n = 3 of rows.npy: a row has no more than n elements to select; give a smaller --k")
    assert '"float64"' in said("--input", "rows.npy", "--k", 1, "--dtype", "float32")
    assert "--distribution" in said("--input", "rows.npy", "--k", 1, "--distribution", "uniform")
    assert "absent.npy" in said("--input", "absent.npy", "--k", 1, check=3)


def test_work_on_fibers_is_counted(kselect):
    done = kselect("bench", "--n", 256, "--q", 2, "--k", 4, "--algorithms", "auto", "--executor",
                   "fiber", *QUICK)
    assert "global_reads" in done.stdout.splitlines()[0]
    assert "No cell has a time" in done.stdout.splitlines()[-1]


def test_a_fortran_file_is_proven_against_its_own_rows(kselect, tmp_path):
    """The rows of a column-major file reach row-major algorithms untransposed in meaning."""
    rows = np.arange(12, dtype="float32").reshape(3, 4)[:, ::-1]
    np.save(tmp_path / "rows.npy", np.asfortranarray(rows))
    kselect("bench", "--input", "rows.npy", "--k", 2, "--algorithms", "cpu/sort,auto", *QUICK,
            "--out", "o")
    assert {r["status"] for r in records(Path(tmp_path / "o"))} == {"ok"}
