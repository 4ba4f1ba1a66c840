"""Holds kselect's times against Google Benchmark's: two clocks, two programs, in turns on one machine.

    python -m peers.second_clock configs/clocks_cpu.json --out results/MACHINE/clocks

In a round each program times all cells of a config once: `kselect run`, and `kselect-gbench`, whose iterations, means and
minimum times are Google Benchmark's own. The order changes from round to round. A cell's ratio is gbench's time over
kselect's, paired within rounds; its interval is that of the median over the rounds. Names of cells are those of
`kselect export --format gbench`.

The clocks agree on a cell if the whole interval lies within the band (--within), differ if it lies wholly outside, and
are undecided otherwise: more rounds or an idler machine decide. Exit code 1: they differ on all cells together. 3: that
is undecided.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from peers.machine import processor, sources
from plots.words import amount_of

DIFFER, UNDECIDED = 1, 3  # exit codes, as `kselect compare` has them
LEAST_ROUNDS = 6  # below which no two samples enclose a median at 95 %
FILE = "clocks.json"
_UNITS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the narrowest symmetric pair of samples that encloses the median at 95 % or more."""
    ordered, n = sorted(values), len(values)
    outside, rank = 0.0, 0
    while rank < n // 2 and outside + 2 * math.comb(n, rank) / 2**n <= 0.05:
        outside += 2 * math.comb(n, rank) / 2**n
        rank += 1
    rank = max(rank - 1, 0)
    return ordered[rank], ordered[n - 1 - rank]


def verdict(low: float, high: float, within: float) -> str:
    """Say whether a ratio whose interval is given agrees with 1."""
    least, most = 1 / (1 + within), 1 + within
    if least <= low and high <= most:
        return "agree"
    return "differ" if high < least or most < low else "undecided"


def judged(ratios: Sequence[float], within: float) -> dict[str, Any]:
    """Return median, interval and verdict of the rounds' ratios."""
    low, high = interval(ratios)
    return {
        "ratio": statistics.median(ratios),
        "ci95": [low, high],
        "verdict": verdict(low, high, within),
    }


def compared(
    own: Mapping[str, Sequence[float]], other: Mapping[str, Sequence[float]], within: float
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Compare the samples in ns of each cell, one a round; return the cells, and all of them together."""
    cells, logs = [], []
    for name in own:
        ratios = [b / a for a, b in zip(own[name], other[name], strict=True)]
        logs.append([math.log(ratio) for ratio in ratios])
        samples = {"kselect_ns": list(own[name]), "gbench_ns": list(other[name])}
        cells.append({"cell": name, **judged(ratios, within), **samples})
    together = [math.exp(statistics.fmean(of)) for of in zip(*logs, strict=True)]
    return cells, judged(together, within)


def call(*command: object) -> None:
    """Run a program; end with its message if it fails."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError as e:
        sys.exit(f"peers.second_clock: {words[0]}: {e.strerror}")
    if done.returncode != 0:
        told = done.stderr.strip().splitlines()
        sys.exit(f"peers.second_clock: {words[0]} fails: {told[-1] if told else done.returncode}")


def times(path: Path) -> dict[str, float]:
    """Return the times in ns of a file in Google Benchmark's form: of several repetitions the median."""
    rows = json.loads(path.read_text())["benchmarks"]
    samples: dict[str, list[float]] = {}
    for row in rows:
        if row.get("error_occurred"):
            sys.exit(f"peers.second_clock: {row['name']}: {row.get('error_message', 'failed')}")
        if row.get("run_type", "iteration") == "iteration":
            name = row.get("run_name", row["name"]).removesuffix("/manual_time")
            samples.setdefault(name, []).append(row["real_time"] * _UNITS[row["time_unit"]])
    return {name: statistics.median(own) for name, own in samples.items()}


def kselect_turn(config: Path, program: Path, folder: Path) -> tuple[dict[str, float], dict[str, Any]]:
    """Time the cells by `kselect run`; return their times and the run's meta.json."""
    run = folder / "run"
    call(program, "run", config, "--out", run)
    call(program, "export", run, "--format", "gbench", "--output", folder / "own.json")
    return times(folder / "own.json"), json.loads((run / "meta.json").read_text())


def gbench_turn(config: Path, program: Path, folder: Path, seconds: float) -> dict[str, float]:
    """Time the cells by kselect-gbench."""
    out = folder / "gbench.json"
    call(
        program, config, f"--benchmark_min_time={seconds:g}", f"--benchmark_out={out}",
        "--benchmark_out_format=json",
    )  # fmt: skip
    return times(out)


def measure(options: argparse.Namespace) -> tuple[dict[str, list[float]], dict[str, list[float]], Any]:
    """Take the rounds; return the samples of both programs by cell, and meta.json."""
    own: dict[str, list[float]] = {}
    other: dict[str, list[float]] = {}
    meta: dict[str, Any] = {}
    for number in range(options.rounds):
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            if number % 2:
                second = gbench_turn(options.config, options.gbench, folder, options.seconds)
                first, meta = kselect_turn(options.config, options.program, folder)
            else:
                first, meta = kselect_turn(options.config, options.program, folder)
                second = gbench_turn(options.config, options.gbench, folder, options.seconds)
        for name in sorted(first.keys() ^ second.keys()):
            sys.exit(f"peers.second_clock: only one of the programs timed {name}")
        for name in first:
            own.setdefault(name, []).append(first[name])
            other.setdefault(name, []).append(second[name])
        print(f"round {number + 1} of {options.rounds}: {amount_of(len(first), 'cell')}", file=sys.stderr)
    if not own:
        sys.exit(f"peers.second_clock: {options.config}: no cell has a time here")
    return own, other, meta


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and write the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add = parser.add_argument
    add("config", type=Path)
    add("--out", type=Path, required=True, help=f"folder of the record, {FILE}")
    add("--program", type=Path, default=Path("build/release/kselect"), help="(%(default)s)")
    add("--gbench", type=Path, default=Path("build/release/bench/kselect-gbench"), help="(%(default)s)")
    add("--rounds", type=int, default=11, help=f"{LEAST_ROUNDS} or more (%(default)s)")
    add("--seconds", type=float, default=0.2, help="Google Benchmark's least time a cell (%(default)s)")
    add("--within", type=float, default=0.02, help="band about 1 that counts as equal (%(default)s)")
    options = parser.parse_args(arguments)
    if options.rounds < LEAST_ROUNDS:
        parser.error(f"--rounds: {options.rounds} give no interval of 95 %; take {LEAST_ROUNDS} or more")
    started, load = datetime.now(UTC), list(os.getloadavg())
    own, other, meta = measure(options)
    cells, together = compared(own, other, options.within)
    record = {
        "what": "two_clocks",
        "started": f"{started:%Y-%m-%dT%H:%M:%SZ}",
        "git": sources(),
        "host": {"cpu": processor(), "threads": len(os.sched_getaffinity(0))},
        "gpu": meta.get("gpu"),
        "config": meta.get("config"),
        "load_before": load,
        "load_after": list(os.getloadavg()),
        "rounds": options.rounds,
        "within": options.within,
        "together": together,
        "cells": cells,
    }
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / FILE).write_text(json.dumps(record, indent=1) + "\n")
    for row in [*cells, {"cell": "all cells together", **together}]:
        low, high = row["ci95"]
        print(f"{row['verdict']:<9} {row['ratio']:.4f} [{low:.4f}, {high:.4f}]  {row['cell']}")
    return {"agree": 0, "differ": DIFFER}.get(together["verdict"], UNDECIDED)


if __name__ == "__main__":
    sys.exit(main())
