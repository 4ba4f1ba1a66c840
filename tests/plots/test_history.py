"""Change points over stored runs: the test's null, its power, the machine's part, and the command."""

import itertools
import json
import math
import random
import re
from pathlib import Path

import pytest
from plots.history.__main__ import main
from plots.history.change import _largest, find, least_p, p_value, rejected
from plots.history.series import polish

from conftest import CONTENDERS, GPU_CONTENDERS, cell, problem, write_run

ALPHA = 0.05


def noise(chance: random.Random, shape: str) -> float:
    """Return one error of a logarithm of time: about 1 %, with the tails that times have."""
    if shape == "normal":
        return chance.gauss(0, 0.01)
    if shape == "long tail":
        return 0.01 * math.exp(chance.gauss(0, 1))
    return chance.gauss(0, 0.01) + (0.3 if chance.random() < 0.1 else 0.0)  # outliers


@pytest.mark.parametrize("shape", ["normal", "long tail", "outliers"])
@pytest.mark.parametrize("runs", [8, 12, 40])
def test_false_alarms_are_as_rare_as_promised(shape: str, runs: int) -> None:
    chance = random.Random(f"{shape} {runs}")
    trials = 1000
    alarms = sum(
        find([noise(chance, shape) for _ in range(runs)]).p <= ALPHA for _ in range(trials)
    )
    # Three deviations of a binomial above its mean.
    assert alarms <= trials * ALPHA + 3 * math.sqrt(trials * ALPHA * (1 - ALPHA))
    assert alarms >= 0.2 * trials * ALPHA  # not merely because it never tells anything


@pytest.mark.parametrize("shape", ["normal", "long tail", "outliers"])
def test_steps_and_slow_drifts_are_detected(shape: str) -> None:
    chance = random.Random(shape)
    trials, runs = 200, 30
    steps, drifts, near = 0, 0, 0
    for _ in range(trials):
        step = find([noise(chance, shape) + (0.03 if i >= 18 else 0) for i in range(runs)])
        steps += step.p <= 0.01
        near += abs(step.at - 18) <= 3
        drifts += find([noise(chance, shape) + 0.06 * i / runs for i in range(runs)]).p <= 0.01
    least = 0.95 if shape == "normal" else 0.8
    assert steps >= least * trials
    assert near >= 0.7 * trials
    assert drifts >= least * trials


def test_the_null_is_counted_over_all_orders_of_few_runs() -> None:
    # The exact share of the orders of 6 ranks that reach a statistic.
    ranks = [1, 2, 3, 4, 5, 6]
    largest = [_largest(list(order))[0] for order in itertools.permutations(ranks)]
    statistic = _largest(ranks)[0]
    assert p_value(statistic, 6) == sum(s >= statistic - 1e-9 for s in largest) / 720
    assert least_p(3) == 1.0
    assert find([0.0, 1.0, 2.0]) is None
    # A sure step in 4 + 4 runs is one of few orders, one in 2 + 2 is not.
    assert find([0, 0.1, 0.2, 0.3, 9, 9.1, 9.2, 9.3]).p <= 0.05
    assert find([0, 0.1, 9, 9.1]).p > 0.3


def test_one_odd_run_at_the_end_is_no_change() -> None:
    quiet = [random.Random(i).gauss(0, 0.01) for i in range(20)]
    assert find([*quiet, 1.0]).p > ALPHA


def test_the_size_of_a_change_is_that_of_its_levels() -> None:
    change = find([0.0, 0.001, 0.002, 0.0, 0.001] * 2 + [math.log(1.1) + 0.001] * 8)
    assert change.at == 10
    assert change.ratio == pytest.approx(1.1, rel=0.005)


def test_of_many_series_few_told_are_false() -> None:
    assert rejected([0.001, 0.8, 0.012, 0.04], 0.05) == [True, False, True, False]
    assert rejected([0.9, 0.5], 0.05) == [False, False]
    assert rejected([], 0.05) == []


