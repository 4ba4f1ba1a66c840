"""`kselect ab` and `kselect noise`: turns, builds of commits, and the floor.

The programs measured are this build behind a script that then replaces the times it recorded by steady
ones, slower by a planted factor: real turns, real records, and no flaking on a busy machine.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, one_line, records

CONFIG = {
    "schema": "kselect-config/1",
    "name": "turns",
    "axes": {"n": [256, 512], "q": [4], "k": [4]},
    "algorithms": ["cpu/heap", "cpu/sort"],
    "measure": {"warmup": 0, "min_samples": 2, "max_samples": 2, "max_seconds": 1},
}
SLOWED = Path(__file__).with_name("slowed.py")
ROUNDS = 7


@pytest.fixture
def program(binary, tmp_path):
    """Writes a kselect whose times are slower by a factor."""

    def write(name, factor, path=None):
        path = path or tmp_path / name
        path.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{SLOWED}" "{binary}" {factor} "$@"\n')
        path.chmod(0o755)
        return path

    return write


@pytest.fixture
def config(tmp_path):
    """The config file of all tests."""
    path = tmp_path / "turns.json"
    path.write_text(json.dumps(CONFIG))
    return path


def ab(kselect, base, new, config, *more, check=0):
    """`kselect ab` of few rounds."""
    return kselect("ab", base, new, config, "--rounds", ROUNDS, *more, check=check)


def test_a_slower_program_is_a_regression(kselect, program, config, tmp_path):
    base, slow = program("base", 1.0), program("slow", 1.08)
    done = ab(kselect, base, slow, config, "--out", "o", check=1)
    assert done.stdout.startswith("4 regressions\n") and "The runs took turns" in done.stdout
    order = [line.split()[-1] for line in done.stderr.splitlines() if line.startswith("round ")]
    assert order == ["base", "new", "new", "base"] * (ROUNDS // 2) + ["base", "new"] * (ROUNDS % 2)
    for record in records(tmp_path / "o" / "new"):
        assert len(record["time"]["rounds"]) == ROUNDS
        low, high = record["time"]["ci95"]
        assert low <= record["time"]["median"] <= high
    kselect("compare", "o/base", "o/new", check=1)


@pytest.mark.slow
def test_a_side_keeps_what_its_turns_recorded(kselect, binary, config, tmp_path):
    kselect("ab", binary, binary, config, "--rounds", 3, "--out", "o", check=None)
    turns = [{r["key"]: r for r in records(tmp_path / "o" / "rounds" / f"new-{i:03}")} for i in (1, 2, 3)]
    merged = records(tmp_path / "o" / "new")
    assert len(merged) == 4
    for record in merged:
        time, of = record["time"], [turn[record["key"]] for turn in turns]
        assert time["rounds"] == [r["time"]["median"] for r in of]
        assert time["samples"] == [s for r in of for s in r["time"]["samples"]]
        assert sum(time["round_sizes"]) == len(time["samples"])
        assert (time["min"], time["max"], time["stop"]) == (
            min(time["samples"]), max(time["samples"]), "turns")
        assert record["verify"]["answers"] == sum(r["verify"]["answers"] for r in of)
        assert record["floor"]["bytes"] == of[0]["floor"]["bytes"]
        assert (min(r["floor"]["share"] for r in of) / 2 < record["floor"]["share"]
                < 2 * max(r["floor"]["share"] for r in of))
        for member in ("problem", "algorithm", "counters", "places", "inputs", "workspace_bytes"):
            assert record[member] == of[0][member]
    # Whatever reads a run reads it.
    for form in ("gbench", "ci", "csv", "markdown"):
        assert "cpu/heap" in kselect("export", "o/new", "--format", form).stdout
    for reader in (["plots.report", "o/new", "--out", "new.html"], ["plots", "o/new", "--out", "figures"]):
        done = subprocess.run([sys.executable, "-m", *reader], cwd=tmp_path, check=False,
                              env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert "stopped by" in (tmp_path / "new.html").read_text()
    assert list((tmp_path / "figures").glob("*.png"))


@pytest.mark.slow
def test_the_same_program_twice_is_the_same(kselect, program, config):
    base = program("base", 1.0)
    assert ab(kselect, base, base, config).stdout.startswith("4 same\n")


@pytest.mark.slow
def test_rounds_are_doubled_until_a_verdict_is_possible(kselect, program, config, tmp_path):
    base, slow = program("base", 1.0), program("slow", 1.08)
    few = ["ab", base, slow, config, "--rounds", 3, "--out", "o"]
    kselect(*few, check=3)  # three rounds bound nothing
    done = kselect(*few, "--resume", "--max-rounds", 24, check=1)
    assert done.stdout.startswith("4 regressions\n")
    assert "4 inconclusive; going on to 6 rounds" in done.stderr
    turned = len(records(tmp_path / "o" / "new")[0]["time"]["rounds"])
    assert 6 < turned <= 24
    # Where it is reached without a verdict, the limit ends it.
    kselect("ab", base, slow, config, "--rounds", 2, "--max-rounds", 3, "--out", "p", check=3)
    assert len(records(tmp_path / "p" / "new")[0]["time"]["rounds"]) == 3


@pytest.mark.slow
def test_directory_is_not_overwritten_but_resumed(kselect, program, config, tmp_path):
    base = program("base", 1.0)
    ab(kselect, base, base, config, "--out", "o")
    done = ab(kselect, base, base, config, "--out", "o", check=2)
    assert "--resume" in one_line(done.stderr.splitlines()[-1])
    shutil.rmtree(tmp_path / "o" / "rounds" / "new-007")
    ab(kselect, base, base, config, "--out", "o", "--resume")
    assert (tmp_path / "o" / "rounds" / "new-007" / "runs.jsonl").exists()


def test_a_config_that_a_program_refuses(kselect, program, config, tmp_path):
    config.write_text(config.read_text().replace("cpu/heap", "cpu/hepa"))
    base = program("base", 1.0)
    done = ab(kselect, base, base, config, check=2)
    assert "cpu/hepa" in done.stderr


@pytest.mark.slow
def test_cells_that_fail_are_missing(kselect, program, config, tmp_path, binary):
    base = program("base", 1.0)
    broken = program("broken", "error")
    done = ab(kselect, base, broken, config, check=4)
    assert done.stdout.startswith("4 missing\n") and "error in the new run" in done.stdout


def git(directory, *arguments):
    """Runs git as nobody in particular."""
    identity = ["-c", "user.name=n", "-c", "user.email=n@example.org"]
    subprocess.run(["git", "-C", directory, *identity, *arguments], check=True, capture_output=True)


@pytest.fixture
def repository(program, tmp_path):
    """Two commits of a project whose target `kselect` is the script: the second is slower."""
    directory = tmp_path / "repository"
    directory.mkdir()
    git(directory, "init", "-q", "-b", "main")
    (directory / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(fake NONE)\n"
        "add_custom_target(kselect ALL COMMAND ${CMAKE_COMMAND} -E copy "
        "${CMAKE_SOURCE_DIR}/program ${CMAKE_BINARY_DIR}/kselect)\n")
    for tag, factor in [("fast", 1.0), ("slow", 1.08)]:
        program("", factor, directory / "program")
        git(directory, "add", ".")
        git(directory, "commit", "-q", "-m", tag)
        git(directory, "tag", tag)
    return directory


@pytest.mark.slow
def test_commits_are_built_and_compared(kselect, repository, config, tmp_path):
    more = ["--repository", repository, "--work", "work"]
    assert ab(kselect, "fast", "slow", config, *more, check=1).stdout.startswith("4 regressions")
    kept = {path.name for path in (tmp_path / "work").iterdir() if path.is_dir()}
    assert len(kept) == 2 and all(len(name) == 12 for name in kept)
    done = ab(kselect, "fast", "main~1", config, *more, "--out", "again")
    assert done.stdout.startswith("4 same\n")
    done = ab(kselect, "fast", "no-such-tag", config, *more, check=2)
    assert "'no-such-tag' names no commit" in one_line(done.stderr)


def test_a_commit_that_does_not_build(kselect, repository, config):
    (repository / "CMakeLists.txt").write_text("nonsense(\n")
    git(repository, "commit", "-q", "-a", "-m", "broken")
    done = ab(kselect, "fast", "main", config, "--repository", repository, "--work", "work", check=2)
    assert "configuring" in done.stderr.splitlines()[-1]


@pytest.mark.slow
def test_noise_measures_this_program_against_itself(kselect, config, tmp_path):
    done = kselect("noise", config, "--rounds", ROUNDS)
    floor = json.loads((tmp_path / "out" / "noise-turns" / "noise.json").read_text())
    assert floor["schema"] == "kselect-noise/1" and len(floor["cells"]) == 4
    for cell in floor["cells"]:
        assert 0 < cell["paired"] and 0 < cell["unpaired"]
    assert "4 cells measured against themselves in 14 turns each" in done.stdout


@pytest.mark.slow
def test_the_floor_decides_what_counts(kselect, program, config, tmp_path):
    base, slow = program("base", 1.0), program("slow", 1.08)
    ab(kselect, base, slow, config, "--out", "o", check=1)
    kselect("noise", config, "--rounds", 2, "--out", "n")
    path = tmp_path / "n" / "noise.json"
    floor = json.loads(path.read_text())
    for cell in floor["cells"]:
        cell["paired"] = 0.05
    path.write_text(json.dumps(floor))
    done = kselect("compare", "o/base", "o/new", "--noise", path, "--all")
    assert done.stdout.startswith("4 same\n") and "from the noise floor" in done.stdout
    kselect("compare", "o/base", "o/new", "--noise", path, "--floor-multiplier", 1, check=1)
    path.write_text("{}")
    assert "noise.json" in one_line(
        kselect("compare", "o/base", "o/new", "--noise", path, check=2).stderr)


def test_noise_checks_its_output_before_the_first_turn(kselect, config, tmp_path):
    path = config
    kselect("noise", path, "--out", "/proc/none/o", check=6)
    (tmp_path / "o" / "noise.json").mkdir(parents=True)
    done = kselect("noise", path, "--out", "o", "--resume", check=6)
    assert "noise.json" in one_line(done.stderr) and not (tmp_path / "o" / "rounds").exists()
    (tmp_path / "o" / "noise.json").rmdir()
    shutil.copy(path, tmp_path / "o" / "noise.json")
    done = kselect("noise", "o/noise.json", "--out", "o", "--resume", check=2)
    assert "are the same file" in one_line(done.stderr)
