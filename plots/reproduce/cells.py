"""Indexes cells by problem, chooses those of an experiment, and compares two of them.

If several records have one problem and one algorithm (two layouts, two runs), the fastest counts:
each algorithm may use its preferred layout.
"""

import fnmatch
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from plots.errors import Failure, PlotError
from plots.records import Record
from plots.reproduce.manifest import check_keys, size

At = tuple[int, int, int]  # n, Q, k

_NUMBERS = {
    "n": lambda r: r.n,
    "q": lambda r: r.q,
    "k": lambda r: r.k,
    "nq": lambda r: r.n * r.q,
    "log2(n/Q)": lambda r: math.log2(r.n / r.q) if r.n and r.q else math.nan,
}
_WORDS = {
    "payload": lambda r: r.payload,
    "dtype": lambda r: r.dtype,
    "direction": lambda r: r.direction,
    "executor": lambda r: r.executor,
    "workload": lambda r: r.workload,
    "distribution": lambda r: r.distribution,
}
AXES = {"n": "n", "q": "q", "Q": "q", "k": "k", "log2(n/Q)": "log2(n/Q)"}


class Missing(Exception):  # noqa: N818 - not an error: the record is of something else
    """The record lacks cells that a figure or a claim needs; the message names them."""


def choose(records: Iterable[Record], where: Mapping[str, Any], context: str) -> list[Record]:
    """Return the records that match every value of `where`; a list matches any of its values."""
    check_keys(where, (*_NUMBERS, *_WORDS), context)
    wanted = {}
    for key, value in where.items():
        values = value if isinstance(value, list) else [value]
        wanted[key] = [size(v, f"{context}: {key}") if key in _NUMBERS else v for v in values]
    return [
        r
        for r in records
        if all((_NUMBERS | _WORDS)[key](r) in values for key, values in wanted.items())
    ]


def coordinate(at: At, axis: str) -> float:
    """Return a problem's coordinate along an axis of `AXES`."""
    n, q, k = at
    return {"n": n, "q": q, "k": k, "log2(n/Q)": math.log2(n / q)}[AXES[axis]]


def along(axis: str, context: str) -> str:
    """Check the name of an axis."""
    if axis not in AXES:
        message = f"{context}: no axis is called {axis!r}; there are {', '.join(AXES)}"
        raise PlotError(Failure.INPUT, message)
    return AXES[axis]


def best_of_family(records: Iterable[Record], families: Sequence[str]) -> list[Record]:
    """Keep the fastest of each family (NAME and its variants NAME+...) on each problem.

    If records have several members of a family, the kept ones are renamed "NAME (best)".
    """
    kept: list[Record] = []
    best: dict[tuple[object, ...], Record] = {}
    members: dict[str, set[str]] = {}
    for record in records:
        family = next((f for f in families if f"{record.algorithm}+".startswith(f"{f}+")), None)
        if family is None:
            kept.append(record)
            continue
        members.setdefault(family, set()).add(record.algorithm)
        problem = (family, record.n, record.q, record.k, record.dtype, record.payload)
        more = (record.direction, record.index, record.workload, record.executor, record.seed)
        best[problem + more] = min(best.get(problem + more, record), record, key=_rank)
    for (family, *_), record in best.items():
        several = len(members[str(family)]) > 1
        kept.append(replace(record, algorithm=f"{family} (best)") if several else record)
    return kept


class Cells:
    """Records by algorithm and problem."""

    def __init__(self, records: Iterable[Record]) -> None:
        """Index the records; of several records of one cell the fastest counts."""
        self._cells: dict[tuple[str, At], Record] = {}
        for record in records:
            key = (record.algorithm, (record.n, record.q, record.k))
            other = self._cells.get(key)
            if other is None or _rank(record) < _rank(other):
                self._cells[key] = record

    def problems(self, algorithms: Sequence[str]) -> list[At]:
        """Return the problems that one of the algorithms (names or globs) was tried on."""
        return sorted({at for name, at in self._cells if _matches(name, algorithms)})

    def names(self, algorithms: Sequence[str]) -> list[str]:
        """Return the algorithms that match the names or globs."""
        return sorted({name for name, _ in self._cells if _matches(name, algorithms)})

    def best(self, algorithms: Sequence[str], at: At) -> Record | None:
        """Return the fastest of the algorithms on a problem; one without time if none has any."""
        tried = [
            r for (name, on), r in self._cells.items() if on == at and _matches(name, algorithms)
        ]
        return min(tried, key=_rank, default=None)


@dataclass(frozen=True)
class Pair:
    """Two cells of one problem, each the fastest of its group of algorithms."""

    at: At
    cell: Record
    over: Record

    @property
    def ratio(self) -> float | None:
        """The time of `over` over the time of `cell`; None if one has no time."""
        if self.cell.time is None or self.over.time is None:
            return None
        return self.over.time.median / self.cell.time.median

    @property
    def interval(self) -> tuple[float, float]:
        """The ratio's bounds, from the intervals of both times; (0, 0) without a ratio."""
        if self.cell.time is None or self.over.time is None:
            return 0.0, 0.0
        return (
            self.over.time.low / self.cell.time.high,
            self.over.time.high / self.cell.time.low,
        )


def pairs(cells: Cells, over: Cells, of: Sequence[str], by: Sequence[str]) -> list[Pair]:
    """Return the pairs of all problems that algorithms of both groups were tried on."""
    found = []
    for at in cells.problems(of):
        cell, other = cells.best(of, at), over.best(by, at)
        if cell and other:
            found.append(Pair(at, cell, other))
    return found


def _rank(record: Record) -> tuple[bool, float, int, str]:
    time = record.time.median if record.time else 0.0
    return (record.time is None, time, record.run.number, record.key)


def _matches(name: str, patterns: Sequence[str]) -> bool:
    # Brackets have no special meaning, as in configs.
    return any(fnmatch.fnmatchcase(name, p.replace("[", "[[]")) for p in patterns)
