"""Draws the figures of an experiment from one source; each figure's entry names its kind.

`lines` draws the papers' curves, `table` a table of times and published times, `stages` the time of
a k-NN graph by stage, `spread` the scatter of many trials, `ladder` what each of a row of variants
gains, `searches` bars of searches in metric indexes. Kinds of `plots.figures` may also be named;
they get only the experiment's records.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from plots import figures, line_panels, slices, style
from plots.errors import Failure, PlotError
from plots.figures import Drawing
from plots.records import Record
from plots.reproduce import searches_figure, stages, tables
from plots.reproduce.cells import (
    AXES,
    At,
    Cells,
    Missing,
    Pair,
    along,
    best_of_family,
    choose,
    coordinate,
    pairs,
)
from plots.reproduce.library import Source
from plots.reproduce.manifest import Experiment, FigureSpec, Table, check_keys, size
from plots.words import amount_of

_Y_LABELS = {
    "speed-up": "speed-up",
    "improvement": "improvement (original / optimised time)",
    "time": "median time of all Q rows",
    "time per query": "median time per query",
    "normalised time": "time over the longest",
}
_X_LABELS = {"n": "n, elements of a row", "q": "Q, rows", "k": "k", "log2(n/Q)": "log₂(n/Q)"}
_PANEL_KEYS = ("title", "of", "over", "over_where", "where", "lines")
_STAR_KEYS = ("panel", "x", "y", "label")


def draw(experiment: Experiment, figure: FigureSpec, source: Source) -> list[Drawing]:
    """Draw one figure; raises Missing if the record lacks cells."""
    style.apply()
    context = f"{experiment.id}: figure {figure.name or figure.kind}"
    base = "-".join(part for part in (experiment.id, figure.name, source.machine) if part)
    where = {**experiment.where, **figure.ask.get("where", {})}
    if figure.kind == "searches":
        return _named(base, [searches_figure.draw(experiment, figure, source.searches, context)], source)
    records = choose(source.records, where, context)
    if figure.kind == "stages":
        return _named(base, [stages.draw(experiment, source)], source)
    if not records:
        raise Missing(f"no cell with {_words(where)}" if where else "no cell")
    own: dict[str, Callable[[], Drawing]] = {
        "lines": lambda: _lines(experiment, figure, source, records, context),
        "table": lambda: tables.times(experiment, figure, records, context),
        "spread": lambda: tables.spread(experiment, records),
        "ladder": lambda: tables.ladder(experiment, figure, records, context),
    }
    if figure.kind in own:
        return _named(base, [own[figure.kind]()], source)
    return _named(base, _general(experiment, figure, records, [*own, "searches", "stages"], context), source)


def _general(
    experiment: Experiment,
    figure: FigureSpec,
    records: list[Record],
    others: Sequence[str],
    context: str,
) -> list[Drawing]:
    """Draw a kind of `plots.figures`; `others` are the kinds that a message names beside them."""
    kinds = figures.registry()
    if figure.kind not in kinds:
        names = ", ".join(sorted([*others, *kinds]))
        message = f"{context}: no kind is called {figure.kind!r}; there are {names}"
        raise PlotError(Failure.INPUT, message)
    ending = str(figure.ask.get("ending", ""))
    if "algorithms" in figure.ask:
        wanted = set(Cells(records).names(figure.ask["algorithms"]))
        records = [record for record in records if record.algorithm in wanted]
    records = best_of_family(records, figure.ask.get("families", ()))
    every = kinds[figure.kind].draw(records, figures.Options())
    drawings = [drawing for drawing in every if drawing.name.endswith(ending)]
    if not drawings:
        raise Missing(f"no cells that a figure of kind {figure.kind} needs")
    for drawing in drawings:
        # The kinds of `plots.figures` know no experiments; a page's first text is its title.
        title = drawing.figure.texts[0]
        title.set_text(f"{experiment.id}  {title.get_text()}")
    return drawings


def _named(base: str, drawings: Sequence[Drawing], source: Source) -> list[Drawing]:
    """Name drawings after the experiment; distinguish several ones by an appended part."""
    named = []
    for drawing in drawings:
        rest = f"-{_short(drawing.name)}" if len(drawings) > 1 else ""
        named.append(drawing._replace(name=base + rest, source=source.describe()))
    return named


def _short(name: str) -> str:
    """Return a slice's file name without the parts that are equal in all configs here."""
    words = name.split("-", 1)[1]
    return re.sub(r"-?(float32|int32|smallest|values_and_indices)\b", "", words).strip("-")


