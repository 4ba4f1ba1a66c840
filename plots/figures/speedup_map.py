"""Speed-up over a baseline as a heat map over (n, k): one panel for each algorithm.

A cell's text is the ratio of medians, so the figure can be read without colours. A dot marks a
ratio whose two 95 % intervals overlap: the difference is not significant. A cell without a time is
hatched, with the number of a note; it is cross-hatched if the baseline has no time. A blank cell
was not in the run.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from plots import slices, style
from plots.baseline import Baseline, default_name
from plots.figures import Drawing, Options
from plots.page import MARGIN, Box, Grid, Notes, Page, footer, map_ticks
from plots.records import Record

NAME = "speedup"
DESCRIPTION = "speed-up over a baseline (--baseline), a heat map over n and k for each algorithm"

_CELL_WIDTH, _CELL_HEIGHT = 0.35, 0.235  # inches
_LEFT, _ABOVE, _BELOW, _FOOT, _GAP = 0.52, 0.24, 0.22, 0.17, 0.14
_PAGE = 8.4  # the width of a grid that is not taller than _TALLEST times its width
_TALLEST = 1.6
_KEY_HEIGHT = 0.46
_TITLE_SIZE = 7.0
_NO_TIME, _NO_BASELINE = "////", "xxxx"


@dataclass(frozen=True)
class Cell:
    """A record and the baseline's record of the same problem."""

    record: Record
    baseline: Record | None

    @property
    def speedup(self) -> float | None:
        """The baseline's median over the record's."""
        if self.record.time is None or self.baseline is None or self.baseline.time is None:
            return None
        return self.baseline.time.median / self.record.time.median

    @property
    def significant(self) -> bool:
        """Whether the two intervals are disjoint."""
        mine, other = self.record.time, self.baseline.time if self.baseline else None
        return bool(mine and other and (mine.high < other.low or other.high < mine.low))


Panels = Mapping[str, Sequence[Cell]]


def draw(records: Sequence[Record], options: Options) -> list[Drawing]:
    """Draw each slice in which an algorithm other than the baseline has a cell to compare."""
    cut: dict[slices.Slice, tuple[str, Panels]] = {}
    for part, members in slices.cut(records).items():
        if not any(r.time for r in members):
            continue
        baseline = Baseline(options.baseline or default_name(members, records), records)
        panels = {
            label: [Cell(record, baseline.of(record)) for record in line]
            for label, line in slices.series(members).items()
            if line[0].algorithm != baseline.name
        }
        if any(cell.speedup for cells in panels.values() for cell in cells):
            cut[part] = (baseline.name, panels)
    names = slices.names(NAME, cut)
    return [
        Drawing(names[part], _figure(part, name, panels), _rows(panels))
        for part, (name, panels) in cut.items()
    ]


def _figure(part: slices.Slice, baseline: str, panels: Panels) -> Figure:
    cells = [cell for panel in panels.values() for cell in panel]
    n, k = sorted({c.record.n for c in cells}), sorted({c.record.k for c in cells})
    notes = Notes({label: [c.record for c in panel] for label, panel in panels.items()})
    compared = [c.record for c in cells] + [c.baseline for c in cells if c.baseline]
    grid = _grid(panels, len(n), len(k))
    page = Page(
        f"Speed-up over {style.literal(baseline)}",
        part.title(),
        _KEY_HEIGHT,
        grid,
        notes.lines(),
        footer(list(dict.fromkeys(compared))),
        least_width=max(6.4, grid.total()[0] + _overhang(panels, grid.width) + 2 * MARGIN),
    )
    extent = max(abs(math.log2(c.speedup)) for c in cells if c.speedup)
    colours = ScalarMappable(Normalize(-_limit(extent), _limit(extent)), style.SPEEDUP_MAP)
    _key(page, colours, cells)
    for i, (label, panel) in enumerate(panels.items()):
        box = page.panels[i]
        page.text(box.left, box.top - 0.16, style.literal(label), _TITLE_SIZE, weight="bold")
        axes = page.axes(box)
        for cell in panel:
            at = (n.index(cell.record.n), k.index(cell.record.k))
            _draw_cell(axes, at, cell, colours, notes.number(label, cell.record))
        map_ticks(axes, n, k, leftmost=i % grid.columns == 0, lowest=grid.lowest(i))
    return page.figure


