"""Chooses the records that count now, and makes the leaderboards.

All records of one device, type, answer and direction meet in an arena. Of several records of an algorithm
on one problem, the newest run's counts, because kernels change. A problem is n, Q, k and the input;
layouts, seeds and index types are the algorithm's or the run's, as in the figures.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from plots.board.gather import Gathered, device_of
from plots.board.score import Score, Shares, scores
from plots.records import Record

GROUPS = ("uniform", "orders", "vectors")  # see group_of and leaderboards


@dataclass(frozen=True, order=True)
class Arena:
    """What must agree for two records to be compared, besides the problem."""

    device: str
    dtype: str
    payload: str
    direction: str


@dataclass(frozen=True, order=True)
class Problem:
    """A problem of an arena."""

    n: int
    q: int
    k: int
    input: str  # a distribution, or vectors or a data set with their metric


@dataclass(frozen=True)
class Placed:
    """A record, where it belongs, and where its run's file has it."""

    record: Record
    run: int  # its place among the gathered runs
    index: int  # its place among the run's cells
    arena: Arena
    problem: Problem
    share: float | None = None  # of the ceiling


@dataclass(frozen=True)
class Leaderboard:
    """The scores of one grid."""

    arena: Arena
    run: int | None  # the run whose problems are the grid; None: all problems on record
    group: str  # of GROUPS
    alone: bool  # of the run's own records alone; else of the counting records of all runs
    scores: list[Score]


def place(gathered: Gathered) -> list[Placed]:
    """Return all records that ran on a device, with their shares; the oldest run first."""
    found = []
    for number, run in enumerate(gathered.runs):
        for index, record in enumerate(run.records):
            # Fibers prove and count; they have no times. A cell that was only counted has none either.
            if record.executor == "fiber" or (record.status == "ok" and record.time is None):
                continue
            device = device_of(record, run.meta)
            arena = Arena(device, record.dtype, record.payload, record.direction)
            problem = Problem(record.n, record.q, record.k, record.workload)
            found.append(Placed(record, number, index, arena, problem))
    at = {id(p.record): (p.arena, p.problem) for p in found}
    shares = Shares((p.record for p in found), lambda r: at[id(r)])
    return [
        Placed(p.record, p.run, p.index, p.arena, p.problem, shares.of(p.record)) for p in found
    ]


def current(placed: Iterable[Placed]) -> list[Placed]:
    """Return one record for each algorithm and problem: the newest run's, of several the fastest."""
    chosen: dict[tuple[Arena, Problem, str], Placed] = {}
    for p in placed:
        key = p.arena, p.problem, p.record.algorithm
        known = chosen.get(key)
        if known is None or _counts_instead(p, known):
            chosen[key] = p
    return list(chosen.values())


def _counts_instead(new: Placed, known: Placed) -> bool:
    if new.record.time is None:
        # A failure of a newer run counts; one beside a time in the same run is another layout's.
        return known.record.time is None or new.run > known.run
    if known.record.time is None or new.run > known.run:
        return True
    return new.run == known.run and new.record.time.median < known.record.time.median


def group_of(placed: Placed) -> str:
    """Return "uniform", "orders" for other distributions, or "vectors" for distances and data sets."""
    if placed.problem.input == "uniform":
        return "uniform"
    is_distribution = placed.problem.input == placed.record.distribution
    return "orders" if is_distribution else "vectors"


def leaderboards(placed: list[Placed], now: list[Placed]) -> list[Leaderboard]:
    """Score the grid of each run, and of all problems on record, in each arena.

    On the grid of a run, algorithms are scored twice: by that run's records, and by those that count now.

    The grid "uniform" has uniform rows alone; "orders" has uniform rows and, on top, rows with order and
    ties; "vectors" has distances of vectors and data sets.
    """
    found = []
    for run, alone, records in _record_sets(placed, now):
        grids: dict[tuple[Arena, str], dict[Problem, list[Placed]]] = {}
        for p in records:
            group = group_of(p)
            for member in ("uniform", "orders") if group == "uniform" else (group,):
                grids.setdefault((p.arena, member), defaultdict(list))[p.problem].append(p)
        for (arena, group), grid in sorted(grids.items()):
            alike = grids.get((arena, "uniform"))
            if group == "orders" and alike is not None and len(alike) == len(grid):
                continue  # nothing but uniform rows
            shares = {id(p.record): p.share for own in grid.values() for p in own}
            rows = scores(
                {problem: [p.record for p in own] for problem, own in grid.items()},
                lambda record, of=shares: of[id(record)],
            )
            found.append(Leaderboard(arena, run, group, alone, rows))
    return found


def _record_sets(
    placed: Iterable[Placed], now: list[Placed]
) -> Iterator[tuple[int | None, bool, list[Placed]]]:
    """Yield run, whether the run's records count alone, and the records of each set of grids."""
    yield None, False, now
    places: dict[tuple[Arena, Problem], list[int]] = defaultdict(list)
    for place_, p in enumerate(now):
        places[p.arena, p.problem].append(place_)
    for run, own in _by_run(placed).items():
        yield run, True, own
        grid = {(p.arena, p.problem) for p in own}
        yield run, False, [now[i] for i in sorted(i for at in grid for i in places.get(at, ()))]


def _by_run(placed: Iterable[Placed]) -> dict[int | None, list[Placed]]:
    by_run: dict[int | None, list[Placed]] = defaultdict(list)
    for p in placed:
        by_run[p.run].append(p)
    return dict(sorted(by_run.items(), reverse=True))
