"""Series over runs: the logarithm of a time against the run, one a cell and one an algorithm.

Runs need not have the same cells. The logarithm of a time is the sum of its cell's level and its run's
effect; both are fitted by medians (Tukey's median polish), which single bad times do not move. An
algorithm's series are its runs' effects. What moves all algorithms alike moved the machine: the runs'
effects on algorithms whose sources did not change (controls) are taken off all others.
"""

import math
import statistics
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from plots.records import Record, Run

Cell = Hashable

LEAST_CONTROLS = 5  # cells of unchanged algorithms, below which the machine's own changes are not known
ALL_UNCHANGED = "every algorithm with unchanged sources"  # the machine, its driver, or a compiler's flag
_SWEEPS = 30
_SETTLED = 1e-9


@dataclass(frozen=True)
class Series:
    """Effects of runs, as logarithms of time, in the order of the runs."""

    name: str
    runs: tuple[int, ...]  # numbers of the runs that have a value, ascending
    logs: tuple[float, ...]
    cells: int = 1


@dataclass
class Past:
    """All series of one device."""

    device: str
    runs: list[Run]
    algorithms: list[Series] = field(default_factory=list)
    cells: list[Series] = field(default_factory=list)
    machine: Series | None = None  # None without enough controls
    controls: tuple[str, ...] = ()


def cell_of(record: Record) -> Cell:
    """Return what two records of one measurement agree on over commits."""
    r = record
    return (
        *(r.algorithm, r.executor, r.workload, r.dtype, r.index, r.direction, r.payload),
        *(r.layout, r.pitch, r.seed, r.n, r.q, r.k),
    )


def name_of(record: Record) -> str:
    """Return a cell's name for messages."""
    r = record
    return f"{r.algorithm} n={r.n} Q={r.q} k={r.k} {r.dtype} {r.workload}"


def past(
    device: str, runs: Sequence[Run], records: Sequence[Sequence[Record]], *, raw: bool = False
) -> Past:
    """Make the series of a device; `records` are those of each run, in order of the runs' start.

    If `raw`, what the machine did stays in the series, which then have all runs.
    """
    times: dict[Cell, dict[int, float]] = defaultdict(dict)
    sources: dict[str, set[str]] = defaultdict(set)
    named: dict[Cell, Record] = {}
    for number, own in enumerate(records):
        for record in own:
            if record.time:
                cell = cell_of(record)
                times[cell][number] = math.log(record.time.median)
                sources[record.algorithm].add(record.source_hash)
                named[cell] = record
    repeated = {cell: at for cell, at in times.items() if len(at) > 1}
    result = Past(device, list(runs))
    unchanged = {name for name, hashes in sources.items() if len(hashes) == 1}
    controls = {} if raw else {c: t for c, t in repeated.items() if named[c].algorithm in unchanged}
    effects = _machine(result, controls)
    result.controls = tuple(sorted({named[c].algorithm for c in repeated} & unchanged))
    by_algorithm: dict[str, dict[Cell, dict[int, float]]] = defaultdict(dict)
    for cell, at in repeated.items():
        # Without the machine's effect on it, a run cannot be compared with others.
        free = {r: log - effects.get(r, 0.0) for r, log in at.items() if not effects or r in effects}
        if len(free) < 2:
            continue
        by_algorithm[named[cell].algorithm][cell] = free
        result.cells.append(_series(name_of(named[cell]), free))
    for name, own in sorted(by_algorithm.items()):
        result.algorithms.append(_series(name, polish(own), len(own)))
    return result


def _machine(result: Past, controls: Mapping[Cell, Mapping[int, float]]) -> dict[int, float]:
    """Fit the machine's own effects if there are controls enough, and keep them as a series."""
    if len(controls) < LEAST_CONTROLS:
        return {}
    effects = polish(controls)
    result.machine = _series(ALL_UNCHANGED, effects, len(controls))
    return effects


def _series(name: str, at: Mapping[int, float], cells: int = 1) -> Series:
    runs = tuple(sorted(at))
    return Series(name, runs, tuple(at[run] for run in runs), cells)


def polish(cells: Mapping[Cell, Mapping[int, float]]) -> dict[int, float]:
    """Return the runs' effects, relative to the last run; of runs that share cells with it alone."""
    level = {cell: statistics.median(at.values()) for cell, at in cells.items()}
    by_run: dict[int, list[tuple[Cell, float]]] = defaultdict(list)
    for cell, at in cells.items():
        for run, log in at.items():
            by_run[run].append((cell, log))
    connected = _connected(cells, max(by_run, default=0))
    effect = dict.fromkeys(by_run, 0.0)
    for _ in range(_SWEEPS):
        moved = 0.0
        for run, own in by_run.items():
            found = statistics.median(log - level[cell] for cell, log in own)
            moved = max(moved, abs(found - effect[run]))
            effect[run] = found
        for cell, at in cells.items():
            level[cell] = statistics.median(log - effect[run] for run, log in at.items())
        if moved < _SETTLED:
            break
    last = effect[max(connected)] if connected else 0.0
    return {run: effect[run] - last for run in connected}


def _connected(cells: Mapping[Cell, Iterable[int]], run: int) -> set[int]:
    """Return the runs that a chain of shared cells connects with a run."""
    reached: set[int] = set()
    coming = {run}
    while coming:
        reached |= coming
        coming = {
            other for at in cells.values() if not reached.isdisjoint(at) for other in at
        } - reached
    return reached if any(run in at for at in cells.values()) else set()
