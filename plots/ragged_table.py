"""Ragged rows beside equal ones: `python -m plots.ragged_table RUN`.

Prints a Markdown table of a run of configs/ragged.json: each cell whose rows have lengths of their own beside the cell
of as many equal rows, otherwise of the same problem and algorithm, that moves most nearly as many bytes. What ragged
rows cost is the time a byte of the one divided by that of the other.
"""

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from plots.cell_record import Record
from plots.errors import Failure, PlotError, exit_code
from plots.records import load
from plots.words import amount_of

MOST_APART = 0.02  # bytes of the two, relative
GOAL = 1.25


@dataclass(frozen=True)
class Pair:
    """Ragged rows, and as many equal rows of as many bytes."""

    ragged: Record
    equal: Record

    @property
    def cost(self) -> float:
        """The time a byte of ragged rows, relative to that of equal rows."""
        return _time_of_a_byte(self.ragged) / _time_of_a_byte(self.equal)


def _nanoseconds(record: Record) -> float:
    return record.time.median if record.time else math.nan


def _bytes(record: Record) -> int:
    return record.floor.bytes if record.floor else 0


def _time_of_a_byte(record: Record) -> float:
    return _nanoseconds(record) / _bytes(record)


def _kind(record: Record) -> tuple[object, ...]:
    """Return what a cell and its counterpart share."""
    return (record.algorithm, record.executor, record.q, record.k, record.dtype, record.index, record.direction,
            record.payload, record.distribution, record.mask, record.threads)  # fmt: skip


def pairs_of(records: Sequence[Record]) -> list[Pair]:
    """Return the ragged cells that have a counterpart, in the order of the run."""
    timed = [record for record in records if record.time and record.floor]
    pairs = []
    for one in timed:
        others = [other for other in timed if one.lengths and not other.lengths and _kind(other) == _kind(one)]
        if not others:
            continue
        apart, nearest = min(((abs(_bytes(other) - _bytes(one)), other) for other in others), key=lambda pair: pair[0])
        if apart <= MOST_APART * _bytes(one):
            pairs.append(Pair(one, nearest))
    return pairs


def table(pairs: Sequence[Pair]) -> str:
    """Return the table, and a sentence on the geometric mean and the worst pair."""
    lines = ["| n at most | lengths | Q | k | type | entry | MB | µs | µs of equal rows | times the time a byte |",
             "|--:|---|--:|--:|---|---|--:|--:|--:|--:|"]  # fmt: skip
    for pair in pairs:
        r, e = pair.ragged, pair.equal
        cells = (f"{r.n:,}", r.lengths, f"{r.q:,}", f"{r.k:,}", r.dtype, r.algorithm, f"{_bytes(r) / 1e6:.1f}",
                 f"{_nanoseconds(r) / 1e3:.1f}", f"{_nanoseconds(e) / 1e3:.1f}", f"{pair.cost:.2f}")  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    mean = math.exp(sum(math.log(pair.cost) for pair in pairs) / len(pairs))
    worst = max(pair.cost for pair in pairs)
    kept = sum(pair.cost <= GOAL for pair in pairs)
    head = f"{amount_of(len(pairs), 'problem')} on {pairs[0].ragged.machine}"
    lines.append(f"\n{head}: {mean:.2f} times the time a byte of equal rows in geometric mean, {worst:.2f} at worst; "
                 f"{kept} of {len(pairs)} within {GOAL}.")  # fmt: skip
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table of a run; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m plots.ragged_table", description=__doc__.split("\n")[0])
    parser.add_argument("run", type=Path, metavar="RUN", help="a directory with runs.jsonl")
    options = parser.parse_args(arguments)

    def work() -> None:
        pairs = pairs_of(load(options.run).records)
        if not pairs:
            message = "has no timed cell of ragged rows beside equal rows of as many bytes; run configs/ragged.json"
            raise PlotError(Failure.INPUT, f"{options.run}: {message}")
        print(table(pairs))

    return exit_code("plots.ragged_table", work)


if __name__ == "__main__":
    sys.exit(main())
