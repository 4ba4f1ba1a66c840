"""`python -m plots.answer RUN_DIR` prints in a dozen lines which algorithm won, and by how much."""

import argparse
import math
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from plots.baseline import Baseline, default_name, problem_of
from plots.errors import Failure, PlotError, exit_code
from plots.records import Record, load
from plots.words import amount_of

MOST_LINES = 12

Key = Callable[[Record], tuple[int, ...]]

# The axes by which problems may be grouped into lines, the finest first.
AXES: tuple[tuple[tuple[str, ...], Key], ...] = (
    (("n", "Q", "k"), lambda r: (r.n, r.q, r.k)),
    (("n", "Q"), lambda r: (r.n, r.q)),
    (("n",), lambda r: (r.n,)),
    ((), lambda _: ()),
)


@dataclass(frozen=True)
class Contest:
    """One problem: the fastest algorithm, and those whose intervals overlap with its interval."""

    best: Record
    winners: frozenset[str]
    factor: float | None  # the baseline's time over the best time; None if the baseline has no time


@dataclass(frozen=True)
class Line:
    """A group of problems, and the algorithm that is among the fastest in most of them."""

    at: tuple[int, ...]
    winner: str
    wins: int
    problems: int
    times: tuple[float, float]  # least and largest of the fastest times, ns
    factors: tuple[float, float, float] | None  # geometric mean, least and largest factor


def contests(records: Iterable[Record], baseline: Baseline) -> list[Contest]:
    """Return one contest for each problem that has a time."""
    by_problem = defaultdict(list)
    for record in records:
        if record.time:
            by_problem[problem_of(record)].append(record)
    found = []
    for members in by_problem.values():
        best = min(members, key=lambda r: r.time.median)
        level = {r.algorithm for r in members if r.time.low <= best.time.high}
        other = baseline.of(best)
        factor = other.time.median / best.time.median if other else None
        found.append(Contest(best, frozenset(level | {best.algorithm}), factor))
    return found


def _line(at: tuple[int, ...], members: Sequence[Contest]) -> Line:
    wins = Counter(name for contest in members for name in contest.winners)
    fastest = Counter(contest.best.algorithm for contest in members)
    winner = max(sorted(wins), key=lambda name: (wins[name], fastest[name]))
    times = [contest.best.time.median for contest in members]
    factors = [contest.factor for contest in members if contest.factor is not None]
    spread = None
    if factors:
        mean = math.exp(math.fsum(map(math.log, factors)) / len(factors))
        spread = (mean, min(factors), max(factors))
    return Line(at, winner, wins[winner], len(members), (min(times), max(times)), spread)


def lines(found: Sequence[Contest]) -> tuple[tuple[str, ...], list[Line]]:
    """Return the finest axes that need at most a dozen lines, and the lines."""
    for names, key in AXES:
        groups = defaultdict(list)
        for contest in found:
            groups[key(contest.best)].append(contest)
        if len(groups) <= MOST_LINES:
            break
    return names, [_line(at, groups[at]) for at in sorted(groups)]


def _time(ns: float) -> str:
    for unit, size in (("ns", 1e3), ("us", 1e6), ("ms", 1e9)):
        if ns < size:
            return f"{ns / size * 1e3:.3g} {unit}"
    return f"{ns / 1e9:.3g} s"


def _range(least: str, largest: str) -> str:
    return least if least == largest else f"{least} to {largest}"


def _factor(line: Line) -> str:
    if line.factors is None:
        return "-"
    mean, least, largest = line.factors
    if line.problems == 1:
        return f"{mean:.2f}"
    return f"{mean:.2f} ({_range(f'{least:.2f}', f'{largest:.2f}')})"


def table(records: Sequence[Record], baseline_name: str | None) -> str:
    """Return the whole answer as text; raises PlotError(INPUT) if no record has a time."""
    timed = [record for record in records if record.time]
    if not timed:
        raise PlotError(Failure.INPUT, "no cell has a time; see the statuses that `run` printed")
    name = baseline_name or default_name(timed, timed)
    found = contests(timed, Baseline(name, timed))
    axes, rows = lines(found)
    cells = [(*axes, "fastest", "in", "time", f"times as fast as {name}")]
    for row in rows:
        share = f"{row.wins} of {row.problems}"
        cells.append((*(f"{x:,}" for x in row.at), row.winner, share,
                      _range(*map(_time, row.times)), _factor(row)))
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    text = []
    for row in cells:
        numbers = [cell.rjust(width) for cell, width in zip(row[: len(axes)], widths, strict=False)]
        words = [cell.ljust(width) for cell, width in zip(row[len(axes) :], widths[len(axes) :], strict=True)]
        text.append("  ".join(numbers + words).rstrip())
    return "\n".join([*text, "", _sentence(_line((), found), name)])


def _sentence(line: Line, baseline: str) -> str:
    """Return the answer in one sentence."""
    begin = f"{line.winner} is the fastest, or level with it, in {line.wins} of {amount_of(line.problems, 'problem')}"
    if line.factors is None:
        return f"{begin}."
    mean, least, largest = line.factors
    return (f"{begin}. The fastest is {mean:.2f} times as fast as {baseline} in geometric mean "
            f"({least:.2f} to {largest:.2f}).")


@dataclass(frozen=True)
class Headline:
    """The answer in two sentences, and the algorithm that factors compare with."""

    title: str
    detail: str
    baseline: str  # "" if no cell has a time


def headline(records: Sequence[Record], baseline_name: str | None) -> Headline:
    """Return the answer of a run; also of one in which no cell has a time."""
    timed = [record for record in records if record.time]
    if not timed:
        counted = sum(bool(record.queue_updates or record.counters) for record in records)
        what = f"counted work in {counted} of {amount_of(len(records), 'cell')}" if counted else "see the statuses"
        return Headline("No cell has a time", f"{what[0].upper()}{what[1:]}.", "")
    name = baseline_name or default_name(timed, timed)
    line = _line((), contests(timed, Baseline(name, timed)))
    title = f"{line.winner} wins {line.wins} of {amount_of(line.problems, 'problem')}"
    level = "An algorithm wins where its 95 % interval overlaps with that of the fastest."
    if line.factors is None or line.factors[2] == 1.0:
        return Headline(title, level, name)
    mean, least, largest = line.factors
    times = _range(f"{least:.3g}", f"{largest:.3g}")
    return Headline(
        f"{title}; the fastest is {times} times as fast as {name}",
        f"{mean:.3g} times in geometric mean. {level}",
        name,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code (docs/reference/exit-codes.md)."""
    parser = argparse.ArgumentParser(
        prog="python -m plots.answer",
        description="Say which algorithm won where in recorded runs, and by how much.",
    )
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN_DIR")
    parser.add_argument("--baseline", metavar="ALGORITHM", help="what factors compare with (as plots)")
    options = parser.parse_args(arguments)

    def work() -> None:
        loaded = [load(path, number) for number, path in enumerate(options.runs, start=1)]
        print(table([record for run in loaded for record in run.records], options.baseline))

    return exit_code("plots", work)


if __name__ == "__main__":
    sys.exit(main())
