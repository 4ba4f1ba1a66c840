"""Scores an algorithm against the ceiling, over a grid of problems on one device.

The share of a cell is the time to read its rows and write its answer once, at the rate that memory was
measured to have, divided by its time. The score is the geometric mean of the shares. A failure counts as
a share of zero, so one failure makes the score zero. A problem that the algorithm's contract excludes, or
that was not tried, is missing: it lowers the coverage, not the score.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from plots.records import Record

# Outcomes that are the algorithm's own. `unsupported` is its contract; `throttled` is the machine's.
FAILURES = frozenset(("wrong", "error", "timeout", "out_of_memory", "implausible"))

# Old records of hosts compare with a small block in the caches, which is no ceiling of the cell's rows.
_NO_CEILING = frozenset(("cached_read",))

Problem = Hashable


@dataclass(frozen=True)
class Score:
    """An algorithm on a grid of problems."""

    algorithm: str
    grid: int  # problems of the grid
    solved: int  # of these, problems with a time
    failed: int  # problems with a failure
    shares: int  # problems with a share of a ceiling
    solved_mean: float | None  # geometric mean of the shares; None without any
    least: float | None  # the least share; None without any
    worst: Problem | None  # the problem of the least share
    wins: int  # problems on which no other algorithm's interval is clearly lower
    beside: float | None  # geometric mean of the fastest time over its own time

    @property
    def coverage(self) -> float:
        """The part of the grid that it solved."""
        return self.solved / self.grid if self.grid else 0.0

    @property
    def mean(self) -> float | None:
        """The score: the geometric mean of the shares, zero after a failure."""
        return 0.0 if self.failed else self.solved_mean

    @property
    def worst_share(self) -> float | None:
        """The least share, zero after a failure."""
        return 0.0 if self.failed else self.least


class Shares:
    """The shares of records, where needed lent from a record of the same problem.

    A peer's record has no ceiling of its own. The bytes that must move and the ceiling are those of the
    problem and the device, so another algorithm's share times its time, over the peer's time, is the
    peer's share. On a host the ceiling depends on the threads, which must agree.
    """

    def __init__(self, records: Iterable[Record], problem_of: Callable[[Record], Problem]) -> None:
        """Remember who can lend; of several the newest run."""
        self._problem_of = problem_of
        self._lenders: dict[Hashable, Record] = {}
        for record in sorted(records, key=lambda r: r.run.started):
            if record.time and own_share(record) is not None:
                self._lenders[self._at(record)] = record

    def of(self, record: Record) -> float | None:
        """Return the share of a record; None if it has no time, or nobody can lend."""
        if record.time is None:
            return None
        own = own_share(record)
        if own is not None:
            return own
        lender = self._lenders.get(self._at(record))
        if lender is None or lender.time is None:
            return None
        return (own_share(lender) or 0.0) * lender.time.median / record.time.median

    def _at(self, record: Record) -> Hashable:
        threads = record.threads if record.executor == "cpu" else 0
        return self._problem_of(record), threads


def own_share(record: Record) -> float | None:
    """Return the share that a record states; None if it states none of a ceiling that counts."""
    if record.floor is None or record.floor.ceiling in _NO_CEILING:
        return None
    return record.floor.share


def scores(
    grid: Mapping[Problem, Sequence[Record]], share_of: Callable[[Record], float | None]
) -> list[Score]:
    """Score every algorithm of a grid, which has the records of each problem.

    The best score comes first; those that cover less than half of the grid come last.
    """
    by_algorithm: dict[str, dict[Problem, Record]] = defaultdict(dict)
    fastest: dict[Problem, Record] = {}
    for problem, records in grid.items():
        for record in records:
            known = by_algorithm[record.algorithm].get(problem)
            if known is None or _better(record, known):
                by_algorithm[record.algorithm][problem] = record
        timed = [r for r in records if r.time]
        if timed:
            fastest[problem] = min(timed, key=lambda r: r.time.median if r.time else math.inf)
    found = [_score(name, own, len(grid), fastest, share_of) for name, own in by_algorithm.items()]
    return sorted(found, key=_rank)


def _score(
    name: str,
    own: Mapping[Problem, Record],
    grid: int,
    fastest: Mapping[Problem, Record],
    share_of: Callable[[Record], float | None],
) -> Score:
    timed = {problem: r for problem, r in own.items() if r.time}
    shares = {p: s for p, r in timed.items() if (s := share_of(r)) is not None and s > 0}
    failed = [p for p, r in own.items() if r.status in FAILURES]
    worst = failed[0] if failed else min(shares, key=lambda p: shares[p], default=None)
    return Score(
        algorithm=name,
        grid=grid,
        solved=len(timed),
        failed=len(failed),
        shares=len(shares),
        solved_mean=_geometric(list(shares.values())),
        least=min(shares.values(), default=None),
        worst=worst,
        wins=sum(_wins(r, fastest[p]) for p, r in timed.items()),
        beside=_geometric([_ratio(fastest[p], r) for p, r in timed.items()]),
    )


def _better(record: Record, known: Record) -> bool:
    """Tell whether a second record of one algorithm and problem counts instead: the faster one."""
    if record.time is None or known.time is None:
        return known.time is None and record.time is not None
    return record.time.median < known.time.median


def _wins(record: Record, fastest: Record) -> bool:
    """Tell whether a record is the fastest, or its interval overlaps with the fastest's (plots.answer)."""
    if record.time is None or fastest.time is None:
        return False
    return record is fastest or record.time.low <= fastest.time.high


def _ratio(fastest: Record, record: Record) -> float:
    assert fastest.time is not None
    assert record.time is not None
    return fastest.time.median / record.time.median


def _geometric(values: Sequence[float]) -> float | None:
    return math.exp(math.fsum(map(math.log, values)) / len(values)) if values else None


def _rank(score: Score) -> tuple[bool, float, float, str]:
    mean = -1.0 if score.mean is None else score.mean
    return score.coverage < 0.5, -mean, -score.coverage, score.algorithm
