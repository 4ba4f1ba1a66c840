"""Share of the read ceiling against n: how near each algorithm comes to the memory bandwidth.

The bytes that must move are the input, read once, and the answer. The ceiling is the rate of a
plain reduction on the same machine in the same run: on a GPU over a block larger than its caches,
on a host over each cell's own rows, with as many threads as its algorithm may use. There is one
panel for each k and one figure for each slice. y begins at 0, so the distance to the top shows the
possible gain.
"""

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence

from plots import line_panels, slices
from plots.figures import Drawing, Options
from plots.line_panels import Point, Sheet
from plots.records import Record

NAME = "ceiling"
DESCRIPTION = "share of the measured read ceiling against n, a panel for each k (three or more n)"


def suits(record: Record) -> bool:
    """Tell whether a record has a share of a ceiling."""
    return record.floor is not None


def draw(records: Sequence[Record], options: Options) -> list[Drawing]:
    """Draw each slice in which at least three n have a share; two points make no curve."""
    del options
    cut = {
        part: members
        for part, members in slices.cut(records).items()
        if len({r.n for r in members if r.floor}) > 2
    }
    names = slices.names(NAME, cut)
    drawings = []
    for part, members in cut.items():
        sheet = Sheet(
            "Share of the read ceiling",
            part.title(),
            _panels(slices.series(members)),
            "n, elements of a row",
            "least bytes / (time × ceiling)",
            y_scale="share",
            notes=_ceilings(members),
        )
        drawings.append(Drawing(names[part], line_panels.draw(sheet), line_panels.rows(sheet)))
    return drawings


def _panels(series: Mapping[str, Sequence[Record]]) -> dict[str, dict[str, list[Point]]]:
    panels: dict[str, dict[str, list[Point]]] = defaultdict(lambda: defaultdict(list))
    for k in sorted({r.k for members in series.values() for r in members}):
        for label, members in series.items():
            for record in members:
                if record.k == k and (record.floor or record.time is None):
                    panels[f"k = {k}"][label].append(_point(record))
    return panels


def _point(record: Record) -> Point:
    if record.time is None or record.floor is None:
        return Point(record.n, None, 0, 0, (record,))
    scaled = record.floor.share * record.time.median
    return Point(
        record.n,
        record.floor.share,
        scaled / record.time.high,
        scaled / record.time.low,
        (record,),
    )


def _ceilings(records: Sequence[Record]) -> list[str]:
    """Return the ceiling of each kind in GB/s, computed from the shares."""
    rates: dict[str, list[float]] = defaultdict(list)
    for r in records:
        if r.floor and r.time:
            rates[r.floor.ceiling].append(r.floor.bytes / r.time.median / r.floor.share)
    return [
        f"Ceiling: {kind.replace('_', ' ')}, {_span(found)} GB/s."
        for kind, found in sorted(rates.items())
    ]


def _span(rates: Sequence[float]) -> str:
    least, most = min(rates), max(rates)
    if most < 1.02 * least:
        return f"{statistics.median(rates):.4g}"
    return f"{least:.3g} to {most:.3g}"
