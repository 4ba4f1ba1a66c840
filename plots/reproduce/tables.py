"""Draws tables as figures: times with published ones, the scatter of trials, ladders of variants."""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from matplotlib.patches import Rectangle

from plots import style
from plots.figures import Drawing
from plots.page import Box, Grid, Page, footer
from plots.records import Record
from plots.reproduce.cells import At, Cells, Missing, choose, coordinate
from plots.reproduce.manifest import Experiment, FigureSpec, Table, check_keys

_CELL_WIDTH, _ROW, _HEAD = 0.72, 0.2, 0.24  # inches
_SIZE = 6.5


def times(
    experiment: Experiment, figure: FigureSpec, records: list[Record], context: str
) -> Drawing:
    """Draw a table of times in seconds; the paper's are in brackets, failures hatched with a note.

    A row shows the time of its fastest algorithm, or of a `stage` other than selection in that
    cell's record. `{threads}` in its label is replaced by the record's number of threads.
    """
    columns = figure.ask["columns"]
    notes: dict[str, int] = {}
    entries = [_entries(row, columns, records, context) for row in figure.ask["rows"]]
    found = [entry.cell for line in entries for entry in line if entry.cell]
    used = list({r.key: r for r in found}.values())
    selections = [row["of"] for row in figure.ask["rows"] if not row.get("stage")]
    grid = [[(entry.text(notes), bool(entry.why)) for entry in line] for line in entries]
    page = _page(
        experiment,
        [line[0].row for line in entries],
        [column["label"] for column in columns],
        grid,
        "Seconds for all Q rows ± the wider side of the 95 % interval; in brackets the published "
        f"ones, {experiment.paper.hardware}",
        [
            *(style.literal(f"n/a {number}:  {why}") for why, number in notes.items()),
            *map(style.literal, chosen(Cells(records), selections)),
        ],
        used,
    )
    return Drawing("", page.figure, [entry.values() for line in entries for entry in line])


@dataclass(frozen=True)
class _Entry:
    """One entry of a table of times."""

    row: str
    column: str
    cell: Record | None
    seconds: float
    why: str  # why there is no time; "" if there is one
    off: float  # how far the interval reaches, as a share of the time; 0 if it is not shown
    published: str | float  # seconds; "-" if the paper has no number

    def text(self, notes: dict[str, int]) -> str:
        """Return the entry as it is drawn; a reason gets its number in `notes`."""
        shown = f"{self.seconds:.3g}"
        if self.why:
            shown = f"n/a {notes.setdefault(self.why, len(notes) + 1)}"
        shown += f" ±{self.off:.1%}" if self.off else ""
        return shown if self.published == "-" else f"{shown} ({self.published})"

    def values(self) -> dict[str, object]:
        """Return the entry as a row of the CSV."""
        cell = self.cell
        return {
            "row": self.row,
            "column": self.column,
            "seconds": "" if self.why else self.seconds,
            "off": self.off or "",
            "published_s": "" if self.published == "-" else self.published,
            "algorithm": cell.algorithm if cell else "",
            "threads": cell.threads if cell else "",
            "status": _status(cell, self.why),
            "reason": cell.reason if cell else "",
            "key": cell.key if cell else "",
        }


def _entries(
    row: Table, columns: Sequence[Table], records: list[Record], context: str
) -> list[_Entry]:
    """Return the entries of a row, one for each column."""
    check_keys(row, ("label", "of", "stage", "published"), f"{context}: row")
    stage = _stage(row, context)
    cells = [
        _best(Cells(choose(records, column["where"], context)), row["of"]) for column in columns
    ]
    label = _label(row["label"], [cell for cell in cells if cell])
    line = []
    for column, published, cell in zip(columns, row["published"], cells, strict=True):
        seconds, why = _seconds(cell, stage, row["of"])
        off = 0.0 if why or stage else _off(cell)
        line.append(_Entry(label, column["label"], cell, seconds, why, off, published))
    return line


def chosen(cells: Cells, asked: Iterable[Sequence[str]]) -> list[str]:
    """Return notes that name the algorithms of each list, of which the fastest is shown."""
    notes = []
    for names in asked:
        if len(names) > 1 or any("*" in name for name in names):
            found = cells.names(names)
            if len(found) > 1:
                notes.append(f"At each point the fastest of {', '.join(found)}.")
            elif found:
                notes.append(f"Of {', '.join(names)} the record has {found[0]} alone.")
    return list(dict.fromkeys(notes))


# Times in a cell's record other than that of the selection, and their names in notes.
_STAGES = {
    "distances": (lambda inputs: inputs.distances, "the time of the distances"),
    "to_host": (lambda inputs: inputs.to_host, "the time of a copy of the rows to the host"),
}


def _stage(row: dict[str, object], context: str) -> str:
    name = str(row.get("stage", ""))
    if name:
        check_keys({name: 0}, tuple(_STAGES), f"{context}: stage of row {row['label']!r}")
    return name


