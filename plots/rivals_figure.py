"""README's figure: the share of the read ceiling over n, of `auto` and of its rivals in one run (peers.rivals).

A rival's record has no ceiling of its own, so its share is lent from kselect's record of the same problem.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from plots import line_panels, style
from plots.board.score import Shares
from plots.figures import Drawing
from plots.line_panels import Point, Sheet
from plots.records import Record, load

ELEMENTS = 1 << 27  # n * Q of the problems that are drawn
_PANELS = (32, 256, 1024)  # k


def problem_of(record: Record) -> tuple[object, ...]:
    """Return what two records of one problem agree on, whatever type their indices have."""
    r = record
    return (r.n, r.q, r.k, r.dtype, r.direction, r.payload, r.layout, r.pitch, r.workload, r.seed)


def sheet(records: Sequence[Record], titles: Mapping[str, str]) -> Sheet:
    """Return what is drawn: a panel for each k, a line for each algorithm of `titles` that has a share."""
    shares = Shares(records, problem_of)
    panels: dict[str, dict[str, list[Point]]] = {f"k = {k}": defaultdict(list) for k in _PANELS}
    for record in sorted(records, key=lambda r: r.n):
        share = shares.of(record)
        if share is None or record.time is None or record.n * record.q != ELEMENTS or record.k not in _PANELS:
            continue
        if record.algorithm in titles:
            scaled = share * record.time.median
            point = Point(record.n, share, scaled / record.time.high, scaled / record.time.low, (record,))
            panels[f"k = {record.k}"][titles[record.algorithm]].append(point)
    drawn = {name: dict(lines) for name, lines in panels.items() if lines}
    if not drawn:
        return Sheet("", "", {}, "", "")
    run = records[0].run
    return Sheet(
        "Share of the read ceiling, in one run",
        f"{records[0].direction} of float32, values and indices  |  uniform  |  n·Q = 2^{int(math.log2(ELEMENTS))}"
        f"  |  {run.gpu}",
        drawn, "n, elements of a row", "least bytes / (time × ceiling)", y_scale="share",
        order=[title for title in titles.values() if any(title in lines for lines in drawn.values())],
    )  # fmt: skip


def drawing(folder: Path, titles: Mapping[str, str]) -> Drawing | None:
    """Draw a run of peers.rivals; None if nothing of it is in the figure."""
    found = sheet(load(folder).records, titles)
    if not found.panels:
        return None
    style.apply()
    name = f"rivals-{folder.parent.name}"
    return Drawing(name, line_panels.draw(found), line_panels.rows(found), f"results/{folder.parent.name}/{folder.name}")
