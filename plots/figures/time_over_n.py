"""Time against n: one line for each algorithm, one panel for each k, one figure for each slice.

Both axes are logarithmic and all panels have the same y axis, so that slopes and panels can be
compared. A cell without a time is a cross under the panel at its n, with the number of a note; the
line is broken there.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from plots import slices, style
from plots.figures import Drawing, Options
from plots.page import KEY_LINE, Box, Grid, Notes, Page, footer, key_columns
from plots.records import Record

NAME = "time"
DESCRIPTION = "time against n, a line for each algorithm, a panel for each k (three or more n)"

Series = Mapping[str, Sequence[Record]]
Looks = Mapping[str, style.Look]

_STRIP_ROW = 0.105  # inches: height of one series' crosses under a panel
_LEFT, _ABOVE, _BELOW, _FOOT, _GAP = 0.56, 0.24, 0.22, 0.17, 0.16


def draw(records: Sequence[Record], options: Options) -> list[Drawing]:
    """Draw each slice in which at least three n have a time; two points make no curve."""
    del options
    cut = {
        part: slices.series(members)
        for part, members in slices.cut(records).items()
        if len({r.n for r in members if r.time}) > 2
    }
    names = slices.names(NAME, cut)
    looks = style.looks(label for series in cut.values() for label in series)
    return [
        Drawing(names[part], _figure(part, series, looks).figure, _rows(series))
        for part, series in cut.items()
    ]


def _figure(part: slices.Slice, series: Series, looks: Looks) -> Page:
    records = [record for members in series.values() for record in members]
    panels = sorted({r.k for r in records})
    notes = Notes(series)
    strip = _STRIP_ROW * max(len(_failing(series, k)) for k in panels)
    grid = _grid(len(panels), strip)
    page = _page(part, series, looks, grid)

    times = [r.time for r in records if r.time]
    unit, length = style.time_unit(t.median for t in times)
    low, high = min(t.low for t in times) / length, max(t.high for t in times) / length
    for i, k in enumerate(panels):
        box = page.panels[i]
        axes = page.axes(box._replace(height=box.height - strip))
        style.power_of_two_ticks(axes, {r.n for r in records}, box.width)
        style.plain_log_ticks(axes, low, high)
        page.text(box.left, box.top - 0.16, f"k = {k}", 7.5, weight="bold")
        for label, members in series.items():
            _line(axes, [r for r in members if r.k == k], looks[label], length)
        lowest = axes
        if strip:
            axes.tick_params(axis="x", length=0, labelbottom=False)
            lowest = _strip(page, box, strip, axes)
            _crosses(lowest, _failing(series, k), looks, notes)
        if grid.lowest(i):
            lowest.set_xlabel("n, elements of a row", labelpad=2)
        if i % grid.columns == 0:
            axes.set_ylabel(f"median time of all Q rows ({unit})", labelpad=3)
        else:
            axes.tick_params(axis="y", labelleft=False)
    return page


def _page(part: slices.Slice, series: Series, looks: Looks, grid: Grid) -> Page:
    entries = _entries(series, looks)
    columns = key_columns([label for _, label in entries], grid.total()[0])
    key_height = KEY_LINE * -(-len(entries) // columns) + 0.08
    page = Page(
        "Time against n",
        part.title(),
        key_height,
        grid,
        Notes(series).lines(),
        footer([r for members in series.values() for r in members]),
        least_width=5.0,
    )
    page.legend(page.key, entries, columns)
    return page


def _grid(panels: int, strip: float) -> Grid:
    columns = panels if panels <= 3 else 2 if panels == 4 else 3 if panels <= 9 else 4
    width = {1: 4.6, 2: 3.2, 3: 2.3, 4: 1.9}[columns]
    height = {1: 3.0, 2: 2.2, 3: 1.9, 4: 1.7}[columns]
    return Grid(panels, columns, width, height + strip, _LEFT, _ABOVE, _BELOW, _FOOT, _GAP)


def _entries(series: Series, looks: Looks) -> list[tuple[Artist, str]]:
    entries: list[tuple[Artist, str]] = [
        (_handle(looks[label]), label) for label in series if any(r.time for r in series[label])
    ]
    entries.append((Patch(facecolor="#b8b8b8", linewidth=0), "95 % interval of the median"))
    if any(r.time is None for members in series.values() for r in members):
        cross = Line2D([], [], color=style.INK, marker="x", linestyle="none", markersize=3.6)
        entries.append((cross, "no time: see n/a below"))
    return entries


def _handle(look: style.Look) -> Line2D:
    return Line2D([], [], color=look.colour, marker=look.marker, linestyle=look.line, **_MARK)


_MARK: dict[str, Any] = {"markeredgecolor": "white", "markeredgewidth": 0.4}


def _line(axes: Axes, records: Sequence[Record], look: style.Look, length: float) -> None:
    """Draw one series in one panel; the line is broken at cells without a time."""
    for timed, run in itertools.groupby(records, key=lambda r: r.time is not None):
        if not timed:
            continue
        stretch = list(run)
        n = [r.n for r in stretch]
        times = [r.time for r in stretch if r.time]
        low, high = [t.low / length for t in times], [t.high / length for t in times]
        axes.fill_between(n, low, high, color=look.colour, alpha=0.22, linewidth=0)
        medians = [t.median / length for t in times]
        axes.plot(n, medians, color=look.colour, marker=look.marker, linestyle=look.line, **_MARK)


def _failing(series: Series, k: int) -> dict[str, list[Record]]:
    failed = {
        label: [r for r in members if r.k == k and r.time is None]
        for label, members in series.items()
    }
    return {label: members for label, members in failed.items() if members}


def _strip(page: Page, box: Box, height: float, above: Axes) -> Axes:
    """Add the strip for crosses under a panel; row 0 is at the top."""
    strip = page.axes(Box(box.left, box.top + box.height - height, box.width, height))
    strip.set_xscale("log", base=2)
    strip.set_xlim(above.get_xlim())
    strip.xaxis.set_major_locator(above.xaxis.get_major_locator())
    strip.xaxis.set_major_formatter(above.xaxis.get_major_formatter())
    strip.xaxis.set_minor_locator(above.xaxis.get_minor_locator())
    strip.set_ylim(height / _STRIP_ROW - 0.5, -0.5)
    strip.set_yticks([])
    strip.set_facecolor("#f2f2f2")
    strip.grid(visible=False)
    return strip


def _crosses(strip: Axes, failing: Series, looks: Looks, notes: Notes) -> None:
    for row, (label, members) in enumerate(failing.items()):
        strip.plot(
            [r.n for r in members],
            [row] * len(members),
            color=looks[label].colour,
            marker="x",
            markersize=3.2,
            markeredgewidth=0.9,
            linestyle="none",
        )
        for number, run in itertools.groupby(members, key=lambda r: notes.number(label, r)):
            strip.annotate(
                str(number),
                (next(run).n, row),
                xytext=(-3, 0),
                textcoords="offset points",
                ha="right",
                va="center_baseline",
                size=5.5,
            )


def _rows(series: Series) -> list[dict[str, object]]:
    return [
        {
            "series": label,
            "k": r.k,
            "n": r.n,
            "q": r.q,
            "status": r.status,
            "median_ns": r.time.median if r.time else "",
            "low_ns": r.time.low if r.time else "",
            "high_ns": r.time.high if r.time else "",
            "reason": r.reason,
            "run": r.run.name,
            "key": r.key,
        }
        for label, members in series.items()
        for r in members
    ]
