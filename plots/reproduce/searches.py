"""Reads, compares and draws searches in metric indexes (`kselect index ... --record`).

A search is identified by its traits: kind of index, source (the objects' file without ending),
what, k, share (of the objects within the radius), radius_rule, distribution, alpha, cluster_size,
batch, executor, threads; "-" stands for an absent trait. Its quantities are `time` (ns, all
queries), `throughput` (queries a second), and for each query `distances` and `bytes` (read and
written, counted on fibers). This module draws the thesis' figures; `python -m plots.index_searches`
draws all searches of a record.
"""

import hashlib
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from plots import style
from plots.errors import Failure, PlotError
from plots.figures import Drawing
from plots.files import RUNS, begins_with, read_bytes, stored
from plots.journal import read_journal
from plots.page import KEY_LINE, Grid, Page, key_columns
from plots.reproduce.cells import Missing
from plots.reproduce.manifest import Experiment, FigureSpec, Table, check_keys

_TRAITS = (
    *("kind", "source", "what", "k", "share", "radius_rule", "distribution", "alpha"),
    *("cluster_size", "batch", "executor", "threads"),
)
_QUANTITIES = {
    "time": "time of all queries (ms)",
    "throughput": "queries a second",
    "distances": "distances evaluated a query",
    "bytes": "bytes read and written a query",
}
_X_LABELS = {"batch": "queries in a launch"}
_HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\")
# If several executors have a quantity, the first of these counts.
_EXECUTORS = ("cuda", "fiber", "cpu")


@dataclass(frozen=True)
class Search:
    """One recorded search."""

    folder: str
    path: str  # of its journal, with the journal's digest
    machine: str
    commit: str
    traits: Mapping[str, Any]
    values: Mapping[str, float]  # by quantity

    def fits(self, where: Table) -> bool:
        """Tell whether it matches every trait of `where`; a list matches any of its values."""
        return all(
            self.traits.get(key, "-") in (value if isinstance(value, list) else [value])
            for key, value in where.items()
        )


def holds_searches(folder: Path) -> bool:
    """Tell whether a folder's journal holds searches instead of cells."""
    return begins_with(folder, RUNS, b'"what":"index_search"')


def searches_of(folder: Path) -> tuple[list[Search], tuple[str, ...]]:
    """Read a folder's searches, and warnings about a torn tail; raises PlotError(INPUT)."""
    path = stored(folder, RUNS)
    values, told = read_journal(path)
    digest = hashlib.sha256(read_bytes(path)).hexdigest()[:16]
    source = f"{folder / RUNS} (sha256 {digest})"
    found = []
    for number, value in enumerate(values, 1):
        try:
            found.append(_search(value, str(folder), source))
        except (KeyError, TypeError, IndexError) as e:
            message = f"{path}:{number}: no record of a search that is known: {e!r}"
            raise PlotError(Failure.INPUT, message) from e
    return found, told


def _search(value: Mapping[str, Any], folder: str, path: str) -> Search:
    if value["what"] != "index_search":
        raise KeyError(value["what"])
    index, search = value["index"], value["search"]
    traits = {name: search[name] for name in _TRAITS if name in search}
    traits |= {name: index[name] for name in ("kind", "alpha", "cluster_size") if name in index}
    traits |= {"executor": value["executor"], "threads": value["threads"]}
    traits["source"] = PurePosixPath(index["source"]).name.split(".")[0]
    per_query = (value["work"] or {}).get("per_query", {})
    values = {}
    if value["time"] is not None:
        values["time"] = float(value["time"]["median"])
        values["throughput"] = search["queries"] / values["time"] * 1e9
    if "distances" in per_query:
        values["distances"] = float(per_query["distances"])
    if "bytes_read" in per_query:
        values["bytes"] = float(per_query["bytes_read"] + per_query["bytes_written"])
    gpu = value["gpu"][0]["name"] if value["executor"] == "cuda" else value["host"]["cpu"]
    return Search(folder, path, gpu, value["git"]["commit"], traits, values)


def compare(
    searches: Sequence[Search], mine: Table, theirs: Table, quantity: str, context: str
) -> list[tuple[float, Search, Search]]:
    """Return theirs / mine of a quantity for pairs that differ only in the named traits."""
    for where in (mine, theirs):
        check_keys(where, _TRAITS, context)
    if quantity not in _QUANTITIES:
        names = ", ".join(_QUANTITIES)
        raise PlotError(Failure.INPUT, f"{context}: no quantity is {quantity!r}; there are {names}")
    same = [name for name in ("source", "what", "k", "share") if name not in {*mine, *theirs}]
    found = []
    for a in (s for s in searches if s.fits(mine) and s.values.get(quantity)):
        rivals = [
            b
            for b in searches
            if b.fits(theirs)
            and b.values.get(quantity)
            and all(a.traits.get(name) == b.traits.get(name) for name in same)
        ]
        if rivals:
            b = min(rivals, key=lambda b: (_rank(b), b.values[quantity]))
            found.append((b.values[quantity] / a.values[quantity], a, b))
    return found


def in_words(search: Search) -> str:
    """Return the traits that distinguish a search."""
    told = ("kind", "source", "k", "share", "radius_rule", "distribution", "alpha", "batch")
    parts = [f"{name} {search.traits[name]}" for name in told if name in search.traits]
    text = ", ".join([*parts, str(search.traits["executor"])])
    return text.removeprefix("kind ").replace("_", " ")


