"""What a measure gets and returns, and what all measures use."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from plots.errors import Failure, PlotError
from plots.records import Record
from plots.reproduce.cells import At, Cells, Missing, Pair, along, pairs
from plots.reproduce.manifest import Claim, Table, size
from plots.reproduce.searches import Search
from plots.words import digits

RATIOS = (
    *("speed-up", "relative", "change", "flatness", "updates-ratio", "updates-growth"),
    "searches",
)
_SHARES = ("fastest", "outlasts", "updates-head", "variation", "search-value")


@dataclass(frozen=True)
class Measured:
    """The result of a measure: the numbers to compare with the expectation, and their cells."""

    values: tuple[float, ...]  # one, or least and most
    detail: str  # the problem, in a few words
    pairs: tuple[Pair, ...] = ()  # the deciding comparisons
    cells: tuple[Record, ...] = ()  # the deciding cells, if nothing is compared
    searches: tuple[Search, ...] = ()  # the deciding searches
    tied: str = ""  # why the numbers decide nothing, such as a tie or an end of the axis
    tied_with: tuple[float, ...] = ()  # unless these in their place give the same verdict


@dataclass(frozen=True)
class Asked:
    """A claim and its cells."""

    claim: Claim
    cells: Cells
    over: Cells
    context: str

    def names(self, key: str) -> Sequence[str]:
        """Return the algorithms listed under a key."""
        value = self.claim.ask.get(key)
        if not isinstance(value, list) or not value:
            raise PlotError(Failure.INPUT, f"{self.context}: needs a list of names as {key!r}")
        return value

    def axis(self) -> str:
        """Return the axis of `along`."""
        return along(self.claim.ask.get("along", "n"), self.context)

    def end(self, key: str) -> float:
        """Return `from` or `to` as a number."""
        return float(size(self.claim.ask.get(key), f"{self.context}: {key}"))

    def pairs(self, mine: str = "of", theirs: str = "over") -> list[Pair]:
        """Return the comparisons of `of` with `over` that have a ratio; raises Missing."""
        of, by = self.names(mine), self.names(theirs)
        for names, cells in ((of, self.cells), (by, self.over)):
            if not cells.problems(names):
                raise Missing(f"the record has no cell of {' or '.join(names)} here")
        found = [p for p in pairs(self.cells, self.over, of, by) if p.ratio]
        if not found:
            raise Missing(f"no problem has a time of both {' or '.join(of)} and {' or '.join(by)}")
        return found


def place(at: At) -> str:
    """Return a problem in words."""
    return f"n = {power(at[0])}, Q = {power(at[1])}, k = {at[2]}"


def power(value: float) -> str:
    """Return a place on an axis, a large power of two as "2^15"."""
    if value != int(value):
        return f"{value:g}"
    whole = int(value)
    if whole >= 1024 and whole & (whole - 1) == 0:
        return f"2^{whole.bit_length() - 1}"
    return str(whole)


def ratio(pair: Pair) -> float:
    """Return the ratio of a pair that has one."""
    assert pair.ratio is not None
    return pair.ratio


def median(record: Record) -> float:
    """Return the median time of a record that has one, in ns."""
    assert record.time is not None
    return record.time.median


def rest(at: At, axis: str) -> tuple[float, ...]:
    """Return the coordinates that are constant along an axis: for log2(n/Q) the product."""
    n, q, k = at
    return {"n": (q, k), "q": (n, k), "k": (n, q), "log2(n/Q)": (n * q, k)}[axis]


def mean(values: Sequence[float]) -> float:
    """Return the geometric mean."""
    return math.exp(math.fsum(math.log(v) for v in values) / len(values))


def in_words_of(where: Table) -> str:
    """Return the values that cells have, for a message."""
    return ", ".join(f"{name} = {value}" for name, value in where.items())


def number(claim: Claim, found: Measured) -> str:
    """Return the measured numbers with their unit."""
    if claim.ask.get("unit") == "%" or claim.measure in _SHARES:
        return " to ".join(f"{100 * value:.3g} %" for value in found.values)
    times = "×" if claim.measure in RATIOS else ""
    return " to ".join(f"{digits(value, 4)}{times}" for value in found.values)
