"""How many times as fast `auto` is as its rivals: `python -m plots.rivals_speed RUN [--out DIR]`.

RUN is a run of peers.rivals. Prints a Markdown table, a line for each rival and one for the fastest rival of each problem,
and draws for each type the same over Q, a panel for each n and k that has several Q. Below 1 a rival is faster.
"""

import argparse
import math
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from plots import line_panels
from plots.command import draw_command
from plots.figures import Drawing
from plots.line_panels import Point, Sheet
from plots.records import Record, load
from plots.rivals_figure import problem_of

OWN = "auto"
FASTEST = "the fastest of them"
_RIVALS = "library top-k"  # their family; a config also measures entries of this project beside `auto`


class Beside:
    """A timed cell of a rival and that of `auto` on the same problem."""

    def __init__(self, rival: Record, own: Record) -> None:
        """Keep both; they have times."""
        self.rival, self.own = rival, own

    @property
    def times(self) -> float:
        """The rival's median time over that of `auto`."""
        return self.rival.time.median / self.own.time.median  # type: ignore[union-attr]

    def point(self) -> Point:
        """Return it over Q, with the ratios of the ends of both intervals."""
        theirs, ours = self.rival.time, self.own.time
        assert theirs is not None and ours is not None
        return Point(self.own.q, self.times, theirs.low / ours.high, theirs.high / ours.low, (self.own, self.rival))


def read(folders: Iterable[Path]) -> list[Beside]:
    """Return the rivals' cells of the runs that have one of `auto` beside them."""
    found = []
    for folder in folders:
        records = [record for record in load(folder).records if record.time]
        own = {problem_of(record): record for record in records if record.algorithm == OWN}
        others = [record for record in records if record.family == _RIVALS]
        found += [Beside(record, own[problem_of(record)]) for record in others if problem_of(record) in own]
    return found


def _by_rival(found: Sequence[Beside]) -> dict[str, list[Beside]]:
    """Return the cells by rival, and the fastest of each problem under a name of its own."""
    by_name: dict[str, list[Beside]] = defaultdict(list)
    fastest: dict[Record, Beside] = {}
    for one in found:
        by_name[one.rival.algorithm].append(one)
        if one.own not in fastest or one.times < fastest[one.own].times:
            fastest[one.own] = one
    return {**dict(sorted(by_name.items())), FASTEST: list(fastest.values())}


def table(found: Sequence[Beside]) -> str:
    """Return the table."""
    lines = ["| beside | problems | times as fast (geometric mean) | least to most | where the rival is faster |",
             "|---|--:|--:|--:|--:|"]  # fmt: skip
    for name, cells in _by_rival(found).items():
        times = [one.times for one in cells]
        mean = math.exp(sum(map(math.log, times)) / len(times))
        slower = sum(ratio < 1 for ratio in times)
        lines.append(f"| {name} | {len(times)} | {mean:.2f} | {min(times):.2f} to {max(times):.2f} | {slower} |")
    return "\n".join(lines) + "\n"


def sheet(found: Sequence[Beside], dtype: str) -> Sheet:
    """Return what is drawn of one type."""
    panels: dict[str, dict[str, list[Point]]] = defaultdict(lambda: defaultdict(list))
    for one in sorted(found, key=lambda c: (c.own.n, c.own.k, c.own.q)):
        if one.own.dtype == dtype:
            panels[f"n = {one.own.n:,}, k = {one.own.k:,}"][one.rival.algorithm].append(one.point())
    several = {
        name: dict(lines) for name, lines in panels.items() if any(len(points) > 1 for points in lines.values())
    }
    first = next(one.own for one in found if one.own.dtype == dtype)
    answers = first.payload.replace("_", " ")
    return Sheet(
        f"How many times as fast {OWN} is as other libraries, in one run",
        f"{first.direction} of {dtype}, {answers}  |  {first.workload}  |  {first.run.gpu}",
        several, "Q, rows", "times as fast", y_scale="log", order=sorted({one.rival.algorithm for one in found}),
    )  # fmt: skip


def draw(found: Sequence[Beside]) -> list[Drawing]:
    """Draw a figure for each type that has panels."""
    drawings = []
    for dtype in sorted({one.own.dtype for one in found}):
        content = sheet(found, dtype)
        if content.panels:
            drawings.append(Drawing(f"times-as-fast-{dtype}", line_panels.draw(content), line_panels.rows(content)))
    return drawings


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code (docs/reference/exit-codes.md)."""
    parser = argparse.ArgumentParser(
        prog="python -m plots.rivals_speed", description="Say how many times as fast auto is as its rivals, and draw it."
    )
    return draw_command(parser, arguments, "runs.jsonl", read, draw, "no rival beside auto to draw", table)


if __name__ == "__main__":
    sys.exit(main())
