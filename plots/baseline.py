"""Finds the measurement that a cell's speed-up is relative to.

The baseline may have run on another machine (a CPU instead of a GPU) and on another layout, but it
solved the same problem: equal workload, types, direction, payload, n, Q and k.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence

from plots.records import Record

Problem = tuple[str | int, ...]


class Baseline:
    """The timed records of one algorithm, looked up by problem."""

    def __init__(self, name: str, records: Iterable[Record]) -> None:
        """Keep the timed records of the algorithm `name`."""
        self.name = name
        self._timed: dict[Problem, list[Record]] = defaultdict(list)
        for record in records:
            if record.algorithm == name and record.time:
                self._timed[problem_of(record)].append(record)

    def of(self, record: Record) -> Record | None:
        """Return the record to compare with; None if the baseline has no time.

        Of several records the most similar counts: same machine, then same run, seed, layout.
        """
        return min(
            self._timed.get(problem_of(record), ()),
            key=lambda other: (
                other.machine != record.machine,
                other.run != record.run,
                other.seed != record.seed,
                other.layout != record.layout,
                other.run.number,
                other.key,
            ),
            default=None,
        )


def default_name(members: Sequence[Record], records: Sequence[Record]) -> str:
    """Return the default baseline for a slice's `members`.

    It is the first by name of the family nth_element that solved one of the slice's problems; the
    serial form sorts first, because the other names append to its name. Without one, it is the
    algorithm of the slice with the most times, of several the slowest in the geometric mean.
    """
    problems = {problem_of(record) for record in members}
    family = [
        r.algorithm
        for r in records
        if r.family == "nth_element" and r.time and problem_of(r) in problems
    ]
    if family:
        return min(family)
    logarithms: dict[str, list[float]] = defaultdict(list)
    for record in members:
        if record.time:
            logarithms[record.algorithm].append(math.log(record.time.median))
    return max(
        sorted(logarithms),
        key=lambda name: (len(logarithms[name]), math.fsum(logarithms[name])),
    )


def problem_of(record: Record) -> Problem:
    """Return the problem of a cell, without its machine and layout."""
    index = record.index if "indices" in record.payload else ""
    return (
        record.workload,
        record.dtype,
        index,
        record.direction,
        record.payload,
        record.n,
        record.q,
        record.k,
    )
