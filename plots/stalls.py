"""Tells what warps wait for: `python -m plots.stalls CONFIG --out DIR`, on a GPU with ncu.

Every cell of the config runs once under Nsight Compute and is proven; a wrong answer ends the
command. DIR/stalls.csv gets a row a cell: the kernel in which the call spends most time, its main
stall reasons, its warps, multiprocessors and memory traffic (docs/guide/figures-and-reports.md).
DIR/stalls.json says on which GPU, with which program and by which command.
"""

import argparse
import csv
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plots.errors import Failure, PlotError, exit_code
from plots.files import read_bytes, write_file
from plots.ncu import COLUMNS, METRICS, SECTION, Launch, launches, main_kernel, row_of
from plots.records import load_whole

ROOT = Path(__file__).resolve().parents[1]
CELL = ("algorithm", "n", "q", "k", "payload")
# Leaves the kernels alone that make rows and prove answers.
NOT_THE_HARNESS = r"regex:^(?!.*kselect::(harness|runtime)::)"

_LINE = re.compile(
    r"[0-9a-f]{16}  (?P<algorithm>\S+) +cuda +(?P<problem>\S+)(?:  \[(?P<reason>.*)\])?"
)
_PROBLEM = re.compile(r"\w+/\w+/Q=(?P<q>\d+)/n=(?P<n>\d+)/k=(?P<k>\d+)/(?P<payload>\w+).*")


@dataclass(frozen=True)
class Tools:
    """The programs, and how many launches of a cell are profiled."""

    kselect: str
    ncu: str
    launches: int


@dataclass(frozen=True)
class Cell:
    """A cell of the plan, as `kselect run --dry-run` prints it."""

    algorithm: str
    problem: str
    reason: str  # why it cannot run here; "" if it can

    def sizes(self) -> dict[str, str]:
        """Return the columns that name the cell."""
        found = _PROBLEM.fullmatch(self.problem)
        if not found:
            raise PlotError(Failure.INPUT, f"{self.problem}: is no problem that is known")
        return {"algorithm": self.algorithm} | found.groupdict()

    def pattern(self) -> str:
        """Return the regular expression for `--filter` that matches this cell alone."""
        text = f"{self.algorithm} {self.problem}"
        return "^" + re.sub(r"[][.^$*+?(){}|\\]", r"\\\g<0>", text) + "$"


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as e:
        message = f"{command[0]}: {e.strerror}; see --binary and --ncu"
        raise PlotError(Failure.INPUT, message) from None


def plan(config: Path, tools: Tools, wanted: str) -> list[Cell]:
    """Return the cells of a config whose `ALGORITHM PROBLEM` holds the pattern `wanted`."""
    done = _run([tools.kselect, "run", str(config), "--executor", "cuda", "--dry-run"])
    if done.returncode != 0:
        raise PlotError(Failure.INPUT, done.stderr.strip())
    cells = [
        Cell(found["algorithm"], found["problem"], found["reason"] or "")
        for line in done.stdout.splitlines()
        if (found := _LINE.fullmatch(line))
    ]
    return [c for c in cells if re.search(wanted, f"{c.algorithm} {c.problem}")]


def profile_command(cell: Cell, config: Path, folder: Path, tools: Tools, names: str) -> list[str]:
    """Return the command that profiles one cell into FOLDER/ncu.csv and FOLDER/run."""
    chosen = ["--kernel-name-base", "demangled", "--kernel-name", names] if names else []
    return [
        tools.ncu, "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none",
        "--section", SECTION, "--metrics", ",".join(METRICS.values()), *chosen,
        "--launch-count", str(tools.launches), "--log-file", str(folder / "ncu.csv"),
        tools.kselect, "run", str(config), "--executor", "cuda", "--in-process",
        "--filter", cell.pattern(), "--out", str(folder / "run"),
    ]  # fmt: skip


def profile(cell: Cell, config: Path, folder: Path, tools: Tools) -> list[Launch]:
    """Run a cell under ncu and return its launches; raises PlotError unless it was proven.

    An ncu that does not know the filter's syntax profiles nothing; then it profiles all kernels.
    """
    where = f"{cell.algorithm} {cell.problem}"
    for names in (NOT_THE_HARNESS, ""):
        here = folder / ("chosen" if names else "all")
        here.mkdir(parents=True)
        done = _run(profile_command(cell, config, here, tools, names))
        log = here / "ncu.csv"
        text = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
        if names and '"ID",' not in text and "ERR_NVGPUCTRPERM" not in text:
            continue
        said = " ".join((done.stderr or done.stdout).split())[-300:]
        found = launches(text or f"==ERROR== {said}", where)
        require_proof(here / "run", where)
        return found
    raise AssertionError("the second turn returns or raises")


