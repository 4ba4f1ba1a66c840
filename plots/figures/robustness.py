"""How time depends on the input: time on each distribution over time on uniform rows.

A cell shows the geometric mean over the problems (n, Q, k) with both times, and the largest ratio.
It is hatched, with the number of a note, if the algorithm has no time on the distribution. There is
one figure for each group of slices that differ only in the distribution.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from plots import slices, style
from plots.figures import Drawing, Options
from plots.page import Box, Grid, Notes, Page, footer
from plots.records import Record

NAME = "robustness"
DESCRIPTION = "time on other distributions over that on uniform rows, for each algorithm"

_REFERENCE = "uniform"
_WIDTH, _HEIGHT, _ABOVE, _KEY = 1.0, 0.22, 0.36, 0.4  # inches


@dataclass(frozen=True)
class Cell:
    """One algorithm on one distribution: a (record, reference) for each problem, and failures."""

    pairs: tuple[tuple[Record, Record], ...]
    failed: tuple[Record, ...]

    def ratios(self) -> list[float]:
        """Return each pair's time over the reference's time."""
        return [a.time.median / b.time.median for a, b in self.pairs if a.time and b.time]

    @property
    def mean(self) -> float:
        """The geometric mean of the ratios."""
        found = self.ratios()
        return math.exp(math.fsum(math.log(r) for r in found) / len(found))


Table = Mapping[str, Mapping[str, Cell]]  # by algorithm, by distribution


def suits(record: Record) -> bool:
    """Tell whether a record's rows are of another distribution than uniform."""
    return record.distribution not in ("", _REFERENCE) and record.workload == record.distribution


def draw(records: Sequence[Record], options: Options) -> list[Drawing]:
    """Draw each group in which some algorithm has times on uniform rows and on others."""
    del options
    groups: dict[slices.Slice, list[Record]] = defaultdict(list)
    for part, members in slices.cut(records).items():
        head = part.without_fixed().on_workload("all distributions")
        # Distances between vectors are not rows of the vectors' distribution, so they are left out.
        groups[head] += [r for r in members if r.distribution and r.workload == r.distribution]
    tables = {head: table for head, members in groups.items() if (table := _table(members))}
    names = slices.names(NAME, tables)
    return [
        Drawing(names[head], _figure(head, table), _rows(table)) for head, table in tables.items()
    ]


def _table(records: Sequence[Record]) -> Table:
    references = {
        (r.algorithm, r.n, r.q, r.k): r for r in records if r.distribution == _REFERENCE and r.time
    }
    table: dict[str, dict[str, Cell]] = {}
    found: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for record in sorted(records, key=lambda r: (r.n, r.q, r.k, r.key)):
        if record.distribution != _REFERENCE:
            found[record.algorithm, record.distribution].append(record)
    for (algorithm, distribution), members in sorted(found.items()):
        pairs = tuple(
            (r, references[at])
            for r in members
            if r.time and (at := (r.algorithm, r.n, r.q, r.k)) in references
        )
        failed = tuple(r for r in members if not r.time)
        if pairs or failed:
            table.setdefault(algorithm, {})[distribution] = Cell(pairs, failed)
    any_pair = any(cell.pairs for row in table.values() for cell in row.values())
    return table if any_pair else {}


