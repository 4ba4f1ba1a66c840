"""The fastest algorithm of each (n, k), one panel for each Q.

A cell shows the letter and colour of its winner, and the time of the second over the winner's. A
dot, which the key explains, marks overlapping 95 % intervals: the order of the two is then open. A
cell that no algorithm solved, or that was not in the config, is hatched, with the number of a note.
"""

import string
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from plots import slices, style
from plots.figures import Drawing, Options
from plots.page import KEY_LINE, Grid, Page, footer, key_columns, map_ticks
from plots.records import Record

NAME = "winner"
DESCRIPTION = (
    "the fastest algorithm over n and k, and how many times as long the second takes; a panel for "
    "each Q (two or more algorithms)"
)

_WIDTH, _HEIGHT = 0.46, 0.27  # of a cell, inches
_LEFT, _ABOVE, _BELOW, _FOOT, _GAP = 0.52, 0.24, 0.22, 0.17, 0.2
_PAGE = 8.4
_ABSENT = "not in the config"
_LETTERS = string.ascii_uppercase + string.ascii_lowercase


@dataclass(frozen=True)
class Cell:
    """The algorithms tried on one (n, k) of a panel: the fastest first, failures last."""

    ranking: tuple[Record, ...]
    failed: tuple[Record, ...]

    @property
    def lead(self) -> float | None:
        """The second's time over the winner's; None if there is no second."""
        times = [r.time.median for r in self.ranking[:2] if r.time]
        return times[1] / times[0] if len(times) == 2 else None

    @property
    def shown(self) -> bool:
        """Whether the winner's interval ends before the second's begins."""
        times = [r.time for r in self.ranking[:2] if r.time]
        return len(times) < 2 or times[0].high < times[1].low


Panel = Mapping[tuple[int, int], Cell]


def draw(records: Sequence[Record], options: Options) -> list[Drawing]:
    """Draw each group of slices (equal except Q) in which two or more algorithms have a time."""
    del options
    groups: dict[slices.Slice, dict[str, Panel]] = defaultdict(dict)
    members: dict[slices.Slice, list[Record]] = defaultdict(list)
    for part, found in slices.cut(records).items():
        if len({r.algorithm for r in found if r.time}) > 1:
            head = part.without_fixed()
            groups[head][f"{part.fixed} = {slices.integer(part.value)}"] = _panel(found)
            members[head] += found
    names = slices.names(NAME, groups)
    return [
        Drawing(names[head], _figure(head, panels, members[head]), _rows(panels))
        for head, panels in groups.items()
    ]


def _panel(records: Sequence[Record]) -> Panel:
    cells: dict[tuple[int, int], list[Record]] = defaultdict(list)
    for record in records:
        cells[record.n, record.k].append(record)
    return {
        at: Cell(
            tuple(
                sorted(
                    (r for r in tried if r.time),
                    key=lambda r: (r.time.median if r.time else 0, r.algorithm, r.key),
                )
            ),
            tuple(sorted((r for r in tried if not r.time), key=lambda r: (r.algorithm, r.key))),
        )
        for at, tried in sorted(cells.items())
    }


def _figure(head: slices.Slice, panels: Mapping[str, Panel], members: list[Record]) -> Figure:
    n = sorted({at[0] for panel in panels.values() for at in panel})
    k = sorted({at[1] for panel in panels.values() for at in panel})
    winners = sorted(
        {c.ranking[0].algorithm for panel in panels.values() for c in panel.values() if c.ranking}
    )
    letters = {name: _LETTERS[i % len(_LETTERS)] for i, name in enumerate(winners)}
    colours = {name: style.COLOURS[i % len(style.COLOURS)] for i, name in enumerate(winners)}
    unsolved = _unsolved(panels)
    if any(len(panel) < len(n) * len(k) for panel in panels.values()):
        unsolved[(_ABSENT,)] = None
    grid = _grid(len(panels), len(n), len(k))
    is_open = any(not c.shown for panel in panels.values() for c in panel.values() if c.ranking)
    entries = _entries(winners, letters, colours, unsolved, is_open)
    columns = key_columns([text for _, text in entries], max(grid.total()[0], 6.2))
    page = Page(
        "The fastest algorithm",
        head.title(),
        KEY_LINE * -(-len(entries) // columns) + 0.08,
        grid,
        _notes(unsolved),
        footer(members),
        least_width=6.4,
    )
    page.legend(page.key, entries, columns)
    for i, (title, panel) in enumerate(panels.items()):
        box = page.panels[i]
        page.text(box.left, box.top - 0.16, title, 7.0, weight="bold")
        axes = page.axes(box)
        _fill(axes, panel, n, k, letters, colours, list(unsolved))
        map_ticks(axes, n, k, leftmost=i % grid.columns == 0, lowest=grid.lowest(i))
    return page.figure


def _fill(
    axes: Axes,
    panel: Panel,
    n: Sequence[int],
    k: Sequence[int],
    letters: Mapping[str, str],
    colours: Mapping[str, str],
    unsolved: Sequence[tuple[str, ...]],
) -> None:
    """Draw the cells of a panel; those without a winner are hatched."""
    for x, at_n in enumerate(n):
        for y, at_k in enumerate(k):
            cell = panel.get((at_n, at_k))
            if cell is not None and cell.ranking:
                name = cell.ranking[0].algorithm
                _winner(axes, (x, y), cell, letters[name], colours[name])
            else:
                why = (_ABSENT,) if cell is None else _why(cell)
                _hatched(axes, (x, y), unsolved.index(why) + 1)


def _grid(panels: int, columns: int, rows: int) -> Grid:
    width = columns * _WIDTH
    fit = max(1, int((_PAGE - _LEFT + _GAP) / (width + _GAP)))
    return Grid(panels, min(fit, panels), width, rows * _HEIGHT, _LEFT, _ABOVE, _BELOW, _FOOT, _GAP)


def _why(cell: Cell) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(
            f"{r.algorithm}, {r.status.replace('_', ' ')}: {r.reason}" for r in cell.failed
        )
    )


