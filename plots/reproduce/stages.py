"""Draws the stages of k-NN searches: one bar for each cell with stages."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from plots import style
from plots.figures import Drawing
from plots.page import KEY_LINE, Grid, Page, key_columns
from plots.reproduce.library import Source, StageRecord
from plots.reproduce.manifest import Experiment

# The stages in pipeline order.
_STAGES = ("norms", "threshold", "distance", "selection", "merge", "order", "redo")
_HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\")
_BAR = 0.34  # inches


def draw(experiment: Experiment, source: Source) -> Drawing:
    """Draw one bar for each record, fastest last, with each stage's share of its total."""
    records = sorted(source.stages, key=lambda r: (-_total(r), r.path))
    rows: list[dict[str, object]] = []
    for record in records:
        for stage in _stages(record):
            rows.append(
                {
                    "record": record.path,
                    "algorithm": record.algorithm,
                    "stage": stage,
                    "median_ns": record.stages[stage],
                    "share": record.stages[stage] / _total(record),
                }
            )
    return Drawing("", _figure(experiment, source, records), rows)


def _stages(record: StageRecord) -> list[str]:
    known = [stage for stage in _STAGES if record.stages.get(stage)]
    others = sorted(set(record.stages) - set(_STAGES))
    return [*known, *(stage for stage in others if record.stages[stage])]


def _total(record: StageRecord) -> float:
    return sum(record.stages[stage] for stage in _stages(record))


def _figure(experiment: Experiment, source: Source, records: Sequence[StageRecord]) -> Figure:
    names = list(dict.fromkeys(stage for r in records for stage in _stages(r)))
    labels = [r.algorithm for r in records]
    left = 0.15 + max(style.width(style.literal(label), 7.0) for label in labels)
    grid = Grid(1, 1, 4.6, _BAR * len(records) + 0.1, left, 0.08, 0.22, 0.17, 0.1)
    faces = {name: style.COLOURS[i % len(style.COLOURS)] for i, name in enumerate(names)}
    hatches = {name: _HATCHES[i % len(_HATCHES)] for i, name in enumerate(names)}
    columns = key_columns(names, 4.6 + left)
    page = Page(
        style.literal(f"{experiment.id}  {experiment.title}"),
        style.literal("  |  ".join(dict.fromkeys(_request(r) for r in records))),
        KEY_LINE * -(-len(names) // columns) + 0.08,
        grid,
        [],
        style.literal(
            "   |   ".join(
                [
                    source.describe(),
                    ", ".join(sorted({r.machine for r in records})),
                    "git " + ", ".join(dict.fromkeys(r.commit[:7] for r in records)),
                ]
            )
        ),
        least_width=6.0,
    )
    entries = [
        (Patch(facecolor=faces[name], hatch=hatches[name], edgecolor="white", linewidth=0), name)
        for name in names
    ]
    page.legend(page.key, entries, columns)
    _bars(page.axes(page.panels[0]), records, labels, faces, hatches)
    return page.figure


def _bars(
    axes: Axes,
    records: Sequence[StageRecord],
    labels: Sequence[str],
    faces: Mapping[str, str],
    hatches: Mapping[str, str],
) -> None:
    """Draw a bar for each record, divided by stages."""
    unit, length = style.time_unit(_total(r) for r in records)
    for y, record in enumerate(records):
        start = 0.0
        for stage in _stages(record):
            time = record.stages[stage] / length
            axes.barh(
                y, time, left=start, height=0.72, facecolor=faces[stage], hatch=hatches[stage],
                edgecolor="white", linewidth=0.6,
            )  # fmt: skip
            share = record.stages[stage] / _total(record)
            if share > 0.05:
                text = axes.text(
                    start + time / 2, y, f"{share:.0%}", size=6, ha="center", va="center"
                )
                text.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 0.8})
            start += time
    axes.set_yticks(range(len(records)), [style.literal(label) for label in labels])
    axes.set_ylim(len(records) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(f"median time ({unit})", labelpad=2)


def _request(record: StageRecord) -> str:
    r = record.request
    return (
        f"{r['source']}: n = {r['n']}, d = {r['dimension']}, Q = {r['q']}, k = {r['k']}, "
        f"{r['metric']}"
    )
