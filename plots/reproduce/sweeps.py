"""Runs the sweeps that have no records; prints the expected time of each before it starts."""

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from plots.errors import PlotError
from plots.records import load
from plots.reproduce.manifest import Experiment


@dataclass(frozen=True)
class Sweep:
    """One config to run, and its expected cells and time."""

    experiment: Experiment
    cells: int
    impossible: str  # why no cell can run here; "" if some can
    seconds: float
    measured: bool  # `seconds` is from a record; otherwise it is an upper bound


def plan(experiments: Sequence[Experiment], program: Path, results: Path) -> list[Sweep]:
    """Ask the program for the cells of each experiment with a config."""
    by_config = {e.config: e for e in reversed(experiments) if e.config}
    return [_plan(e, program, results) for e in experiments if by_config.get(e.config) is e]


def run(sweeps: Sequence[Sweep], program: Path, machine: Path) -> list[str]:
    """Run the sweeps into folders of `machine`, also after failures; returns the failures."""
    failures = []
    for sweep in sweeps:
        config = sweep.experiment.config
        if sweep.impossible:
            continue
        command = [str(program), "run", f"configs/{config}.json", "--resume"]
        code = subprocess.run([*command, "--out", str(machine / config)], check=False).returncode
        if code == 130:
            raise KeyboardInterrupt
        if code not in (0, 1):  # 1: some cells have no time; their records say why
            failures.append(f"{sweep.experiment.id}: {' '.join(command)} ended with {code}")
    return failures


def describe(sweep: Sweep) -> str:
    """Return the line that announces a sweep."""
    name = f"{sweep.experiment.id:<16} configs/{sweep.experiment.config}.json"
    if sweep.impossible:
        return f"{name}: nothing of it can run here: {sweep.impossible}"
    how = "as last time" if sweep.measured else "at most"
    return f"{name}: {sweep.cells} cells, {how} about {duration(sweep.seconds)}"


def duration(seconds: float) -> str:
    """Return a time of a sweep in words."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def machine_name() -> str:
    """Return the folder of this machine's records: its GPU's name, else its processor's."""
    try:
        done = subprocess.run(
            ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            check=True,
        )
        name = done.stdout.splitlines()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        name = "cpu"
        with Path("/proc/cpuinfo").open() as file:
            models = [line.split(":")[1] for line in file if line.startswith("model name")]
        if models:
            name = f"cpu {models[0]} {len(models)}core"
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _plan(experiment: Experiment, program: Path, results: Path) -> Sweep:
    config = Path("configs") / f"{experiment.config}.json"
    done = subprocess.run(
        [str(program), "run", str(config), "--dry-run"], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        why = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        return Sweep(experiment, 0, why[0], 0.0, measured=False)
    cells = [line for line in done.stdout.splitlines() if re.match(r"[0-9a-f]{16} ", line)]
    reasons = [re.search(r"\[unsupported: (.*)\]$", line) for line in cells]
    possible = sum(reason is None for reason in reasons)
    first = next((reason[1] for reason in reasons if reason), "it has no cells")
    impossible = "" if possible else first
    for folder in sorted(results.glob(f"*/{experiment.config}")):
        try:
            records = load(folder).records
        except PlotError as e:
            print(f"plots.reproduce: {e}", file=sys.stderr)
            continue
        elapsed = sum(r.elapsed_s for r in records)
        if elapsed:
            return Sweep(experiment, len(cells), impossible, elapsed, measured=True)
    limit = json.loads(config.read_text()).get("measure", {}).get("max_seconds", 2.0)
    # `limit` bounds the sampling time of a cell; inputs and proofs take about as long again.
    return Sweep(experiment, len(cells), impossible, 2 * limit * possible, measured=False)
