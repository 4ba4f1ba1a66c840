"""Runs the sweeps of the published experiments, and says before how long they will take.

This part needs the standard library alone, so that it runs where nothing can be drawn:

    python3 -m plots.reproduce.sweeps --program build/release/kselect --into results/MACHINE

A sweep that causes of claims want on fewer multiprocessors is run a second time, as NAME_16mp, with
`--multiprocessors`. Each sweep resumes where it was interrupted.
"""

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from plots.errors import Failure, PlotError, exit_code
from plots.files import RUNS, holds, packed, read_bytes, write_file
from plots.names import known
from plots.records import Record, load
from plots.reproduce import several
from plots.reproduce.manifest import Experiment, load as load_experiments
from plots.words import amount_of


@dataclass(frozen=True)
class Wanted:
    """A config to run, whole or confined to some multiprocessors."""

    config: str
    multiprocessors: int = 0  # 0: all

    @property
    def name(self) -> str:
        """The name of its run."""
        return f"{self.config}_{self.multiprocessors}mp" if self.multiprocessors else self.config


@dataclass(frozen=True)
class Sweep:
    """One run, and its expected cells and time."""

    wanted: Wanted
    cells: int
    impossible: str  # why no cell can run here; "" if some can
    seconds: float
    measured: bool  # `seconds` is from a record; otherwise it is an upper bound


def wanted(experiments: Iterable[Experiment]) -> list[Wanted]:
    """Return the runs of the experiments, then those that only causes of their claims name."""
    experiments = list(experiments)
    found = [Wanted(name) for e in experiments if e.config for name in (e.config, *e.searches_of)]
    for experiment in experiments:
        for cause in (cause for claim in experiment.claims for cause in claim.causes):
            if "record" in cause and cause["kind"] != "stalls":
                found.append(Wanted(str(cause["record"]), int(cause.get("multiprocessors", 0))))
                found.append(Wanted(str(cause["record"])))
    causes_last = dict.fromkeys(found)
    return sorted(causes_last, key=lambda w: (w.config.startswith("causes_"), w.multiprocessors))


def plan(runs: Sequence[Wanted], program: Path, results: Path) -> list[Sweep]:
    """Ask the program for the cells of each run."""
    return [_plan(one, program, results) for one in runs]


def run(sweeps: Sequence[Sweep], program: Path, machine: Path, gpus: int = 1) -> list[str]:
    """Run the sweeps into folders of `machine`, also after failures; returns the failures."""
    possible = [sweep for sweep in sweeps if not sweep.impossible]
    for sweep in possible:
        _unpack(machine / sweep.wanted.name)
    jobs = [_job(sweep, program, machine) for sweep in possible]
    codes = several.run(jobs, several.shares(gpus)) if gpus > 1 else _in_turn(possible, jobs)
    # 1: some cells have no time; their records say why
    failed = [job for job in jobs if codes[job.name] not in (0, 1)]
    return [f"{j.name}: {' '.join(j.command)} ended with {codes[j.name]}" for j in failed]


def _unpack(folder: Path) -> None:
    """Decompress an interrupted run, which the program then goes on with."""
    compressed = packed(folder / RUNS)
    if compressed.is_file() and not (folder / RUNS).exists():
        write_file(folder / RUNS, read_bytes(compressed))
        compressed.unlink()


def _job(sweep: Sweep, program: Path, machine: Path) -> several.Job:
    one = sweep.wanted
    command = [*_command(one, program), "--resume", "--out", str(machine / one.name)]
    return several.Job(one.name, command, sweep.seconds)


def _in_turn(sweeps: Sequence[Sweep], jobs: Sequence[several.Job]) -> dict[str, int]:
    codes = {}
    for number, (sweep, job) in enumerate(zip(sweeps, jobs, strict=True), 1):
        print(f"[{number} of {len(sweeps)}] {describe(sweep)}", flush=True)
        codes[job.name] = subprocess.run(job.command, check=False).returncode
        if codes[job.name] == 130:
            raise KeyboardInterrupt
    return codes


def _command(one: Wanted, program: Path) -> list[str]:
    command = [str(program.absolute()), "run", f"configs/{one.config}.json"]
    if one.multiprocessors:
        command += ["--multiprocessors", str(one.multiprocessors)]
    return command


def describe(sweep: Sweep) -> str:
    """Return the line that announces a sweep."""
    name = f"configs/{sweep.wanted.config}.json"
    if sweep.wanted.multiprocessors:
        name += f" on {sweep.wanted.multiprocessors} multiprocessors"
    if sweep.impossible:
        return f"{name}: nothing of it can run here: {sweep.impossible}"
    how = "as last time" if sweep.measured else "at most"
    return f"{name}: {amount_of(sweep.cells, 'cell')}, {how} about {duration(sweep.seconds)}"


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


