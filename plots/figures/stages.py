"""Where the time of a search goes: a bar for each cell, divided into the stages of its record.

A bar is as long as the cell's median time. What no stage names is the last, grey part. Stages that
are done beside the time (preparing a corpus, a product alone) are in the CSV and not in the bars.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from plots import slices, style
from plots.figures import Drawing, Options
from plots.page import KEY_LINE, Grid, Page, footer, key_columns
from plots.records import Record

NAME = "stages"
DESCRIPTION = "where the time of a search goes: a bar for each cell, divided into its stages"

_OTHER = "other"
_BAR = 0.17  # inches of a bar and the space to the next
_LEAST_OTHER = 0.01  # a smaller share of the time is rounding


def suits(record: Record) -> bool:
    """Tell whether the cell has a time and stages."""
    return record.time is not None and bool(record.stages)


def draw(records: Sequence[Record], options: Options) -> list[Drawing]:
    """Draw one figure for each workload, executor and machine."""
    del options
    cut: dict[slices.Slice, list[Record]] = defaultdict(list)
    for record in records:
        if suits(record):
            cut[slices.of_counted(record)].append(record)
    names = slices.names(NAME, sorted(cut))
    return [
        Drawing(names[part], _figure(part, members), _rows(members))
        for part, members in sorted(cut.items())
    ]


def _parts(record: Record) -> dict[str, float]:
    """Return the stages of a bar with their ns, and what is left of the time."""
    assert record.time is not None
    parts = {stage.name: stage.median for stage in record.stages if stage.of_time}
    left = record.time.median - sum(parts.values())
    if left > _LEAST_OTHER * record.time.median:
        parts[_OTHER] = left
    return parts


def _label(record: Record) -> str:
    sizes = ", ".join(slices.integer(getattr(record, name)) for name in ("n", "q", "k"))
    return f"{record.algorithm}  ({sizes})"


def _colours(members: Sequence[Record]) -> Mapping[str, str]:
    stages = dict.fromkeys(name for record in members for name in _parts(record))
    stages.pop(_OTHER, None)
    colours = dict(zip(stages, style.COLOURS * len(stages), strict=False))
    return {**colours, _OTHER: style.GRID}


def _figure(part: slices.Slice, members: Sequence[Record]) -> Figure:
    labels = [_label(record) for record in members]
    left = max(style.width(label, 7.0) for label in labels) + 0.1
    grid = Grid(1, 1, 3.6, _BAR * len(members) + 0.08, left, 0.1, 0.2, 0.17, 0)
    colours = _colours(members)
    drawn = [name for name in colours if any(_parts(record).get(name) for record in members)]
    entries = [(Patch(color=colours[name]), name.replace("_", " ")) for name in drawn]
    key = key_columns(drawn, grid.total()[0])
    height = KEY_LINE * -(-len(entries) // key) + 0.08
    page = Page(
        "Stages of a search", f"{part.title()}  |  bars: algorithm (n, Q, k)", height, grid, [],
        footer(members), least_width=5.0,
    )
    page.legend(page.key, entries, key)
    axes = page.axes(page.panels[0])
    for place, record in enumerate(members):
        begin = 0.0
        for name, ns in _parts(record).items():
            axes.barh(place, ns / 1e6, left=begin, height=0.7, color=colours[name], linewidth=0)
            begin += ns / 1e6
    axes.set_yticks(range(len(members)), [style.literal(label) for label in labels])
    axes.set_ylim(len(members) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("median time, ms", labelpad=2)
    return page.figure


def _rows(members: Sequence[Record]) -> list[dict[str, object]]:
    return [
        {
            "algorithm": record.algorithm,
            "n": record.n,
            "q": record.q,
            "k": record.k,
            "stage": stage.name,
            "ns": stage.median,
            "of_time": int(stage.of_time),
            "time_ns": record.time.median,
            "run": record.run.name,
            "key": record.key,
        }
        for record in members
        if record.time is not None
        for stage in record.stages
    ]
