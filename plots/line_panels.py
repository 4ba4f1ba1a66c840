"""Figures like those of the papers: panels of lines over one variable.

A point without a value is shown as a hatched box under its panel at its x, with the number of a
note; the line is broken there. A star is a number that a paper states.
"""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import (
    FixedFormatter,
    FixedLocator,
    MaxNLocator,
    NullLocator,
    PercentFormatter,
)

from plots import style
from plots.page import KEY_LINE, Box, Grid, Page, footer, key_columns
from plots.records import Record

_ROW = 0.115  # inches: height of one line's boxes under a panel
_LEFT, _ABOVE, _BELOW, _FOOT, _GAP = 0.62, 0.24, 0.22, 0.17, 0.2
_LOG_FROM = 10.0  # by default y is logarithmic if largest / smallest is at least this
_ACROSS = (0, (1.2, 1.6))  # the dashes of a published number without an x
_NEAR = 1.15  # lines nearer than this everywhere are told to coincide


@dataclass(frozen=True)
class Point:
    """A cell at its x; `y` is None if the cell has no value, and its record says why."""

    x: float
    y: float | None
    low: float
    high: float
    records: tuple[Record, ...]  # the cell first, then the cells it was compared with


@dataclass(frozen=True)
class Star:
    """A number that the paper states, on one panel; a line across it if the text gives no x."""

    panel: str
    x: float | None
    y: float
    label: str


Lines = Mapping[str, Sequence[Point]]


@dataclass(frozen=True)
class Sheet:
    """The content of one figure."""

    title: str
    subtitle: str
    panels: Mapping[str, Lines]
    x_label: str
    y_label: str
    x_scale: Literal["log2", "linear"] = "log2"
    y_scale: Literal["auto", "linear", "log", "share"] = "auto"
    stars: Sequence[Star] = ()
    notes: Sequence[str] = ()
    order: Sequence[str] = field(default=())  # labels in this order; others follow sorted


def draw(sheet: Sheet) -> Figure:
    """Draw a sheet, which has at least one point with a value."""
    labels = _labels(sheet)
    looks = style.looks_in_order(labels)
    failures = {
        name: {label: [p for p in points if p.y is None] for label, points in lines.items()}
        for name, lines in sheet.panels.items()
    }
    reasons = _Reasons(p for failing in failures.values() for ps in failing.values() for p in ps)
    rows = max(sum(bool(f) for f in failing.values()) for failing in failures.values())
    grid = _grid(len(sheet.panels), _ROW * rows)
    page = _page(sheet, labels, looks, grid, [*sheet.notes, *reasons.lines()])
    for i, name in enumerate(sheet.panels):
        box = page.panels[i]
        strip = _ROW * rows
        axes = _panel(page, box._replace(height=box.height - strip), sheet, name, looks)
        lowest = axes
        if strip:
            axes.tick_params(axis="x", length=0, labelbottom=False)
            below = Box(box.left, box.top + box.height - strip, box.width, strip)
            lowest = _strip(page, below, axes, rows)
            _boxes(lowest, failures[name], looks, reasons)
        if grid.lowest(i):
            lowest.set_xlabel(sheet.x_label, labelpad=2)
        if i % grid.columns == 0:
            axes.set_ylabel(sheet.y_label, labelpad=3)
        else:
            axes.tick_params(axis="y", labelleft=False)
    return page.figure


def _panel(page: Page, box: Box, sheet: Sheet, name: str, looks: Mapping[str, style.Look]) -> Axes:
    """Draw one panel's title, axes, lines and stars into a box."""
    title = style.exponents(style.literal(name))
    page.text(box.left, box.top - 0.16, title, 7.5, weight="bold")
    axes = page.axes(box)
    every = [p for lines in sheet.panels.values() for points in lines.values() for p in points]
    _x_axis(axes, sheet, sorted({p.x for p in every}), box.width)
    _y_axis(axes, sheet, _limits(sheet))
    for label, points in sheet.panels[name].items():
        _line(axes, points, looks[label])
    for star in sheet.stars:
        if star.panel == name:
            _star(axes, star)
    return axes


