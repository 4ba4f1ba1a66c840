"""Which measurement a cell's speed-up compares with.

The baseline may have run elsewhere than the cell (a processor against a GPU) and on another layout,
but it solved the same problem: equal workload, types, direction, payload, n, Q and k.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence

from plots.records import Record

Problem = tuple[str | int, ...]


class Baseline:
    """The timed records of one algorithm, looked up by problem."""

    def __init__(self, name: str, records: Iterable[Record]) -> None:
        """Keep what `records` say of the algorithm `name`."""
        self.name = name
        self._timed: dict[Problem, list[Record]] = defaultdict(list)
        for record in records:
            if record.algorithm == name and record.time:
                self._timed[problem_of(record)].append(record)

    def of(self, record: Record) -> Record | None:
        """Return what to compare a record with, None where the baseline has no time.

        Of several the nearest: same machine, then same run, seed, layout.
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
    """Return the baseline for a slice's `members`, where the user names none.

    The first by name of the family nth_element that solved one of the slice's problems: the serial
    form, to whose name the others append. Without one, of the slice's algorithms with the most
    times the slowest in the geometric mean.
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
    """Return what a cell solved, wherever and from whatever layout it did."""
    index = record.index if record.payload == "values_and_indices" else ""
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
