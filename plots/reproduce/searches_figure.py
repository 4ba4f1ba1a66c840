"""Draws the thesis' figures of searches in metric indexes: groups of bars.

A time of several samples has its interval. A bar that is not recorded leaves a gap, and a note says
so. A panel whose values span more than a decade is logarithmic.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from plots import style
from plots.figures import Drawing
from plots.page import KEY_LINE, Box, Grid, Page, key_columns
from plots.reproduce.cells import Missing
from plots.reproduce.manifest import Experiment, FigureSpec, Table, check_keys
from plots.reproduce.searches import QUANTITIES, TRAITS, Search, compare, label, rank

_X_LABELS = {
    "batch": "queries in a launch",
    "share": "share of the objects within the radius",
    "source": "",
    "alpha": "α",
    "intrinsic_dimension": "intrinsic dimension of the vectors' distribution",
}
_HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\")
_SPAN = 10.0  # largest / smallest from which on a panel is logarithmic


def draw(
    experiment: Experiment, figure: FigureSpec, searches: Sequence[Search], context: str
) -> Drawing:
    """Draw one panel for each quantity: a group of bars for each x, a bar for each `by`."""
    where = {**experiment.where, **figure.ask.get("where", {})}
    check_keys(where, TRAITS, context)
    chosen = [s for s in searches if s.fits(where)]
    x, by, over = figure.ask["x"], figure.ask["by"], figure.ask.get("over")
    panels = {}
    for quantity in figure.ask["quantities"]:
        bars = _bars(chosen, searches, x, by, quantity, over, context)
        if bars:
            panels[quantity] = bars
    if not panels:
        own = figure.ask.get("where", {})
        wanted = ", ".join(f"{key} = {value}" for key, value in own.items())
        raise Missing(f"it has no search{f' with {wanted}' if wanted else ''}")
    if figure.ask.get("normalised"):
        panels = {q: _normalised(bars) for q, bars in panels.items()}
    rows: list[dict[str, object]] = [
        {
            "quantity": quantity,
            x: place,
            by: series,
            "value": value,
            **_ends_named(quantity, "over" in figure.ask, value, search),
            "executor": search.traits["executor"],
            "record": search.path,
        }
        for quantity, bars in panels.items()
        for (place, series), (value, search) in bars.items()
    ]
    return Drawing("", _figure(experiment, figure, panels), rows)


Bars = Mapping[tuple[Any, Any], tuple[float, Search]]  # by (x, by)


def _bars(
    chosen: Sequence[Search],
    searches: Sequence[Search],
    x: str,
    by: str,
    quantity: str,
    over: Table | None,
    context: str,
) -> Bars:
    bars: dict[tuple[Any, Any], tuple[float, Search]] = {}
    if over is not None:
        for search in chosen:
            same = {name: search.traits[name] for name in ("kind", by) if name in search.traits}
            pairs = compare([search, *searches], {}, {**same, **over}, quantity, context)
            own = [(ratio, a) for ratio, a, _ in pairs if a is search]
            if own:
                bars[search.traits.get(x), search.traits.get(by)] = own[0]
        return _sorted(bars, x)

    # The fastest comes first, then the one with fewer pivots.
    def first(s: Search) -> tuple[float, ...]:
        return (rank(s), s.values.get("time", math.inf), -float(s.traits.get("alpha", 0)))

    for search in sorted(chosen, key=first):
        if quantity in search.values and x in search.traits and by in search.traits:
            at = (search.traits[x], search.traits[by])
            bars.setdefault(at, (search.values[quantity] / _length(quantity, search), search))
    return _sorted(bars, x)


def _sorted(bars: Bars, x: str) -> Bars:
    def order(item: tuple[tuple[Any, Any], object]) -> tuple[tuple[bool, str, Any], ...]:
        place, one = item[0]
        return (_is_all(place, x), str(type(place)), place), (False, str(type(one)), one)

    return dict(sorted(bars.items(), key=order))


def _is_all(place: object, x: str) -> bool:
    """Tell whether a place along x is a batch of 0, which stands for all queries in one launch."""
    return x == "batch" and place == 0


def _length(quantity: str, search: Search) -> float:
    return 1e3 * search.queries if quantity in ("time", "kernels") else 1.0


def _ends(quantity: str, value: float, search: Search) -> tuple[float, float] | None:
    """Return the ends of a bar's interval; None if it has none."""
    if quantity not in ("time", "throughput", "speed-up") or search.interval is None:
        return None
    middle = search.values["time"]
    low, high = (bound / middle for bound in search.interval)
    return (value * low, value * high) if quantity == "time" else (value / high, value / low)


def _ends_named(quantity: str, is_speed_up: bool, value: float, search: Search) -> Table:
    ends = _ends("speed-up" if is_speed_up else quantity, value, search)
    return {"low": "", "high": ""} if ends is None else dict(zip(("low", "high"), ends, strict=True))


def _normalised(bars: Bars) -> Bars:
    largest = max(value for value, _ in bars.values())
    return {at: (value / largest, search) for at, (value, search) in bars.items()}


