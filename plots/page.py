"""The page layout of all figures: head, key, a grid of panels, notes and a footer.

Everything is placed in inches from the top left, with text widths computed beforehand. So nothing
overlaps for any number of panels, series and notes.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from plots import slices, style
from plots.records import Record
from plots.words import amount_of

MARGIN = 0.14
TITLE_SIZE, SUBTITLE_SIZE, NOTE_SIZE, FOOTER_SIZE = 9.0, 7.5, 6.5, 6.0
_TITLE, _LINE, _NOTE, _FOOTER = 0.2, 0.16, 0.125, 0.115  # heights of a line of text
KEY_LINE = 0.165
_KEY_HANDLE = 0.42  # width of a key entry's line and the space after it
_KEY_SIZE = 7.0


class Box(NamedTuple):
    """A rectangle in inches from the page's top left."""

    left: float
    top: float
    width: float
    height: float


@dataclass(frozen=True)
class Grid:
    """Panels of one size, in reading order; lengths in inches."""

    panels: int
    columns: int
    width: float  # of a panel's content
    height: float  # of a panel's content
    left: float  # before the first column, for labels and ticks of y
    above: float  # over each panel, for its title
    below: float  # under each panel, for ticks of x
    foot: float  # under the last row, for the label of x
    gap: float  # between columns

    @property
    def rows(self) -> int:
        """The number of rows of panels."""
        return -(-self.panels // self.columns)

    def box(self, i: int, top: float) -> Box:
        """Return the box of panel i's content; the grid begins at `top`."""
        row, column = divmod(i, self.columns)
        left = MARGIN + self.left + column * (self.width + self.gap)
        return Box(left, top + row * self._pitch() + self.above, self.width, self.height)

    def lowest(self, i: int) -> bool:
        """Tell whether no panel lies under panel i."""
        return i + self.columns >= self.panels

    def total(self) -> tuple[float, float]:
        """Return width and height of the whole grid."""
        width = self.left + self.columns * self.width + (self.columns - 1) * self.gap
        return width, self.rows * self._pitch() + self.foot

    def _pitch(self) -> float:
        return self.above + self.height + self.below


class Page:
    """A figure with its texts; `key` and `panels` are the boxes for the rest."""

    def __init__(
        self,
        title: str,
        subtitle: str,
        key_height: float,
        grid: Grid,
        notes: Sequence[str],
        footer: str,
        least_width: float,
    ) -> None:
        """Write the texts; the page is as wide as grid and title, at least `least_width`."""
        title, subtitle = style.exponents(title), style.exponents(subtitle)
        notes = [style.exponents(note) for note in notes]
        grid_width, grid_height = grid.total()
        title_width = style.width(title, TITLE_SIZE, bold=True)
        self.width = max(grid_width + 2 * MARGIN, title_width + 2 * MARGIN, least_width)
        inner = self.width - 2 * MARGIN
        subtitles = style.wrapped(subtitle, SUBTITLE_SIZE, inner)
        note_lines = [line for n in notes for line in style.wrapped(n, NOTE_SIZE, inner, "     ")]
        footers = style.wrapped(footer, FOOTER_SIZE, inner)

        key_top = MARGIN + _TITLE + _LINE * len(subtitles) + 0.05
        grid_top = key_top + key_height
        notes_top = grid_top + grid_height + 0.04
        footer_top = notes_top + _NOTE * len(note_lines) + (0.1 if note_lines else 0.03)
        self.height = footer_top + _FOOTER * len(footers) + 0.1
        self.figure = Figure(figsize=(self.width, self.height), facecolor="white")
        self.key = Box(MARGIN, key_top, inner, key_height)
        self.panels = [grid.box(i, grid_top) for i in range(grid.panels)]

        self.text(MARGIN, MARGIN, title, TITLE_SIZE, weight="bold")
        self._lines(MARGIN + _TITLE, _LINE, subtitles, SUBTITLE_SIZE, style.MUTED)
        self._lines(notes_top, _NOTE, note_lines, NOTE_SIZE, style.INK)
        self._lines(footer_top, _FOOTER, footers, FOOTER_SIZE, style.MUTED)
        self._rule(footer_top - 0.03)

    def axes(self, box: Box) -> Axes:
        """Add axes that fill a box."""
        bottom = 1 - (box.top + box.height) / self.height
        return self.figure.add_axes(
            (box.left / self.width, bottom, box.width / self.width, box.height / self.height)
        )

    def text(self, left: float, top: float, text: str, size: float, **properties: Any) -> None:
        """Write a line of text whose top left corner is given in inches."""
        self.figure.text(
            left / self.width,
            1 - top / self.height,
            text,
            size=size,
            va="top",
            **properties,
        )

    def legend(self, box: Box, entries: Sequence[tuple[Artist, str]], columns: int) -> None:
        """Draw the key of series into a box, column by column."""
        self.figure.legend(
            [handle for handle, _ in entries],
            [style.literal(style.exponents(label)) for _, label in entries],
            loc="upper left",
            bbox_to_anchor=(box.left / self.width, 1 - box.top / self.height),
            bbox_transform=self.figure.transFigure,
            ncols=columns,
            fontsize=_KEY_SIZE,
            borderpad=0,
            borderaxespad=0,
            handlelength=2.8,
            handletextpad=0.7,
            columnspacing=1.6,
            labelspacing=(KEY_LINE * 72 - _KEY_SIZE) / _KEY_SIZE - 0.24,
        )

    def _lines(
        self, top: float, pitch: float, lines: Sequence[str], size: float, colour: str
    ) -> None:
        for i, line in enumerate(lines):
            self.text(MARGIN, top + i * pitch, line, size, color=colour)

    def _rule(self, top: float) -> None:
        y = 1 - top / self.height
        ends = [MARGIN / self.width, 1 - MARGIN / self.width]
        self.figure.add_artist(
            Line2D(ends, [y, y], color=style.GRID, linewidth=0.6, transform=self.figure.transFigure)
        )


def map_ticks(
    axes: Axes, n: Sequence[int], k: Sequence[int], *, leftmost: bool, lowest: bool
) -> None:
    """Label a map with a column for each n and a row for each k; outer panels name the axes."""
    axes.set_xlim(-0.5, len(n) - 0.5)
    axes.set_ylim(-0.5, len(k) - 0.5)
    axes.grid(visible=False)
    axes.tick_params(length=0, labelleft=leftmost)
    axes.set_xticks(range(len(n)), [slices.integer(value) for value in n])
    axes.set_yticks(range(len(k)), [slices.integer(value) for value in k])
    if lowest:
        axes.set_xlabel("n, elements of a row", labelpad=2)
    if leftmost:
        axes.set_ylabel("k", labelpad=3)


def key_columns(labels: Iterable[str], width: float) -> int:
    """Return how many columns of a key fit into a width in inches."""
    widest = max(style.width(style.literal(label), _KEY_SIZE) for label in labels)
    return max(1, int((width + 0.15) / (widest + _KEY_HANDLE + 0.15)))


def footer(records: Sequence[Record]) -> str:
    """Return the line with the runs of a figure's cells and the counts of their statuses."""
    runs = sorted({r.run for r in records}, key=lambda run: run.number)
    # Runs of one config have one name; their folders tell them apart.
    alike = len({r.name for r in runs}) < len(runs)
    called = slices.run_names(runs) if alike else {r: r.name for r in runs}
    names = [called[r] + ("" if r.state == "complete" else f" ({r.state})") for r in runs]
    commits = dict.fromkeys(
        (r.commit[:7] or "unknown") + (" dirty" if r.dirty else "") for r in runs
    )
    machines = sorted({r.machine for r in records})
    failed = Counter(r.status for r in records if r.status != "ok")
    cells = f"{len(records) - failed.total()} of {amount_of(len(records), 'cell')} ok"
    if failed:
        cells += ": " + ", ".join(
            f"{count} {_words(name)}" for name, count in sorted(failed.items())
        )
    parts = (
        f"{'run' if len(runs) == 1 else 'runs'} {', '.join(names)}",
        ", ".join(machines),
        f"git {', '.join(commits)}",
        cells,
    )
    return style.literal("   |   ".join(parts))


class Notes:
    """Numbers the failures of each series, and lists what each number means."""

    def __init__(self, series: Mapping[str, Sequence[Record]]) -> None:
        """Give each (series, status) other than ok its number, in order."""
        self._reasons: dict[tuple[str, str], dict[str, None]] = {}
        for label, records in series.items():
            for record in sorted(records, key=lambda r: (r.status, r.k, r.n, r.key)):
                if record.time is None:
                    reasons = self._reasons.setdefault((label, record.status), {})
                    reasons[record.reason] = None
        self._numbers = {failure: i for i, failure in enumerate(self._reasons, 1)}

    def number(self, label: str, record: Record) -> int | None:
        """Return the number of the note for a record of a series; None if the record has a time."""
        return self._numbers.get((label, record.status))

    def lines(self) -> list[str]:
        """Return the notes, one line each, with at most two reasons."""
        lines = []
        for (label, status), reasons in self._reasons.items():
            named = "; ".join([reason for reason in reasons if reason][:2])
            more = f"; and {len(reasons) - 2} more, see the CSV" if len(reasons) > 2 else ""
            text = f"n/a {self._numbers[label, status]}:  {label}, {_words(status)}"
            lines.append(style.literal(f"{text}: {named}{more}" if named else text))
        return lines


def _words(status: str) -> str:
    return status.replace("_", " ")