def _figure(head: slices.Slice, table: Table) -> Figure:
    distributions = sorted({name for row in table.values() for name in row})
    members = [
        r
        for row in table.values()
        for cell in row.values()
        for r in (*(x for pair in cell.pairs for x in pair), *cell.failed)
    ]
    notes = Notes(
        {name: [r for c in row.values() for r in c.failed] for name, row in table.items()}
    )
    left = 0.15 + max(style.width(style.literal(name), 7.0) for name in table)
    width = _WIDTH * len(distributions)
    grid = Grid(1, 1, width, _HEIGHT * len(table), left, _ABOVE, 0.05, 0.0, 0.1)
    page = Page(
        "Time on other inputs over that on uniform rows",
        head.title(),
        _KEY,
        grid,
        [
            "Geometric mean over the problems (n, Q, k), in brackets the largest ratio of one.",
            *notes.lines(),
        ],
        footer(list(dict.fromkeys(members))),
        least_width=6.0,
    )
    means = [cell.mean for row in table.values() for cell in row.values() if cell.pairs]
    extent = max(1, math.ceil(max(abs(math.log2(m)) for m in means)))
    colours = ScalarMappable(Normalize(-extent, extent), style.SPEEDUP_MAP)
    _key(page, colours, extent)
    axes = page.axes(page.panels[0])
    for y, (name, row) in enumerate(table.items()):
        for x, distribution in enumerate(distributions):
            if distribution in row:
                _cell(axes, (x, y), row[distribution], colours, name, notes)
    _ticks(axes, distributions, list(table))
    return page.figure


def _cell(
    axes: Axes, at: tuple[int, int], cell: Cell, colours: ScalarMappable, name: str, notes: Notes
) -> None:
    x, y = at
    face: tuple[float, float, float] | str = "#f2f2f2"
    hatch, ink, text = "////", style.INK, ""
    if cell.pairs:
        red, green, blue, _ = colours.to_rgba(-math.log2(cell.mean))
        face, hatch = (red, green, blue), ""
        ink = "white" if 0.299 * red + 0.587 * green + 0.114 * blue < 0.5 else style.INK
        text = f"{cell.mean:.2f} ({max(cell.ratios()):.2f})"
    numbers = sorted({notes.number(name, r) or 0 for r in cell.failed})
    if numbers:
        text = f"{text} n/a {','.join(str(n) for n in numbers)}".strip()
    axes.add_patch(
        Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=face, hatch=hatch, edgecolor="white", lw=0.8)
    )
    label = axes.text(x, y, text, size=6, color=ink, ha="center", va="center_baseline")
    if not cell.pairs:
        label.set_bbox({"facecolor": "#f2f2f2", "edgecolor": "none", "pad": 1.0})


def _ticks(axes: Axes, distributions: Sequence[str], algorithms: Sequence[str]) -> None:
    axes.set_xlim(-0.5, len(distributions) - 0.5)
    axes.set_ylim(len(algorithms) - 0.5, -0.5)
    axes.grid(visible=False)
    axes.tick_params(length=0)
    axes.xaxis.tick_top()
    axes.set_xticks(range(len(distributions)), [d.replace("_", " ") for d in distributions])
    axes.set_yticks(range(len(algorithms)), [style.literal(a) for a in algorithms])


def _key(page: Page, colours: ScalarMappable, extent: int) -> None:
    bar = page.axes(Box(page.key.left + 0.15, page.key.top, 2.2, 0.11))
    page.figure.colorbar(colours, cax=bar, orientation="horizontal")
    step = math.ceil(extent / 4)
    ticks = sorted({sign * i for i in range(0, extent + 1, step) for sign in (-1, 1)})
    # The colour scale of speed-ups: vermillion means slower in every figure.
    bar.set_xticks(ticks, [f"{2**-t}×" if t <= 0 else f"1/{2**t}" for t in ticks])
    bar.tick_params(labelsize=6.5, pad=1.5)


def _rows(table: Table) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for algorithm, row in table.items():
        for distribution, cell in row.items():
            references = {(r.n, r.q, r.k): reference for r, reference in cell.pairs}
            for record in (*(r for r, _ in cell.pairs), *cell.failed):
                reference = references.get((record.n, record.q, record.k))
                timed = record.time and reference and reference.time
                rows.append(
                    {
                        "algorithm": algorithm,
                        "distribution": distribution,
                        "n": record.n,
                        "q": record.q,
                        "k": record.k,
                        "ratio": record.time.median / reference.time.median if timed else "",
                        "status": record.status,
                        "reason": record.reason,
                        "key": record.key,
                        "baseline_key": reference.key if reference else "",
                    }
                )
    return rows