def test_polish_parts_cells_from_runs_though_cells_are_missing() -> None:
    effect = {0: 0.3, 1: -0.1, 2: 0.0, 3: 0.2, 4: 0.0}
    level = {"a": 5.0, "b": 9.0, "c": 2.0}
    cells = {c: {r: level[c] + e for r, e in effect.items()} for c in level}
    del cells["a"][0], cells["b"][3]
    assert polish(cells) == pytest.approx(effect, abs=1e-6)
    # A run that shares no cell with the others has no effect that could be known.
    assert set(polish({"a": {0: 1.0, 1: 1.2}, "b": {2: 3.0, 3: 3.1}})) == {2, 3}


def history(
    folder: Path, slower: float = 1.0, machine: float = 1.0, *, runs: int = 16, since: int = 9
) -> Path:
    """Write runs of three algorithms; from run `since` on the first, or the whole machine, is slower."""
    chance = random.Random(7)
    for number in range(runs):
        cells = []
        for place, contender in enumerate(GPU_CONTENDERS[:3]):
            for exponent in (12, 14, 16):
                for k in (16, 64):
                    record = cell(contender, problem(1 << exponent, 64, k))
                    factor = math.exp(chance.gauss(0, 0.005))
                    if number >= since:
                        factor *= machine * (slower if place == 0 else 1.0)
                    median = record["time"]["median"] * factor
                    record["time"] |= {"median": median, "ci95": [median * 0.99, median * 1.01]}
                    if place == 0:
                        record["algorithm"]["source_hash"] = f"{number:016}"
                    cells.append(record)
        write_run(
            folder / f"run{number:02}", cells, started=f"2026-11-{number + 1:02}T10:00:00Z",
            git={"commit": f"{number:07}{'a' * 33}", "dirty": False},
        )  # fmt: skip
    return folder


def test_a_slower_algorithm_is_named_with_size_and_commit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(history(tmp_path, slower=1.05)), "--format", "json"]) == 1
    (device,) = json.loads(capsys.readouterr().out)
    (change,) = device["changes"]
    assert (change["name"], change["run"], change["commit"][:7]) == (
        GPU_CONTENDERS[0].name, "run09", "0000009",
    )  # fmt: skip
    assert change["ratio"] == pytest.approx(1.05, abs=0.01)
    assert main([str(tmp_path)]) == 1
    told = capsys.readouterr().out
    assert f"{GPU_CONTENDERS[0].name} (6 cells) is " in told
    assert "% slower since run run09, commit 0000009aa" in told
    # A change below the threshold, and one that made it faster, fail nothing.
    assert main([str(tmp_path), "--threshold", "10%"]) == 0
    assert main([str(tmp_path), "--format", "markdown", "--cells"]) == 1
    assert f"- {GPU_CONTENDERS[0].name} n=" in capsys.readouterr().out


def test_a_faster_algorithm_is_told_and_fails_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(history(tmp_path, slower=0.9))]) == 0
    assert "% faster since run run09" in capsys.readouterr().out


def test_what_slows_all_unchanged_algorithms_is_the_machine_s(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(history(tmp_path, machine=1.2))]) == 1
    told = capsys.readouterr().out
    assert re.search(r"every algorithm with unchanged sources \(12 cells\) is (19|20)\.\d % slower since run run09", told)
    assert GPU_CONTENDERS[0].name not in told


def test_nothing_changed_and_too_few_runs_say_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(history(tmp_path / "same"))]) == 0
    assert "no change" in capsys.readouterr().out
    assert main([str(history(tmp_path / "few", 2.0, runs=5, since=3))]) == 0
    assert "5 runs are too few to tell a change" in capsys.readouterr().out


def test_bad_input_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(tmp_path / "one", [cell(CONTENDERS[2], problem(4096, 64, 16))])
    assert main([str(tmp_path)]) == 3
    assert "no cell was measured in two runs" in capsys.readouterr().err
    assert main([str(tmp_path / "none")]) == 3
    assert main([str(tmp_path), "--alpha", "2"]) == 2
    assert main([str(tmp_path), "--threshold", "many"]) == 2
    assert "'many' is no share such as 2% or 0.02" in capsys.readouterr().err