def _best(cells: Cells, names: Sequence[str]) -> Record | None:
    """Return the fastest record of a row's algorithms in a column; a column has one problem."""
    for at in cells.problems(names):
        if record := cells.best(names, at):
            return record
    return None


def _seconds(cell: Record | None, stage: str, names: Sequence[str]) -> tuple[float, str]:
    """Return a cell's time or that of a stage of its input, else the reason why it is missing."""
    if cell is None:
        return 0.0, f"{' or '.join(names)}: not in the record"
    if stage:
        of, called = _STAGES[stage]
        ns = of(cell.inputs) if cell.inputs else None
        return (0.0, f"{called} is not in this record") if ns is None else (ns / 1e9, "")
    if cell.time is None:
        return 0.0, f"{cell.algorithm}, {cell.status.replace('_', ' ')}: {cell.reason}"
    return cell.time.median / 1e9, ""


def _off(cell: Record | None) -> float:
    """Return how far the 95 % interval reaches from the median, as a share of it."""
    if cell is None or cell.time is None:
        return 0.0
    time = cell.time
    return max(time.high - time.median, time.median - time.low) / time.median


def _status(cell: Record | None, why: str) -> str:
    if cell is None or (why and cell.time is not None):
        return "not in the record"
    return cell.status


def _label(label: str, found: Sequence[Record]) -> str:
    threads = sorted({r.threads for r in found})
    return label.replace("{threads}", "/".join(map(str, threads)) or "p")


def spread(experiment: Experiment, records: list[Record]) -> Drawing:
    """Draw mean and standard deviation of the rounds of each cell."""
    timed = [r for r in records if r.time and len(r.time.rounds) > 1]
    rows: list[dict[str, object]] = []
    grid, labels = [], []
    for r in sorted(timed, key=lambda r: (r.algorithm, r.n, r.q, r.k, r.key)):
        assert r.time is not None
        mean, deviation = scatter(r)
        labels.append(f"{r.algorithm}, n = {r.n}, Q = {r.q}, k = {r.k}")
        grid.append(
            [
                (f"{len(r.time.rounds)}", False),
                (f"{mean / 1e3:.5g}", False),
                (f"{deviation / 1e3:.3g}", False),
                (f"{deviation / mean:.3%}", False),
                ("n/a", True) if r.data_sets is None else (f"{r.data_sets}", False),
            ]
        )
        rows.append(
            {
                "algorithm": r.algorithm,
                "n": r.n,
                "q": r.q,
                "k": r.k,
                "trials": len(r.time.rounds),
                "mean_ns": mean,
                "deviation_ns": deviation,
                "relative": deviation / mean,
                "data_sets": "" if r.data_sets is None else r.data_sets,
                "key": r.key,
            }
        )
    if not rows:
        raise Missing("no cell with the times of two or more rounds")
    columns = ["trials", "mean (µs)", "s.d. (µs)", "s.d. / mean", "data sets"]
    page = _page(experiment, labels, columns, grid, "Of the medians of rounds", [], timed)
    return Drawing("", page.figure, rows)


def scatter(record: Record) -> tuple[float, float]:
    """Return mean and standard deviation of a timed record's rounds, in ns."""
    assert record.time is not None
    rounds = record.time.rounds
    return statistics.fmean(rounds), statistics.stdev(rounds)


def ladder(
    experiment: Experiment, figure: FigureSpec, records: list[Record], context: str
) -> Drawing:
    """Draw how many times as fast each rung of a ladder is as the first, by log2(n/Q) and in all.

    A rung is a row with a `label` and its algorithms, `of`. Numbers are geometric means over the
    problems on which all rungs have a time; a note counts the others. The CSV has every problem.
    """
    cells = Cells(records)
    rungs = figure.ask["rows"]
    for rung in rungs:
        check_keys(rung, ("label", "of"), f"{context}: row")
    tried = sorted({at for rung in rungs for at in cells.problems(rung["of"])})
    climbs = {at: climb for at in tried if (climb := _climb(cells, rungs, at))}
    if not climbs:
        raise Missing("no problem on which all rungs have a time")
    shapes = sorted({coordinate(at, "log2(n/Q)") for at in climbs})
    left_out = len(tried) - len(climbs)
    title = f"{experiment.title}: {figure.ask['title']}" if "title" in figure.ask else ""
    ks = ", ".join(map(str, sorted({at[2] for at in climbs})))
    page = _page(
        replace(experiment, title=title or experiment.title),
        [rung["label"] for rung in rungs],
        [*(f"log₂(n/Q) = {shape:g}" for shape in shapes), "all", "this change", "of one problem"],
        [_rung(i, shapes, climbs) for i in range(len(rungs))],
        f"Times as fast as {rungs[0]['label']}: geometric means over k = {ks}",
        [f"{left_out} of {len(tried)} problems are left out: a rung has no time there."]
        if left_out
        else [],
        [record for climb in climbs.values() for record in climb],
    )
    return Drawing("", page.figure, _rungs(rungs, climbs))


