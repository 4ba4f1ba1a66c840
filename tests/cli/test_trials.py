"""scripts/trials.sh: does the verdict come out right, trial by trial? Tried with planted times (slowed.py)."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

CONFIG = {
    "schema": "kselect-config/1",
    "name": "tried",
    "axes": {"n": 256, "q": 4, "k": 4},
    "algorithms": ["cpu/heap", "cpu/sort"],
    "measure": {"warmup": 0, "min_samples": 11, "max_samples": 11, "max_seconds": 1},
}
SLOWED = Path(__file__).with_name("slowed.py")
RECORD = {"trials.csv", "verdicts.txt", "noise.json", "noise.txt", "base.json", "slower.json"}


@pytest.fixture
def trials(binary, tmp_path):
    """Runs trials of a steady program and one slower by a factor; their exit code, lines and output."""
    (tmp_path / "tried.json").write_text(json.dumps(CONFIG))

    def program(factor):
        path = tmp_path / f"times-{factor}"
        path.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{SLOWED}" "{binary}" {factor} "$@"\n')
        path.chmod(0o755)
        return path

    def run(how, count, factor, rounds):
        done = subprocess.run(
            ["bash", ROOT / "scripts" / "trials.sh", *how, program(1), "tried.json", "o", str(count),
             program(factor)],
            cwd=tmp_path, env=os.environ | {"ROUNDS": str(rounds), "MAX_ROUNDS": str(rounds)},
            capture_output=True, text=True, timeout=6000, check=False)
        with (tmp_path / "o" / "trials.csv").open() as lines:
            return done, list(csv.DictReader(lines))

    return run


@pytest.mark.slow
def test_runs_compared(trials, tmp_path):
    done, lines = trials(["--runs"], 2, 1.08, 2)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [(x["trial"], x["new"], x["exit_code"], x["verdict"], x["slower"]) for x in lines] == [
        ("1", "slower", "1", "2 regressions", "cpu/heap cpu/sort"), ("1", "same", "0", "2 same", ""),
        ("2", "slower", "1", "2 regressions", "cpu/heap cpu/sort"), ("2", "same", "0", "2 same", "")]
    assert "2 of 2 right where nothing changed\n2 of 2 right where the program is slower" in done.stdout
    assert {path.name for path in (tmp_path / "o").iterdir() if path.is_file()} == RECORD
    assert (tmp_path / "o" / "verdicts.txt").read_text().count("cpu/heap") == 8  # row and mean of each


@pytest.mark.slow
def test_a_slow_down_that_is_not_there_fails(trials):
    done, lines = trials(["--runs"], 1, 1.0, 2)
    assert done.returncode == 1
    assert [(x["new"], x["exit_code"]) for x in lines] == [("slower", "0"), ("same", "0")]
    assert "0 of 1 right where the program is slower" in done.stdout


@pytest.mark.slow
def test_programs_in_turns(trials, tmp_path):
    done, lines = trials([], 1, 1.08, 6)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [(x["new"], x["exit_code"]) for x in lines] == [("same", "0"), ("slower", "1")]
    assert {path.name for path in (tmp_path / "o").iterdir() if path.is_file()} == RECORD
    # What is on record is not written over.
    again, _ = trials([], 1, 1.08, 6)
    assert again.returncode == 2 and "give another OUT" in again.stderr


@pytest.mark.slow
def test_pairs_without_turns(binary, tmp_path):
    (tmp_path / "tried.json").write_text(json.dumps(CONFIG))
    program = tmp_path / "steady"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{SLOWED}" "{binary}" 1 "$@"\n')
    judge = tmp_path / "judge"
    judge.write_text('#!/bin/sh\necho "1 regression"; echo "regression  +40.0 %  x"; exit 1\n')
    for made in (program, judge):
        made.chmod(0o755)
    command = ["bash", ROOT / "scripts" / "trials_apart.sh", program, "tried.json"]

    def run(out, **judge):
        return subprocess.run([*command, out, "4"], cwd=tmp_path, env=os.environ | judge,
                              capture_output=True, text=True, timeout=6000, check=False)

    done = run("o")
    assert done.returncode == 0, done.stdout + done.stderr
    with (tmp_path / "o" / "trials.csv").open() as lines:
        rows = list(csv.DictReader(lines))
    busy = [0, *(os.cpu_count() * share // 2 for share in (1, 2, 4))]
    assert [int(row["busy_programs"]) for row in rows] == busy
    assert {row["exit_code"] for row in rows} == {"0"} and rows[0]["verdict"] == "2 same"
    assert len([path for path in (tmp_path / "o").iterdir() if path.is_dir()]) == 8
    assert "0 of 4 pairs of one program would be a regression" in done.stdout
    assert run("o").returncode == 2  # what is on record is not written over
    wrong = run("p", JUDGE=str(judge))
    assert wrong.returncode == 1 and "4 of 4 pairs" in wrong.stdout
    assert '1,0,+40.0 %,1,"1 regression"' in wrong.stdout


@pytest.mark.parametrize("patch", sorted((ROOT / "scripts" / "trials").glob("*.patch")), ids=lambda p: p.stem)
def test_slower_programs_can_still_be_made(patch):
    subprocess.run(["git", "apply", "--check", patch], cwd=ROOT, check=True)