def _rank(search: Search) -> int:
    return _EXECUTORS.index(search.traits["executor"])


def draw(
    experiment: Experiment, figure: FigureSpec, searches: Sequence[Search], context: str
) -> Drawing:
    """Draw one panel for each quantity: a group of bars for each x, a bar for each `by`."""
    where = {**experiment.where, **figure.ask.get("where", {})}
    check_keys(where, _TRAITS, context)
    chosen = [s for s in searches if s.fits(where)]
    x, by, over = figure.ask["x"], figure.ask["by"], figure.ask.get("over")
    panels = {}
    for quantity in figure.ask["quantities"]:
        bars = _bars(chosen, searches, x, by, quantity, over, context)
        if bars:
            panels[quantity] = bars
    if not panels:
        wanted = ", ".join(f"{key} = {value}" for key, value in where.items())
        raise Missing(f"no search with {wanted} has {' or '.join(figure.ask['quantities'])}")
    if figure.ask.get("normalised"):
        panels = {q: _normalised(bars) for q, bars in panels.items()}
    rows: list[dict[str, object]] = [
        {
            "quantity": quantity,
            x: place,
            by: series,
            "value": value,
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
        return (_rank(s), s.values.get("time", math.inf), -float(s.traits.get("alpha", 0)))

    for search in sorted(chosen, key=first):
        if quantity in search.values and x in search.traits and by in search.traits:
            at = (search.traits[x], search.traits[by])
            bars.setdefault(at, (search.values[quantity] / _length(quantity), search))
    return _sorted(bars, x)


def _sorted(bars: Bars, x: str) -> Bars:
    def order(item: tuple[tuple[Any, Any], object]) -> tuple[tuple[bool, str, Any], ...]:
        place, one = item[0]
        return (_is_all(place, x), str(type(place)), place), (False, str(type(one)), one)

    return dict(sorted(bars.items(), key=order))


def _is_all(place: object, x: str) -> bool:
    """Tell whether a place along x is a batch of 0, which stands for all queries in one launch."""
    return x == "batch" and place == 0


def _length(quantity: str) -> float:
    return 1e6 if quantity == "time" else 1.0


def _normalised(bars: Bars) -> Bars:
    largest = max(value for value, _ in bars.values())
    return {at: (value / largest, search) for at, (value, search) in bars.items()}


def _figure(experiment: Experiment, figure: FigureSpec, panels: Mapping[str, Bars]) -> Figure:
    series = list(dict.fromkeys(at[1] for bars in panels.values() for at in bars))
    labels = {one: str(one).replace("_", " ") for one in series}
    columns = key_columns(labels.values(), 4.6)
    grid = Grid(
        len(panels), len(panels), max(1.9, 4.8 / len(panels)), 2.2, 0.62, 0.24, 0.22, 0.17, 0.62
    )
    used = [search for bars in panels.values() for _, search in bars.values()]
    page = Page(
        style.literal(f"{experiment.id}  {figure.ask.get('title', experiment.title)}"),
        f"by {figure.ask['by'].replace('_', ' ')}",
        KEY_LINE * -(-len(series) // columns) + 0.08,
        grid,
        [],
        style.literal(
            "   |   ".join(
                [
                    ", ".join(dict.fromkeys(s.path for s in used)),
                    ", ".join(sorted({s.machine for s in used})),
                    "git " + ", ".join(dict.fromkeys(s.commit[:7] for s in used)),
                ]
            )
        ),
        least_width=6.0,
    )
    entries = [
        (Patch(facecolor=_colour(i), hatch=_HATCHES[i % 5], edgecolor="white", linewidth=0), label)
        for i, label in enumerate(labels.values())
    ]
    page.legend(page.key, entries, columns)
    for box, (quantity, bars) in zip(page.panels, panels.items(), strict=True):
        places = list(dict.fromkeys(at[0] for at in bars))
        axes = page.axes(box)
        groups: dict[Any, list[Any]] = defaultdict(list)
        for place, one in bars:
            groups[place].append(one)
        wide = 0.8 / len(series)
        for (place, one), (value, _) in bars.items():
            i = series.index(one)
            left = places.index(place) - 0.4 + (i + 0.5) * wide
            axes.bar(
                left, value, wide, facecolor=_colour(i), hatch=_HATCHES[i % 5],
                edgecolor="white", linewidth=0.6,
            )  # fmt: skip
        for i, place in enumerate(places):
            absent = [one for one in series if one not in groups[place]]
            for one in absent:  # a text in place of the missing bar
                left = i - 0.4 + (series.index(one) + 0.5) * wide
                axes.text(left, 0, "not recorded", rotation=90, size=5.5, ha="center", va="bottom")
        x = figure.ask["x"]
        names = ["all" if _is_all(p, x) else str(p).replace("_", " ") for p in places]
        upright = sum(style.width(name, 7.0) + 0.1 for name in names) < box.width
        axes.set_xticks(range(len(places)), names, rotation=0 if upright else 90)
        axes.set_xlabel(_X_LABELS.get(x, x.replace("_", " ")), labelpad=2)
        name = "speed-up" if "over" in figure.ask else _QUANTITIES[quantity]
        axes.set_ylabel(
            f"{name.split(' (')[0]}, normalised" if figure.ask.get("normalised") else name
        )
        axes.grid(visible=False, axis="x")
    return page.figure


def _colour(i: int) -> str:
    return style.COLOURS[i % len(style.COLOURS)]