Climbs = Mapping[At, Sequence[Record]]  # a record of each rung, by problem


def _rung(i: int, shapes: Sequence[float], climbs: Climbs) -> list[tuple[str, bool]]:
    """Return the cells of a rung's row."""
    groups = [[c for at, c in climbs.items() if coordinate(at, "log2(n/Q)") == s] for s in shapes]
    means = [_mean([_gain(c, 0, i) for c in group]) for group in (*groups, climbs.values())]
    texts = [f"{mean:.2f}" for mean in means]
    if i == 0:
        return [(text, False) for text in (*texts, "", "")]
    steps = [_gain(c, i - 1, i) for c in climbs.values()]
    texts += [f"{_mean(steps):.2f}", f"{min(steps):.2f} to {max(steps):.2f}"]
    return [(text, False) for text in texts]


def _climb(cells: Cells, rungs: Sequence[Table], at: At) -> list[Record]:
    """Return a problem's record of each rung; none if a rung has no time."""
    found = [record for rung in rungs if (record := cells.best(rung["of"], at)) and record.time]
    return found if len(found) == len(rungs) else []


def _gain(climb: Sequence[Record], slow: int, fast: int) -> float:
    before, after = climb[slow].time, climb[fast].time
    assert before and after
    return before.median / after.median


def _mean(ratios: Sequence[float]) -> float:
    return math.exp(statistics.fmean(math.log(ratio) for ratio in ratios))


def _rungs(rungs: Sequence[Table], climbs: Climbs) -> list[dict[str, object]]:
    """Return the rows of the CSV."""
    return [
        {
            "rung": rung["label"],
            "algorithm": climb[i].algorithm,
            "n": at[0],
            "q": at[1],
            "k": at[2],
            "times_as_fast": _gain(climb, 0, i),
            "this_change": _gain(climb, max(i - 1, 0), i),
            "key": climb[i].key,
            "baseline_key": climb[0].key,
        }
        for i, rung in enumerate(rungs)
        for at, climb in climbs.items()
    ]


def _page(
    experiment: Experiment,
    labels: Sequence[str],
    columns: Sequence[str],
    grid: Sequence[Sequence[tuple[str, bool]]],
    subtitle: str,
    notes: Sequence[str],
    records: Sequence[Record],
) -> Page:
    texts = [*columns, *(text for line in grid for text, _ in line)]
    wide = max(_CELL_WIDTH, 0.12 + max(style.width(style.literal(text), _SIZE) for text in texts))
    left = 0.15 + max(style.width(style.literal(label), _SIZE) for label in labels)
    box = Grid(1, 1, wide * len(columns), _ROW * len(labels) + _HEAD, left, 0.05, 0.05, 0.0, 0.1)
    page = Page(
        style.literal(f"{experiment.id}  {experiment.title}"),
        subtitle,
        0.0,
        box,
        notes,
        footer(records),
        least_width=6.0,
    )
    _fill(page, page.panels[0], labels, columns, grid, wide, left)
    return page


def _fill(
    page: Page,
    box: Box,
    labels: Sequence[str],
    columns: Sequence[str],
    grid: Sequence[Sequence[tuple[str, bool]]],
    wide: float,
    left: float,
) -> None:
    axes = page.axes(box)
    height = _ROW * len(labels)
    axes.set_xlim(0, wide * len(columns))
    axes.set_ylim(height, -_HEAD)
    axes.set_axis_off()
    for x, column in enumerate(columns):
        middle = (x + 0.5) * wide
        axes.text(middle, -0.08, style.exponents(column), size=_SIZE, weight="bold", ha="center", va="bottom")
    for y, (label, line) in enumerate(zip(labels, grid, strict=True)):
        at = (y + 0.5) * _ROW
        axes.text(0.05 - left, at, style.literal(label), size=_SIZE, va="center", clip_on=False)
        axes.plot(
            [-left, wide * len(columns)], [y * _ROW] * 2, color=style.GRID, lw=0.5, clip_on=False
        )
        for x, (text, hatched) in enumerate(line):
            if hatched:
                axes.add_patch(
                    Rectangle(
                        (x * wide + 0.02, y * _ROW + 0.02),
                        wide - 0.04,
                        _ROW - 0.04,
                        facecolor="#f2f2f2",
                        hatch="////",
                        edgecolor="white",
                        lw=0,
                    )
                )
            drawn = axes.text((x + 0.5) * wide, at, text, size=_SIZE, ha="center", va="center")
            if hatched:
                drawn.set_bbox({"facecolor": "#f2f2f2", "edgecolor": "none", "pad": 0.6})