def _words(where: Table) -> str:
    return ", ".join(f"{key} = {value}" for key, value in where.items())


def _lines(
    experiment: Experiment, figure: FigureSpec, source: Source, records: list[Record], context: str
) -> Drawing:
    x = along(figure.ask.get("x", "n"), context)
    y = figure.ask.get("y", "time")
    if y not in _Y_LABELS:
        message = f"{context}: no y is called {y!r}; there are {', '.join(_Y_LABELS)}"
        raise PlotError(Failure.INPUT, message)
    panels: dict[str, line_panels.Lines] = {}
    lacking: list[str] = []
    for panel in figure.ask.get("panels", ()):
        check_keys(panel, _PANEL_KEYS, f"{context}: panel")
        lines = _panel(panel, figure, x, y, records, source, experiment, lacking, context)
        if lines:
            panels[panel["title"]] = lines
    points = [p for lines in panels.values() for ps in lines.values() for p in ps]
    if not any(p.y is not None for p in points):
        raise Missing(_brief(lacking) or "no cell with a time")
    unit, length = _unit(y, points)
    panels = {title: _scaled(lines, length) for title, lines in panels.items()}
    sheet = line_panels.Sheet(
        f"{experiment.id}  {figure.ask.get('title', experiment.title)}",
        _subtitle(experiment, records),
        panels,
        _X_LABELS[x],
        _Y_LABELS[y] + (f" ({unit})" if unit else ""),
        x_scale=figure.ask.get("x_scale", "linear" if x == "log2(n/Q)" else "log2"),
        stars=_stars(figure, panels, context),
        notes=[
            *_slice_note(source),
            *_choices(figure, source.records),
            *line_panels.coinciding(panels),
            *([f"Missing: {_brief(lacking)}."] if lacking else []),
        ],
        order=_order(figure, panels),
    )
    return Drawing("", line_panels.draw(sheet), line_panels.rows(sheet))


def _unit(y: str, points: Sequence[line_panels.Point]) -> tuple[str, float]:
    """Return the unit of a figure's y, and its length in what the points have."""
    values = [p.y for p in points if p.y is not None]
    if y == "normalised time":
        return "", max(values)
    return style.time_unit(values) if y.startswith("time") else ("", 1.0)


def _order(figure: FigureSpec, panels: Mapping[str, line_panels.Lines]) -> tuple[str, ...]:
    """Return the labels in the order of the key: by k, or as the experiment lists them."""
    if figure.ask.get("by") == "k":
        return tuple(sorted({label for lines in panels.values() for label in lines}, key=_natural))
    listed = [line["label"] for p in figure.ask.get("panels", ()) for line in p.get("lines", ())]
    return tuple(dict.fromkeys(listed))


def _brief(lacking: Sequence[str]) -> str:
    """Return what is lacking in a line: two reasons, and how many more there are."""
    reasons = list(dict.fromkeys(lacking))
    more = f"; and {len(reasons) - 2} more like these" if len(reasons) > 2 else ""
    return "; ".join(reasons[:2]) + more


def _choices(figure: FigureSpec, records: Sequence[Record]) -> list[str]:
    """Return notes on entries that name several algorithms, of which the fastest is drawn."""
    cells = Cells(records)
    asked: list[Sequence[str]] = []
    for panel in figure.ask.get("panels", ()):
        asked += [panel.get("of", ()), panel.get("over", ())]
        asked += [line["of"] for line in panel.get("lines", ())]
    return tables.chosen(cells, asked)


