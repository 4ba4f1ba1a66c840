"""Finds the runs below folders, and names the devices that they ran on."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from plots.errors import Failure, PlotError
from plots.files import RUNS, holds
from plots.records import Record, Whole, load_whole
from plots.report.kinds import other_kind
from plots.words import amount_of

# Runs lie in a folder, or in a folder a machine, as under results/. Deeper ones are parts of an experiment:
# the turns of `kselect ab`, or trials of a program that is made slower on purpose.
_PLACES = ("meta.json", "*/meta.json", "*/*/meta.json")


@dataclass
class Gathered:
    """The runs of sweeps in order of their start, and what could not be read."""

    runs: list[Whole] = field(default_factory=list)
    names: list[str] = field(default_factory=list)  # of each run: its path below the folder given
    warnings: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)  # a message for each run that is damaged


def gather(roots: Sequence[Path]) -> Gathered:
    """Read the runs at most two folders below `roots`. A damaged run costs only itself.

    Raises PlotError(INPUT) if a folder does not exist or no run can be read.
    """
    found: list[tuple[str, Whole]] = []
    result = Gathered()
    for root in roots:
        if not root.is_dir():
            raise PlotError(Failure.INPUT, f"{root}: no such folder of runs")
        for folder in _folders(root):
            try:
                run = load_whole(folder)
            except PlotError as e:
                result.failures.append(str(e))
                continue
            if has_rivals_in_searches(run):
                continue
            result.warnings += run.warnings
            found.append((_name(folder, root), run))
    if not found:
        where = ", ".join(map(str, roots))
        why = f"; {result.failures[0]}" if result.failures else ""
        raise PlotError(Failure.INPUT, f"{where}: no run of a sweep (meta.json and {RUNS}){why}")
    found.sort(key=lambda pair: (pair[1].run.started, pair[0]))
    result.names = _distinct([name for name, _ in found])
    result.runs = [run for _, run in found]
    return result


def has_rivals_in_searches(run: Whole) -> bool:
    """Tell whether a run is of k-NN searches by other libraries, which the k-NN page alone shows.

    Most of their answers are not proven: the leaderboards are of those that are.
    """
    return "rivals" in run.meta and "knn" in {cell.get("task") for cell in run.cells}


def _folders(root: Path) -> list[Path]:
    folders = {meta.parent for place in _PLACES for meta in root.glob(place) if meta.is_file()}
    return sorted(f for f in folders if holds(f, RUNS) and not other_kind(f))


def _name(folder: Path, root: Path) -> str:
    below = folder.relative_to(root)
    return below.as_posix() if below.parts else folder.resolve().name


def _distinct(names: Sequence[str]) -> list[str]:
    seen: dict[str, int] = {}
    result = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        result.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return result


def device_of(record: Record, meta: dict[str, Any]) -> str:
    """Return the device that a cell ran on: a GPU's name, or a processor's and its threads.

    Processors of one model name differ in their threads, because virtual machines have parts of them.
    """
    if record.executor == "cuda" and record.run.gpu:
        return record.run.gpu
    host = meta.get("host") or {}
    threads = host.get("threads_online") or host.get("threads")
    model = re.sub(r"\((R|TM|r|tm)\)", "", record.run.cpu)
    model = re.sub(r"\s+(Processor|CPU)\b", "", model).strip()
    return f"{model}, {amount_of(threads, 'thread')}" if threads else model