def coinciding(panels: Mapping[str, Lines]) -> list[str]:
    """Return notes on panels whose lines lie within 15 % of each other everywhere."""
    notes = []
    for name, lines in panels.items():
        by_x: dict[float, list[float]] = {}
        for point in (p for points in lines.values() for p in points):
            if point.y is not None and point.y > 0:
                by_x.setdefault(point.x, []).append(point.y)
        spans = [max(ys) / min(ys) for ys in by_x.values() if len(ys) > 1]
        if len(lines) > 2 and spans and max(spans) < _NEAR:
            notes.append(f"{name}: its {len(lines)} lines lie within {max(spans) - 1:.0%}.")
    return notes


def rows(sheet: Sheet) -> list[dict[str, object]]:
    """Return the sheet's points as the rows of a CSV."""
    return [
        {
            "panel": name,
            "series": label,
            "x": f"{p.x:.10g}",
            "y": "" if p.y is None else p.y,
            "low": "" if p.y is None else p.low,
            "high": "" if p.y is None else p.high,
            "n": p.records[0].n,
            "q": p.records[0].q,
            "k": p.records[0].k,
            "status": p.records[0].status,
            "reason": p.records[0].reason,
            "run": p.records[0].run.name,
            "key": p.records[0].key,
            "baseline_key": p.records[1].key if len(p.records) > 1 else "",
        }
        for name, lines in sheet.panels.items()
        for label, points in lines.items()
        for p in points
    ]


def _labels(sheet: Sheet) -> list[str]:
    found = {label for lines in sheet.panels.values() for label in lines}
    return [*(label for label in sheet.order if label in found), *sorted(found - set(sheet.order))]


class _Reasons:
    """Numbers the reasons of missing values: one number for each (algorithm, status, reason)."""

    def __init__(self, points: Iterable[Point]) -> None:
        found = sorted({self._key(point) for point in points})
        self._numbers = {key: number for number, key in enumerate(found, 1)}

    def number(self, point: Point) -> int:
        return self._numbers[self._key(point)]

    def lines(self) -> list[str]:
        return [
            style.literal(f"n/a {number}:  {algorithm}, {status}: {reason}".removesuffix(": "))
            for (algorithm, status, reason), number in self._numbers.items()
        ]

    @staticmethod
    def _key(point: Point) -> tuple[str, str, str]:
        why = next((r for r in point.records if r.time is None), point.records[0])
        return why.algorithm, why.status.replace("_", " "), why.reason


def _grid(panels: int, strip: float) -> Grid:
    columns = panels if panels <= 3 else 2 if panels == 4 else 3
    width = {1: 4.8, 2: 3.2, 3: 2.4}[columns]
    height = {1: 3.0, 2: 2.3, 3: 2.0}[columns]
    return Grid(panels, columns, width, height + strip, _LEFT, _ABOVE, _BELOW, _FOOT, _GAP)


def _page(
    sheet: Sheet,
    labels: Sequence[str],
    looks: Mapping[str, style.Look],
    grid: Grid,
    notes: Sequence[str],
) -> Page:
    entries: list[tuple[Artist, str]] = [
        (Line2D([], [], color=look.colour, marker=look.marker, linestyle=look.line), label)
        for label, look in ((label, looks[label]) for label in labels)
    ]
    if any(p.y is None for lines in sheet.panels.values() for ps in lines.values() for p in ps):
        entries.append((Patch(**_HATCHED), "no value: see n/a below"))
    for text, across in dict.fromkeys((star.label, star.x is None) for star in sheet.stars):
        mark = Line2D([], [], marker="*", markersize=7, color=style.INK, linestyle="none")
        if across:
            mark = Line2D([], [], color=style.INK, linewidth=0.9, linestyle=_ACROSS)
        entries.append((mark, text))
    columns = key_columns([text for _, text in entries], max(grid.total()[0], 4.7))
    compared = {
        r.key: r
        for lines in sheet.panels.values()
        for points in lines.values()
        for p in points
        for r in p.records
    }
    page = Page(
        style.literal(sheet.title),
        sheet.subtitle,
        KEY_LINE * -(-len(entries) // columns) + 0.08,
        grid,
        notes,
        footer(list(compared.values())),
        least_width=5.0,
    )
    page.legend(page.key, entries, columns)
    return page


_HATCHED = {"facecolor": "#f2f2f2", "hatch": "//////", "edgecolor": "#8a8a8a", "linewidth": 0.4}


def _limits(sheet: Sheet) -> tuple[float, float]:
    points = [p for lines in sheet.panels.values() for ps in lines.values() for p in ps]
    values = [v for p in points if p.y is not None for v in (p.low, p.high, p.y)]
    values += [star.y for star in sheet.stars]
    return min(values), max(values)


def _x_axis(axes: Axes, sheet: Sheet, values: Sequence[float], inches: float) -> None:
    if sheet.x_scale == "log2":
        style.power_of_two_ticks(axes, [int(v) for v in values], inches)
        return
    margin = 0.05 * (values[-1] - values[0]) or 0.5
    axes.set_xlim(values[0] - margin, values[-1] + margin)
    # A tick stands on a point; of many points each second, third, ... has one.
    widest = max(len(f"{v:g}") for v in values)
    step = -(-len(values) * (0.1 + 0.065 * widest) // inches) or 1
    ticks = list(values)[:: max(1, int(step))]
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_major_formatter(FixedFormatter([f"{v:g}" for v in ticks]))
    axes.xaxis.set_minor_locator(NullLocator())


def _y_axis(axes: Axes, sheet: Sheet, limits: tuple[float, float]) -> None:
    low, high = limits
    scale = sheet.y_scale
    if scale == "auto":
        scale = "log" if low > 0 and high / low > _LOG_FROM else "linear"
    if scale == "log":
        style.plain_log_ticks(axes, low, high)
        return
    axes.set_ylim(min(0.0, low), high * 1.06)
    axes.yaxis.set_major_locator(MaxNLocator(6))
    axes.yaxis.set_minor_locator(NullLocator())
    if scale == "share":
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=None))