def _plan(one: Wanted, program: Path, results: Path) -> Sweep:
    done = subprocess.run(
        [*_command(one, program), "--dry-run"], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        why = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        return Sweep(one, 0, why[0], 0.0, measured=False)
    cells = [line for line in done.stdout.splitlines() if re.match(r"[0-9a-f]{16} ", line)]
    reasons = [re.search(r"\[unsupported: (.*)\]$", line) for line in cells]
    possible = sum(reason is None for reason in reasons)
    first = next((reason[1] for reason in reasons if reason), "it has no cells")
    impossible = "" if possible else first
    if elapsed := _elapsed(one, results, possible):
        return Sweep(one, len(cells), impossible, elapsed, measured=True)
    measure = json.loads(Path(f"configs/{one.config}.json").read_text()).get("measure", {})
    # The limit bounds the sampling time of a cell; inputs and proofs take about as long again.
    limit = 2 * measure.get("max_seconds", 2.0) * possible
    return Sweep(one, len(cells), impossible, limit, measured=False)


def _elapsed(one: Wanted, results: Path, cells: int) -> float:
    """Return the time of the newest record of a run, for so many cells; 0 without one."""
    newest: tuple[str, Sequence[Record]] = ("", ())
    for folder in sorted(results.glob(f"*/{one.name}")):
        try:
            loaded = load(folder)
        except PlotError as e:
            print(f"plots.reproduce: {e}", file=sys.stderr)
            continue
        newest = max(newest, (loaded.run.started or "0", loaded.records), key=lambda f: f[0])
    took = [r.elapsed_s for r in newest[1] if r.elapsed_s]
    return sum(took) / len(took) * cells if took else 0.0


def announce(
    experiments: Sequence[Experiment], program: Path, machine: Path, results: Path, gpus: int = 1
) -> list[Sweep]:
    """Print what would run into `machine` and how long it takes; returns it."""
    if gpus != 1:
        several.shares(gpus)  # refuses what is not there
    if not program.exists():
        raise PlotError(Failure.INPUT, f"{program}: no such program; build kselect first")
    missing = [one for one in wanted(experiments) if not complete(machine / one.name)]
    planned = plan(missing, program, results)
    for sweep in planned:
        print(describe(sweep))
    others = [e for e in experiments if e.command and not _recorded(e, machine)]
    for command in dict.fromkeys(e.command for e in others):
        print(f"not run by this: {command.replace('MACHINE', machine.name)}")
    seconds = (sweep.seconds for sweep in planned if not sweep.impossible)
    total = several.time_of(seconds, gpus)
    where = f" on {gpus} GPUs" if gpus > 1 else ""
    print(f"in all about {duration(total)}{where}, into {machine}", flush=True)
    return planned


def complete(folder: Path) -> bool:
    """Tell whether a folder has a run that was not interrupted."""
    if not holds(folder, RUNS):
        return False
    try:
        return load(folder).run.state == "complete"
    except PlotError:
        return True  # a damaged record is not run over; drawing it says what is wrong


def _recorded(experiment: Experiment, machine: Path) -> bool:
    names = (*experiment.stages_of, *experiment.searches_of)
    return any((machine / name).is_dir() for name in names)


def named(experiments: list[Experiment], ids: Sequence[str]) -> list[Experiment]:
    """Return the experiments with these IDs, or all if there is none; raises PlotError(USAGE)."""
    by_id = {e.id: e for e in experiments}
    for name in ids:
        known(name, by_id, "experiment")
    return [by_id[name] for name in dict.fromkeys(ids)] or experiments


def of_papers(experiments: Iterable[Experiment], papers: str) -> list[Experiment]:
    """Return the experiments of the papers with these keys, such as "K,T"."""
    keys = [key.strip() for key in papers.split(",")]
    known = {e.paper.key for e in experiments}
    if unknown := sorted(set(keys) - known):
        message = f"no paper is called {unknown[0]!r}; there are {', '.join(sorted(known))}"
        raise PlotError(Failure.USAGE, message)
    return [e for e in experiments if e.paper.key in keys]


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns the exit code (docs/reference/exit-codes.md)."""
    parser = argparse.ArgumentParser(prog="python3 -m plots.reproduce.sweeps")
    add = parser.add_argument
    add("ids", nargs="*", metavar="ID", help="only these experiments (default: all of the papers)")
    add("--paper", default="K,T,B", metavar="KEYS", help="of these papers (default: K,T,B)")
    add("--program", type=Path, default=Path("build/release/kselect"), help="the program to run")
    add("--into", type=Path, default=None, metavar="DIR", help="records (default: results/MACHINE)")
    add("--gpus", type=int, default=1, metavar="G", help="run G sweeps at a time, each on its GPU")
    add("--plan", action="store_true", help="only say what would run and how long")
    options = parser.parse_args(arguments)

    def work() -> int:
        chosen = named(of_papers(load_experiments(), options.paper), options.ids)
        machine = options.into or Path("results") / machine_name()
        planned = announce(chosen, options.program, machine, Path("results"), options.gpus)
        failures = [] if options.plan else run(planned, options.program, machine, options.gpus)
        for failure in failures:
            print(f"sweeps: {failure}", file=sys.stderr)
        return int(Failure.INPUT) if failures else 0

    return exit_code("sweeps", work, "what is recorded is complete")


if __name__ == "__main__":
    sys.exit(main())