def require_proof(run: Path, where: str) -> None:
    """Raise PlotError unless the run's only cell was proven."""
    cells = load_whole(run).cells
    if [c["status"] for c in cells] != ["ok"] or not cells[0]["verify"]["before"]:
        said = "; ".join(f"{c['status']}: {c['reason']}" for c in cells) or "no record"
        raise PlotError(Failure.INPUT, f"{where}: was not proven under ncu: {said}")


def circumstances(run: Path, config: Path, tools: Tools, command: Sequence[str]) -> dict[str, Any]:
    """Return what stalls.json says: the GPU, the programs and the command."""
    meta = load_whole(run).meta
    version = _run([tools.ncu, "--version"]).stdout.strip().splitlines()
    return {
        "schema": 1,
        "what": "stalls",
        "config": json.loads(read_bytes(config)),
        "git": meta["git"],
        "build": meta.get("build"),
        "gpu": meta["gpu"],
        "multiprocessors": meta.get("multiprocessors"),
        "ncu": version[-1] if version else "",
        "command": list(command),
        "started": meta.get("started"),
    }


def table(rows: Sequence[dict[str, str]]) -> bytes:
    """Return the rows as CSV."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [*CELL, *COLUMNS], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def measure(config: Path, out: Path, tools: Tools, wanted: str, command: Sequence[str]) -> None:
    """Profile all cells and write both files after each, so that an interruption keeps the rest."""
    cells = plan(config, tools, wanted)
    if not cells:
        raise PlotError(Failure.USAGE, f"{config}: no cell is left; see --filter")
    rows: list[dict[str, str]] = []
    with tempfile.TemporaryDirectory() as scratch:
        for number, cell in enumerate(cells):
            where = f"{cell.algorithm} {cell.problem}"
            if cell.reason:
                print(f"left out: {where}: {cell.reason}", flush=True)
                continue
            folder = Path(scratch) / str(number)
            main = main_kernel(profile(cell, config, folder, tools), where)
            rows.append(cell.sizes() | row_of(main))
            write_file(out / "stalls.csv", table(rows))
            if len(rows) == 1:
                run = next(folder.glob("*/run"))
                said = circumstances(run, config, tools, command)
                write_file(out / "stalls.json", (json.dumps(said, indent=2) + "\n").encode())
            last = rows[-1]
            print(f"{where}: {last['kernel']}, {last['duration_us']} us, {last['stall_1']}", flush=True)
    if not rows:
        raise PlotError(Failure.INPUT, f"{config}: no cell can run here: {cells[0].reason}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code (docs/reference/exit-codes.md)."""
    parser = argparse.ArgumentParser(
        prog="python -m plots.stalls", description="What the warps of each cell wait for, by ncu."
    )
    parser.add_argument("config", type=Path, help="with measure.rounds = 0: configs/causes_stalls.json")
    parser.add_argument("--out", type=Path, default=Path("out/stalls"), metavar="DIR")
    parser.add_argument(
        "--binary",
        default=os.environ.get("KSELECT_BINARY", str(ROOT / "build" / "release" / "kselect")),
        help="the program (KSELECT_BINARY, else build/release/kselect)",
    )
    parser.add_argument("--ncu", default="ncu", help="Nsight Compute's program (%(default)s)")
    parser.add_argument(
        "--launches", type=int, default=24, help="profiled at most in a cell (%(default)s)"
    )
    parser.add_argument(
        "--filter", default="", help="only cells whose `ALGORITHM PROBLEM` holds this regex"
    )
    options = parser.parse_args(arguments)
    tools = Tools(options.binary, options.ncu, options.launches)
    command = ["python", "-m", "plots.stalls", *(sys.argv[1:] if arguments is None else arguments)]

    def work() -> None:
        if json.loads(read_bytes(options.config)).get("measure", {}).get("rounds") != 0:
            message = f"{options.config}: /measure/rounds must be 0: ncu holds launches up"
            raise PlotError(Failure.USAGE, message)
        measure(options.config, options.out, tools, options.filter, command)

    return exit_code("plots", work)


if __name__ == "__main__":
    sys.exit(main())