def _line(axes: Axes, points: Sequence[Point], look: style.Look) -> None:
    """Draw one line, broken where a point has no value."""
    for valued, stretch in itertools.groupby(points, key=lambda p: p.y is not None):
        run = list(stretch)
        if not valued:
            continue
        x = [p.x for p in run]
        if any(not math.isclose(p.low, p.high) for p in run):
            low, high = [p.low for p in run], [p.high for p in run]
            axes.fill_between(x, low, high, color=look.colour, alpha=0.2, linewidth=0)
        axes.plot(
            x,
            [p.y for p in run if p.y is not None],
            color=look.colour,
            marker=look.marker,
            linestyle=look.line,
            markeredgecolor="white",
            markeredgewidth=0.4,
        )


def _star(axes: Axes, star: Star) -> None:
    if star.x is None:
        axes.axhline(star.y, color=style.INK, linewidth=0.9, linestyle=_ACROSS)
    else:
        axes.plot(star.x, star.y, marker="*", markersize=8, color=style.INK, zorder=5)


def _strip(page: Page, box: Box, above: Axes, rows: int) -> Axes:
    strip = page.axes(box)
    strip.set_xscale(above.get_xscale(), **({"base": 2} if above.get_xscale() == "log" else {}))
    strip.set_xlim(above.get_xlim())
    strip.xaxis.set_major_locator(above.xaxis.get_major_locator())
    strip.xaxis.set_major_formatter(above.xaxis.get_major_formatter())
    strip.xaxis.set_minor_locator(NullLocator())
    strip.set_ylim(rows - 0.5, -0.5)
    strip.set_yticks([])
    strip.grid(visible=False)
    return strip


def _boxes(
    strip: Axes,
    failing: Lines,
    looks: Mapping[str, style.Look],
    reasons: _Reasons,
) -> None:
    """Draw a hatched box for each point without a value; each line's boxes form a row."""
    failed = [(label, points) for label, points in failing.items() if points]
    to_axes = strip.transData + strip.transAxes.inverted()
    for row, (label, points) in enumerate(failed):
        numbers: set[int] = set()
        for point in points:
            middle = to_axes.transform((point.x, row))
            height = 1 / max(1, strip.get_ylim()[0] + 0.5)
            corner = (middle[0] - 0.025, middle[1] - 0.42 * height)
            box = Rectangle(
                corner, 0.05, 0.84 * height, transform=strip.transAxes, clip_on=False, **_HATCHED
            )
            box.set_edgecolor(looks[label].colour)
            strip.add_patch(box)
            number = reasons.number(point)
            if number not in numbers:
                numbers.add(number)
                strip.annotate(
                    str(number),
                    (corner[0] - 0.006, middle[1]),
                    xycoords="axes fraction",
                    ha="right",
                    va="center_baseline",
                    size=5.5,
                )
