"""Two clocks: what counts as agreement, and the command with programs whose times are known."""

import json
import os
import sys
from pathlib import Path

import pytest

from peers import second_clock

PROGRAM = """#!{python}
import json, pathlib, sys
words = sys.argv[1:]
factor, here = {factor}, pathlib.Path({folder!r})
def rows(suffix):
    turn = len(here.joinpath("turns").read_text()) if here.joinpath("turns").exists() else 0
    here.joinpath("turns").write_text("x" * (turn + 1))
    drift = 1 + turn // 2 * 0.5  # the machine gets slower; both programs do
    return {{"benchmarks": [{{"name": name + suffix, "run_name": name + suffix, "run_type": "iteration",
                             "real_time": time * drift * factor, "time_unit": "us"}}
                            for name, time in (("a/cpu", 5.0), ("b/cpu", 70.0))][:{cells}]}}
if words[0] == "run":
    out = pathlib.Path(words[words.index("--out") + 1])
    out.mkdir()
    (out / "meta.json").write_text(json.dumps({{"gpu": None, "config": {{"name": "c"}}}}))
elif words[0] == "export":
    pathlib.Path(words[words.index("--output") + 1]).write_text(json.dumps(rows("/manual_time")))
else:
    out = next(word.split("=")[1] for word in words if word.startswith("--benchmark_out="))
    pathlib.Path(out).write_text(json.dumps(rows("/manual_time")))
"""


def program(folder: Path, name: str, factor: float = 1.0, cells: int = 2) -> Path:
    """Write a program that plays both kselect and kselect-gbench, slower by a factor."""
    file = folder / name
    file.write_text(PROGRAM.format(python=sys.executable, factor=factor, cells=cells, folder=str(folder)))
    file.chmod(0o755)
    return file


def run(tmp_path: Path, factor: float, *more: str, cells: int = 2) -> int:
    """Run the command on two programs; return its exit code."""
    return second_clock.main([
        "config.json", "--out", str(tmp_path / "out"), "--program", str(program(tmp_path, "own")),
        "--gbench", str(program(tmp_path, "gbench", factor, cells)), "--rounds", "6", *more,
    ])  # fmt: skip


def test_the_interval_of_a_median_has_the_ranks_of_the_binomial() -> None:
    # Of 11 samples the 2nd and the 10th enclose it at 98.8 %, of 9 the 2nd and 8th at 96.1 %, of 6 the ends at 96.9 %.
    for count, rank in ((11, 1), (9, 1), (6, 0), (21, 5)):
        assert second_clock.interval(range(count)) == (rank, count - 1 - rank)


@pytest.mark.parametrize(
    ("low", "high", "told"),
    [(0.99, 1.01, "agree"), (1.03, 1.05, "differ"), (0.9, 0.95, "differ"), (0.97, 1.01, "undecided")],
)
def test_the_whole_interval_decides(low: float, high: float, told: str) -> None:
    assert second_clock.verdict(low, high, 0.02) == told


def test_turns_cancel_a_drift_that_both_have(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, 1.01) == 0
    record = json.loads((tmp_path / "out" / "clocks.json").read_text())
    assert record["together"]["ratio"] == pytest.approx(1.01)
    assert [(c["cell"], c["verdict"]) for c in record["cells"]] == [("a/cpu", "agree"), ("b/cpu", "agree")]
    assert record["cells"][0]["kselect_ns"][0] == 5000.0
    assert len(record["cells"][0]["gbench_ns"]) == 6
    assert record["config"] == {"name": "c"} and record["host"]["cpu"]
    assert "agree     1.0100" in capsys.readouterr().out


def test_a_slower_clock_differs_unless_the_band_allows_it(tmp_path: Path) -> None:
    assert run(tmp_path, 1.05) == second_clock.DIFFER
    assert run(tmp_path, 1.05, "--within", "0.1") == 0


def test_a_cell_that_one_program_lacks_is_named(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="only one of the programs timed b/cpu"):
        run(tmp_path, 1.0, cells=1)


def test_bad_calls_say_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run(tmp_path, 1.0, "--rounds", "3")
    assert "3 give no interval of 95 %; take 6 or more" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="nowhere: No such file"):
        run(tmp_path, 1.0, "--program", "nowhere")


@pytest.mark.slow
def test_both_real_programs_have_the_same_cells(tmp_path: Path) -> None:
    if not os.environ.get("KSELECT_GBENCH") or not os.environ.get("KSELECT_BINARY"):
        pytest.skip("kselect-gbench was not built (Google Benchmark is not installed)")
    config = {
        "schema": "kselect-config/1", "name": "small", "axes": {"n": [4096], "q": [64], "k": [8]},
        "algorithms": ["cpu/heap", "cpu/quickselect"], "executor": "cpu",
        "measure": {"warmup": 0, "rounds": 1, "min_samples": 2, "max_samples": 3, "max_seconds": 0.1},
    }  # fmt: skip
    (tmp_path / "small.json").write_text(json.dumps(config))
    code = second_clock.main([
        str(tmp_path / "small.json"), "--out", str(tmp_path / "out"), "--rounds", "6", "--seconds", "0.01",
        "--program", os.environ["KSELECT_BINARY"], "--gbench", os.environ["KSELECT_GBENCH"],
    ])  # fmt: skip
    record = json.loads((tmp_path / "out" / "clocks.json").read_text())
    assert code in (0, second_clock.DIFFER, second_clock.UNDECIDED)
    assert [cell["cell"].split("/cpu/")[0] for cell in record["cells"]] == ["cpu/heap", "cpu/quickselect"]
    # A busy machine decides little, but no clock is off by a unit.
    assert 0.2 < record["together"]["ratio"] < 5