def _unsolved(panels: Mapping[str, Panel]) -> dict[tuple[str, ...], None]:
    return {_why(c): None for panel in panels.values() for c in panel.values() if not c.ranking}


def _notes(unsolved: Mapping[tuple[str, ...], None]) -> list[str]:
    notes = ["Number: the time of the second over that of the fastest."]
    for number, reasons in enumerate(unsolved, 1):
        more = f"; and {len(reasons) - 2} more, see the CSV" if len(reasons) > 2 else ""
        notes.append(style.literal(f"n/a {number}:  {'; '.join(reasons[:2])}{more}"))
    return notes


def _entries(
    winners: Sequence[str],
    letters: Mapping[str, str],
    colours: Mapping[str, str],
    unsolved: Mapping[tuple[str, ...], None],
    is_open: bool,
) -> list[tuple[Artist, str]]:
    entries: list[tuple[Artist, str]] = [
        (Patch(facecolor=_tint(colours[name]), linewidth=0), f"{letters[name]}  {name}")
        for name in winners
    ]
    if is_open:
        dot = Line2D([], [], marker="o", markersize=2.5, color=style.INK, linestyle="none")
        entries.append((dot, "the first two's 95 % intervals overlap: their order is open"))
    if unsolved:
        hatched = Patch(facecolor="#f2f2f2", hatch="////", edgecolor="white", linewidth=0)
        entries.append((hatched, "no algorithm has a time: see n/a below"))
    return entries


def _tint(colour: str) -> tuple[float, float, float]:
    """Return a light shade of a colour, on which text is legible."""
    red, green, blue = (0.55 + 0.45 * part for part in to_rgb(colour))
    return red, green, blue


def _winner(axes: Axes, at: tuple[int, int], cell: Cell, letter: str, colour: str) -> None:
    x, y = at
    axes.add_patch(
        Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=_tint(colour), edgecolor="white", lw=0.8)
    )
    lead = f" {cell.lead:.3g}×" if cell.lead else ""
    axes.text(x, y, f"{letter}{lead}", size=6, ha="center", va="center_baseline")
    if not cell.shown:
        axes.plot(x + 0.42, y + 0.3, marker="o", markersize=1.7, color=style.INK)


def _hatched(axes: Axes, at: tuple[int, int], number: int) -> None:
    x, y = at
    axes.add_patch(
        Rectangle(
            (x - 0.5, y - 0.5), 1, 1, facecolor="#f2f2f2", hatch="////", edgecolor="white", lw=0.8
        )
    )
    label = axes.text(x, y, str(number), size=6, ha="center", va="center_baseline")
    label.set_bbox({"facecolor": "#f2f2f2", "edgecolor": "none", "pad": 1.0})


def _rows(panels: Mapping[str, Panel]) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for title, panel in panels.items():
        for cell in panel.values():
            best = cell.ranking[0].time if cell.ranking else None
            for rank, record in enumerate((*cell.ranking, *cell.failed), 1):
                timed = record.time and best
                rows.append(
                    {
                        "panel": title.replace("$", ""),
                        "n": record.n,
                        "q": record.q,
                        "k": record.k,
                        "rank": rank if timed else "",
                        "algorithm": record.algorithm,
                        "median_ns": record.time.median if record.time else "",
                        "over_best": record.time.median / best.median if timed else "",
                        "status": record.status,
                        "reason": record.reason,
                        "key": record.key,
                    }
                )
    return rows