def _grid(panels: Panels, columns: int, rows: int) -> Grid:
    width = columns * _CELL_WIDTH
    gap = _GAP + _overhang(panels, width)
    fit = max(1, int((_PAGE - _LEFT + gap) / (width + gap)))
    balanced = math.ceil(len(panels) / math.ceil(len(panels) / fit))
    for side_by_side in range(balanced, len(panels) + 1):
        grid = Grid(
            len(panels),
            side_by_side,
            width,
            rows * _CELL_HEIGHT,
            _LEFT,
            _ABOVE,
            _BELOW,
            _FOOT,
            gap,
        )
        if grid.total()[1] <= _TALLEST * grid.total()[0]:
            break
    return grid


def _overhang(panels: Panels, width: float) -> float:
    """Return the excess of the widest title over a panel's width."""
    return max(
        0.0,
        *(style.width(style.literal(label), _TITLE_SIZE, bold=True) - width for label in panels),
    )


def _limit(extent: float) -> float:
    """Return the end of the colour scale, in powers of two."""
    return max(1, math.ceil(extent))


def _draw_cell(
    axes: Axes, at: tuple[int, int], cell: Cell, colours: ScalarMappable, note: int | None
) -> None:
    x, y = at
    face, hatch, text, ink = "#f2f2f2", _NO_TIME, str(note or ""), style.INK
    if cell.speedup:
        red, green, blue, _ = colours.to_rgba(math.log2(cell.speedup))
        dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.5
        face, hatch, text = (red, green, blue), "", ratio(cell.speedup)
        ink = "white" if dark else style.INK
    elif cell.record.time:
        hatch, text = _NO_BASELINE, ""
    axes.add_patch(
        Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=face, hatch=hatch, edgecolor="white", lw=0.8)
    )
    label = axes.text(x, y, text, size=6, color=ink, ha="center", va="center_baseline")
    if note:
        label.set_bbox({"facecolor": "#f2f2f2", "edgecolor": "none", "pad": 1.0})
    if cell.speedup and not cell.significant:
        axes.plot(x + 0.38, y + 0.27, marker="o", markersize=1.7, color=ink, markeredgewidth=0)


def ratio(value: float) -> str:
    """Return a ratio with at least two digits; from 0.001 to 99999 in at most five characters."""
    digits = 3 if value < 0.0995 else 2 if value < 0.995 else 1 if value < 9.95 else 0
    return f"{value:.{digits}f}" if value >= 0.001 else f"{value:.0e}".replace("e-0", "e-")


def _key(page: Page, colours: ScalarMappable, cells: Sequence[Cell]) -> None:
    """Draw the colour scale and the key of the cells' marks."""
    bar = page.axes(Box(page.key.left + 0.15, page.key.top, 2.2, 0.11))
    page.figure.colorbar(colours, cax=bar, orientation="horizontal")
    limit = int(colours.norm.vmax or 1)
    step = math.ceil(limit / 4)
    ticks = sorted({sign * i for i in range(0, limit + 1, step) for sign in (-1, 1)})
    bar.set_xticks(ticks, [f"{2**t}×" if t >= 0 else f"1/{2**-t}" for t in ticks])
    bar.tick_params(labelsize=6.5, pad=1.5)

    dot = Line2D([], [], marker="o", markersize=2.2, linestyle="none", color=style.INK)
    entries: list[tuple[Artist, str]] = []
    if any(c.speedup and not c.significant for c in cells):
        entries.append((dot, "95 % intervals overlap"))
    if any(c.record.time is None for c in cells):
        entries.append((_hatched(_NO_TIME), "no time: see n/a below"))
    if any(c.record.time and not c.baseline for c in cells):
        entries.append((_hatched(_NO_BASELINE), "no time of the baseline"))
    if entries:
        left = page.key.left + 2.65
        page.legend(page.key._replace(left=left), entries, columns=-(-len(entries) // 2))


def _hatched(hatch: str) -> Patch:
    return Patch(facecolor="#f2f2f2", hatch=hatch, edgecolor="white", linewidth=0)


def _rows(panels: Panels) -> list[dict[str, object]]:
    return [
        {
            "series": label,
            "k": cell.record.k,
            "n": cell.record.n,
            "q": cell.record.q,
            "status": cell.record.status,
            "speedup": cell.speedup or "",
            "significant": "" if cell.speedup is None else str(cell.significant).lower(),
            "median_ns": cell.record.time.median if cell.record.time else "",
            "baseline": cell.baseline.algorithm if cell.baseline else "",
            "baseline_median_ns": cell.baseline.time.median
            if cell.baseline and cell.baseline.time
            else "",
            "reason": cell.record.reason,
            "run": cell.record.run.name,
            "key": cell.record.key,
            "baseline_key": cell.baseline.key if cell.baseline else "",
        }
        for label, panel in panels.items()
        for cell in panel
    ]
