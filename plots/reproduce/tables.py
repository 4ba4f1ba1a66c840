"""Tables drawn as figures: times beside published ones, and the scatter of many trials."""

import statistics
from collections.abc import Iterable, Sequence

from matplotlib.patches import Rectangle

from plots import style
from plots.figures import Drawing
from plots.page import Box, Grid, Page, footer
from plots.records import Record
from plots.reproduce.cells import Cells, Missing, choose
from plots.reproduce.manifest import Experiment, FigureSpec, check_keys

_CELL_WIDTH, _ROW, _HEAD = 0.72, 0.2, 0.24  # inches
_SIZE = 6.5


def times(
    experiment: Experiment, figure: FigureSpec, records: list[Record], context: str
) -> Drawing:
    """Draw a table of times in seconds, the paper's in brackets, failures hatched with a note."""
    columns = figure.ask["columns"]
    notes: dict[str, int] = {}
    grid: list[list[tuple[str, bool]]] = []
    rows: list[dict[str, object]] = []
    used: dict[str, Record] = {}
    for row in figure.ask["rows"]:
        check_keys(row, ("label", "of", "less", "published"), f"{context}: row")
        line = []
        for column, published in zip(columns, row["published"], strict=True):
            cells = Cells(choose(records, column["where"], context))
            found = _cell(cells, row)
            cell = found[0] if found else None
            seconds = _seconds(found)
            used |= {r.key: r for r in found}
            text, hatched = "not in the record", True
            if seconds is not None:
                text, hatched = f"{seconds:.3g}", False
            elif cell is not None:
                failed = next((r for r in found if r.time is None), cell)
                why = f"{failed.algorithm}, {failed.status.replace('_', ' ')}: {failed.reason}"
                text = f"n/a {notes.setdefault(why, len(notes) + 1)}"
            elif not found:
                why = f"{' or '.join(row['of'])}: not in the record"
                text = f"n/a {notes.setdefault(why, len(notes) + 1)}"
            line.append((f"{text} ({published})", hatched))
            rows.append(
                {
                    "row": row["label"],
                    "column": column["label"],
                    "seconds": "" if seconds is None else seconds,
                    "published_s": "" if published == "-" else published,
                    "algorithm": cell.algorithm if cell else "",
                    "status": cell.status if cell else "not in the record",
                    "reason": cell.reason if cell else "",
                    "key": cell.key if cell else "",
                    "baseline_key": found[1].key if len(found) > 1 else "",
                }
            )
        grid.append(line)
    page = _page(
        experiment,
        [row["label"] for row in figure.ask["rows"]],
        [column["label"] for column in columns],
        grid,
        f"Seconds for all Q rows; in brackets the published ones, {experiment.paper.hardware}",
        [
            *(style.literal(f"n/a {number}:  {why}") for why, number in notes.items()),
            *map(style.literal, chosen(Cells(records), (row["of"] for row in figure.ask["rows"]))),
        ],
        list(used.values()),
    )
    return Drawing("", page.figure, rows)


def chosen(cells: Cells, asked: Iterable[Sequence[str]]) -> list[str]:
    """Say for each list of several names or a glob which are there: the fastest is shown."""
    notes = []
    for names in asked:
        if len(names) > 1 or any("*" in name for name in names):
            found = cells.names(names)
            if len(found) > 1:
                notes.append(f"At each point the fastest of {', '.join(found)}.")
            elif found:
                notes.append(f"Of {', '.join(names)} the record has {found[0]} alone.")
    return list(dict.fromkeys(notes))


def _cell(cells: Cells, row: dict[str, object]) -> list[Record]:
    """Return the fastest record of a row's algorithms, and what is to be subtracted from it."""
    found = []
    for names in (row["of"], row.get("less", ())):
        for at in cells.problems(names):
            if record := cells.best(names, at):
                found.append(record)
    return found if len(found) == (2 if row.get("less") else 1) else []


def _seconds(found: Sequence[Record]) -> float | None:
    times = [r.time.median / 1e9 for r in found if r.time]
    if not found or len(times) < len(found):
        return None
    return times[0] - sum(times[1:])


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
                "key": r.key,
            }
        )
    if not rows:
        raise Missing("no cell with the times of two or more rounds")
    columns = ["trials", "mean (µs)", "s.d. (µs)", "s.d. / mean"]
    page = _page(experiment, labels, columns, grid, "Of the medians of rounds", [], timed)
    return Drawing("", page.figure, rows)


def scatter(record: Record) -> tuple[float, float]:
    """Return mean and standard deviation of a timed record's rounds, in ns."""
    assert record.time is not None
    rounds = record.time.rounds
    return statistics.fmean(rounds), statistics.stdev(rounds)


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
        axes.text(middle, -0.08, column, size=_SIZE, weight="bold", ha="center", va="bottom")
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