def _figure(experiment: Experiment, figure: FigureSpec, panels: Mapping[str, Bars]) -> Figure:
    series = list(dict.fromkeys(at[1] for bars in panels.values() for at in bars))
    by = str(figure.ask["by"])
    labels = {one: label(by, one) for one in series}
    columns = key_columns(labels.values(), 4.6)
    grid = Grid(
        len(panels), len(panels), max(1.9, 4.8 / len(panels)), 2.2, 0.62, 0.24, 0.22, 0.17, 0.62
    )
    used = [search for bars in panels.values() for _, search in bars.values()]
    page = Page(
        style.literal(f"{experiment.id}  {figure.ask.get('title', experiment.title)}"),
        "all searches" if len(series) < 2 else f"by {by.replace('_', ' ')}",
        KEY_LINE * -(-len(series) // columns) + 0.08,
        grid,
        _notes(panels, series),
        style.literal("   |   ".join(_footer(used))),
        least_width=6.0,
    )
    entries = [
        (Patch(facecolor=_colour(i), hatch=_HATCHES[i % 5], edgecolor="white", linewidth=0), text)
        for i, text in enumerate(labels.values())
    ]
    page.legend(page.key, entries, columns)
    for box, (quantity, bars) in zip(page.panels, panels.items(), strict=True):
        axes = page.axes(box)
        _panel(axes, "speed-up" if "over" in figure.ask else quantity, bars, series)
        _labels(axes, figure, quantity, bars, box)
    return page.figure


def _footer(used: Sequence[Search]) -> list[str]:
    commits = dict.fromkeys(s.commit[:7] + (" dirty" if s.dirty else "") for s in used)
    return [
        ", ".join(dict.fromkeys(s.path for s in used)),
        ", ".join(sorted({s.machine for s in used})),
        "git " + ", ".join(commits),
    ]


def _notes(panels: Mapping[str, Bars], series: Sequence[Any]) -> list[str]:
    notes = []
    for bars in panels.values():
        places = list(dict.fromkeys(at[0] for at in bars))
        if len(bars) < len(places) * len(series):
            notes.append("A gap in place of a bar: not recorded.")
    counted = [s for bars in panels.values() for _, s in bars.values()]
    queries = sorted({s.queries for s in counted if s.traits["executor"] == "fiber"})
    if queries:
        of = " to ".join(str(q) for q in dict.fromkeys((queries[0], queries[-1])))
        notes.append(f"Distances and bytes are counted on fibers, the mean of {of} queries.")
    if any("time" in s.values and s.interval is None for s in counted):
        notes.append("Bars of time without an interval are of a single sample.")
    return list(dict.fromkeys(notes))


def _panel(axes: Axes, quantity: str, bars: Bars, series: Sequence[Any]) -> None:
    places = list(dict.fromkeys(at[0] for at in bars))
    values = [value for value, _ in bars.values() if value > 0]
    logarithmic = bool(values) and max(values) > _SPAN * min(values)
    wide = 0.8 / len(series)
    for (place, one), (value, search) in bars.items():
        i = series.index(one)
        left = places.index(place) - 0.4 + (i + 0.5) * wide
        axes.bar(
            left, value, wide, facecolor=_colour(i), hatch=_HATCHES[i % 5],
            edgecolor="white", linewidth=0.6,
        )  # fmt: skip
        ends = _ends(quantity, value, search)
        if ends is not None:
            off = [[max(0.0, value - ends[0])], [max(0.0, ends[1] - value)]]
            axes.errorbar(left, value, yerr=off, color=style.INK, linewidth=0.7, capsize=1.5)
    if logarithmic:
        low, high = min(values), max(values)
        style.plain_log_ticks(axes, low / 1.5, high)


def _labels(axes: Axes, figure: FigureSpec, quantity: str, bars: Bars, box: Box) -> None:
    places = list(dict.fromkeys(at[0] for at in bars))
    x = str(figure.ask["x"])
    names = ["all" if _is_all(p, x) else label(x, p) for p in places]
    names = [_folded(name, box.width / len(places)) for name in names]
    widths = [style.width(name.split("\n")[0], 7.0) + 0.1 for name in names]
    upright = sum(widths) < box.width
    axes.set_xticks(range(len(places)), names, rotation=0 if upright else 90)
    axes.set_xlabel(_X_LABELS.get(x, x.replace("_", " ")), labelpad=2)
    name = "speed-up" if "over" in figure.ask else QUANTITIES[quantity]
    if figure.ask.get("normalised"):
        name = f"{name.split(' (')[0]}, normalised"
    axes.set_ylabel(name)
    axes.grid(visible=False, axis="x")


def _folded(name: str, width: float) -> str:
    """Return a label in two lines, if it is wider than its place and has words to fold."""
    if style.width(name, 7.0) + 0.1 < width or " " not in name:
        return name
    middle = len(name) / 2
    cut = min((i for i, c in enumerate(name) if c == " "), key=lambda i: abs(i - middle))
    return f"{name[:cut]}\n{name[cut + 1:]}"


def _colour(i: int) -> str:
    return style.COLOURS[i % len(style.COLOURS)]
