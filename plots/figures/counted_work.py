"""Work counted on fibers, which time nothing: one panel for each counter, a line for each algorithm.

Counts are per element of the rows. The x axis is n for each k, or k if all cells have one n. Both
axes are logarithmic; a count of zero has no point.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from plots import slices, style
from plots.figures import Drawing, Options
from plots.page import KEY_LINE, Grid, Page, footer, key_columns
from plots.records import Record

NAME = "work"
DESCRIPTION = "work counted on fibers, per element of the rows, a panel for each counter"
OF_COUNTS = True

# In the order of the panels; all others are in the CSV.
_SHOWN = ("global_reads", "global_writes", "collectives", "comparisons", "queue_inserts", "atomics")

Series = Mapping[str, Sequence[Record]]


def suits(record: Record) -> bool:
    """Tell whether the cell has counted work and no time."""
    return record.time is None and bool(record.counters)


def draw(records: Sequence[Record], options: Options) -> list[Drawing]:
    """Draw each slice against n for each of its k, or against k."""
    del options
    cut: dict[slices.Slice, list[Record]] = defaultdict(list)
    for record in records:
        if suits(record) and record.n * record.q > 0:
            cut[slices.of_counted(record)].append(record)
    names = slices.names(NAME, sorted(cut))
    looks = style.looks(r.algorithm for members in cut.values() for r in members)
    drawings = []
    for part, members in sorted(cut.items()):
        against = "n" if len({r.n for r in members}) > 1 else "k"
        fixed = "k" if against == "n" else "n"
        for value in sorted({getattr(r, fixed) for r in members}):
            series = slices.series(r for r in members if getattr(r, fixed) == value)
            shown = [c for c in _SHOWN if any(r.counters.get(c) for m in series.values() for r in m)]
            if not shown:
                continue
            title = f"{part.title()}  |  {fixed} = {slices.integer(value)}"
            figure = _figure(title, series, shown, against, looks)
            drawings.append(Drawing(f"{names[part]}-{fixed}{value}", figure, _rows(series)))
    return drawings


def _figure(
    title: str, series: Series, shown: list[str], against: str, looks: Mapping[str, style.Look]
) -> Figure:
    columns = min(len(shown), 3)
    grid = Grid(len(shown), columns, 2.2, 1.5, 0.62, 0.24, 0.22, 0.17, 0.55)
    of_label = {label: looks[members[0].algorithm] for label, members in series.items()}
    entries = [
        (Line2D([], [], color=look.colour, marker=look.marker, linestyle=look.line), label)
        for label, look in of_label.items()
    ]
    key = key_columns(series, max(grid.total()[0], 4.6))
    records = [r for members in series.values() for r in members]
    height = KEY_LINE * -(-len(entries) // key) + 0.08
    page = Page("Counted work", title, height, grid, [], footer(records), least_width=5.0)
    page.legend(page.key, entries, key)
    for i, counter in enumerate(shown):
        box = page.panels[i]
        axes = page.axes(box)
        page.text(box.left, box.top - 0.16, counter.replace("_", " "), 7.5, weight="bold")
        style.power_of_two_ticks(axes, {getattr(r, against) for r in records}, box.width)
        counts = [_per_element(r, counter) for r in records if r.counters.get(counter)]
        style.plain_log_ticks(axes, min(counts), max(counts))
        for label, members in series.items():
            there = [r for r in members if r.counters.get(counter)]
            x = [getattr(r, against) for r in there]
            y = [_per_element(r, counter) for r in there]
            look = of_label[label]
            axes.plot(x, y, color=look.colour, marker=look.marker, linestyle=look.line)
        if grid.lowest(i):
            axes.set_xlabel(against, labelpad=2)
        if i % columns == 0:
            axes.set_ylabel("per element", labelpad=3)
    return page.figure


def _per_element(record: Record, counter: str) -> float:
    return record.counters[counter] / (record.n * record.q)


def _rows(series: Series) -> list[dict[str, object]]:
    return [
        {
            "series": label,
            "n": r.n,
            "q": r.q,
            "k": r.k,
            "counter": counter,
            "count": count,
            "per_element": count / (r.n * r.q),
            "run": r.run.name,
            "key": r.key,
        }
        for label, members in series.items()
        for r in members
        for counter, count in r.counters.items()
        if count
    ]
