"""Queue updates, counted on fibers: by position and their total (Tang et al. 2015, Fig. 5).

Both are means over the queries. The figure by position has one panel for each k; position 0 is the
queue's head. The figure of totals, against k, needs a slice with at least two k; both its axes are
logarithmic. Each n of a slice has its own figures.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from plots import slices, style
from plots.figures import Drawing, Options
from plots.page import KEY_LINE, Grid, Page, footer, key_columns
from plots.records import Record

NAME = "updates"
DESCRIPTION = "updates of a queue by position, and in all against k (cells counted on fibers)"
OF_COUNTS = True

Series = Mapping[str, Sequence[Record]]
Looks = Mapping[str, style.Look]


def draw(records: Sequence[Record], options: Options) -> list[Drawing]:
    """Draw each slice with counted updates, for each of its n."""
    del options
    cut = slices.cut_counted(records)
    names = slices.names(NAME, cut)
    looks = style.looks(r.algorithm for members in cut.values() for r in members)
    drawings = []
    for part, members in cut.items():
        by_n: dict[int, list[Record]] = defaultdict(list)
        for record in members:
            by_n[record.n].append(record)
        for n, same_n in sorted(by_n.items()):
            series = _series(same_n)
            name = f"{names[part]}-n{n}"
            drawings.append(
                Drawing(f"{name}-position", _positions(part, n, series, looks), _slots(series))
            )
            if len({r.k for r in same_n}) > 1:
                figure = _totals(part, n, series, looks)
                drawings.append(Drawing(f"{name}-total", figure, _sums(series)))
    return drawings


def _series(records: Sequence[Record]) -> Series:
    series: dict[str, list[Record]] = defaultdict(list)
    for record in sorted(records, key=lambda r: (r.algorithm, r.k, r.key)):
        series[record.algorithm].append(record)
    return series


def _page(title: str, part: slices.Slice, n: int, series: Series, looks: Looks, grid: Grid) -> Page:
    entries = [
        (Line2D([], [], color=looks[label].colour, linestyle=looks[label].line), label)
        for label in series
    ]
    columns = key_columns(series, max(grid.total()[0], 4.6))
    page = Page(
        title,
        f"{part.title()}  |  n = {slices.integer(n)}",
        KEY_LINE * -(-len(entries) // columns) + 0.08,
        grid,
        [],
        footer([r for members in series.values() for r in members]),
        least_width=5.0,
    )
    page.legend(page.key, entries, columns)
    return page


def _positions(part: slices.Slice, n: int, series: Series, looks: Looks) -> Figure:
    panels = sorted({r.k for members in series.values() for r in members})
    columns = min(len(panels), 3)
    width = {1: 4.2, 2: 2.6, 3: 1.9}[columns]
    grid = Grid(len(panels), columns, width, 0.62 * width, 0.62, 0.24, 0.22, 0.17, 0.5)
    page = _page("Queue updates by position", part, n, series, looks, grid)
    for i, k in enumerate(panels):
        box = page.panels[i]
        axes = page.axes(box)
        page.text(box.left, box.top - 0.16, f"k = {k}", 7.5, weight="bold")
        for label, members in series.items():
            for record in members:
                if record.k == k:
                    mean = [count / record.q for count in record.queue_updates]
                    axes.plot(mean, color=looks[label].colour, linestyle=looks[label].line)
        axes.set_xlim(0, max(1, k - 1))
        axes.set_ylim(bottom=0)
        axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
        axes.yaxis.set_major_locator(MaxNLocator(5))
        if grid.lowest(i):
            axes.set_xlabel("position, 0 = head", labelpad=2)
        if i % columns == 0:
            axes.set_ylabel("updates of a query", labelpad=3)
    return page.figure


def _totals(part: slices.Slice, n: int, series: Series, looks: Looks) -> Figure:
    grid = Grid(1, 1, 4.2, 2.6, 0.62, 0.1, 0.22, 0.17, 0.1)
    page = _page("Queue updates in all", part, n, series, looks, grid)
    axes = page.axes(page.panels[0])
    means = {
        label: [(r.k, sum(r.queue_updates) / r.q) for r in members]
        for label, members in series.items()
    }
    flat = [point for points in means.values() for point in points]
    style.power_of_two_ticks(axes, {k for k, _ in flat}, page.panels[0].width)
    style.plain_log_ticks(axes, min(y for _, y in flat), max(y for _, y in flat))
    for label, points in means.items():
        look = looks[label]
        x, y = zip(*points, strict=True)
        axes.plot(x, y, color=look.colour, marker=look.marker, linestyle=look.line)
    axes.set_xlabel("k", labelpad=2)
    axes.set_ylabel("updates of a query", labelpad=3)
    return page.figure


def _slots(series: Series) -> list[dict[str, object]]:
    return [
        {
            "series": label,
            "n": r.n,
            "q": r.q,
            "k": r.k,
            "position": position,
            "updates": count,
            "run": r.run.name,
            "key": r.key,
        }
        for label, members in series.items()
        for r in members
        for position, count in enumerate(r.queue_updates)
    ]


def _sums(series: Series) -> list[dict[str, object]]:
    return [
        {
            "series": label,
            "n": r.n,
            "q": r.q,
            "k": r.k,
            "updates": sum(r.queue_updates),
            "run": r.run.name,
            "key": r.key,
        }
        for label, members in series.items()
        for r in members
    ]