def _panel(
    panel: Table,
    figure: FigureSpec,
    x: str,
    y: str,
    records: Sequence[Record],
    source: Source,
    experiment: Experiment,
    lacking: list[str],
    context: str,
) -> dict[str, list[line_panels.Point]]:
    cells = Cells(choose(records, panel.get("where", {}), context))
    over = Cells(
        choose(
            source.records,
            {**experiment.where, **panel.get("where", {}), **panel.get("over_where", {})},
            context,
        )
    )
    lines: dict[str, list[line_panels.Point]] = {}
    wanted = panel.get("lines") or [{"label": "", "of": panel.get("of", ())}]
    for line in wanted:
        found = _compared(cells, over, line["of"], panel.get("over"), lacking, y)
        for at, cell, other in sorted(found, key=lambda f: (f[0][2], coordinate(f[0], x), f[0])):
            label = f"k = {at[2]}" if figure.ask.get("by") == "k" else line["label"]
            lines.setdefault(label, []).append(_point(at, cell, other, x, y))
    return lines


def _compared(
    cells: Cells,
    over: Cells,
    of: Sequence[str],
    by: Sequence[str] | None,
    lacking: list[str],
    y: str,
) -> list[tuple[At, Record, Record | None]]:
    problems = cells.problems(of)
    if not problems:
        lacking.append(f"no cell of {', '.join(of)}")
    if "time" in y:
        return [(at, cell, None) for at in problems if (cell := cells.best(of, at))]
    if by is None:
        return []
    found = pairs(cells, over, of, by)
    if len(found) < len(problems):
        count = f"{len(problems) - len(found)} of {amount_of(len(problems), 'point')}"
        lacking.append(f"{count} without a cell of {', '.join(by)} to compare {', '.join(of)} with")
    return [(pair.at, pair.cell, pair.over) for pair in found]


def _point(at: At, cell: Record, over: Record | None, x: str, y: str) -> line_panels.Point:
    place = coordinate(at, x)
    if over is not None:
        pair = Pair(at, cell, over)
        return line_panels.Point(place, pair.ratio, *pair.interval, (cell, over))
    if cell.time is None:
        return line_panels.Point(place, None, 0, 0, (cell,))
    queries = cell.q if y == "time per query" else 1
    time = cell.time
    return line_panels.Point(
        place, time.median / queries, time.low / queries, time.high / queries, (cell,)
    )


def _scaled(lines: line_panels.Lines, length: float) -> dict[str, list[line_panels.Point]]:
    return {
        label: [
            p
            if p.y is None
            else replace(p, y=p.y / length, low=p.low / length, high=p.high / length)
            for p in points
        ]
        for label, points in lines.items()
    }


def _stars(
    figure: FigureSpec, panels: Mapping[str, object], context: str
) -> list[line_panels.Star]:
    stars = []
    for star in figure.ask.get("stars", ()):
        check_keys(star, _STAR_KEYS, f"{context}: star")
        if star["panel"] in panels:
            x = float(size(star["x"], context)) if "x" in star else None
            stars.append(line_panels.Star(star["panel"], x, float(star["y"]), star["label"]))
    return stars


def _subtitle(experiment: Experiment, records: Sequence[Record]) -> str:
    """Return the properties that the cells share."""
    parts = [
        f"{name} = {slices.integer(size(value, experiment.id))}"
        for key, name in (("n", "n"), ("q", "Q"), ("k", "k"), ("nq", "n·Q"))
        if not isinstance(value := experiment.where.get(key, []), list)
    ]
    parts += sorted({style.literal(r.workload) for r in records})
    parts += sorted({f"{r.dtype} {r.payload.replace('_', ' ')}" for r in records})
    return "  |  ".join(parts)


def _slice_note(source: Source) -> list[str]:
    if not source.is_slice:
        return []
    return [
        f"A slice of {', '.join(run.path for run in source.runs)}: its own run is not recorded."
    ]


def _natural(label: str) -> list[object]:
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", label)]


assert set(_X_LABELS) == set(AXES.values())
