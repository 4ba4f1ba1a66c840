"""The figure of k-NN over several GPUs: `python -m plots.scaling DIR [DIR ...]`.

Reads the cells of searches among ranks, as `kselect knn --gpus N --record DIR` adds them
(configs/templates/scaling.sh), and draws for each search (n, Q, d, k):

    efficiency   time on one GPU over time on G GPUs; with equal total work (strong) divided by G,
                 with equal vectors for each GPU (weak) not divided
    share        the parts of a rank's time, strong scaling
    out of core  the larger of reading time and computing time, over the time of the search

Searches with a bound on device memory are out of core. Of the others, those of an equal n are
strong scaling, and those of an equal n for each GPU weak. Times are medians of the rounds on
rank 0; shares are means over the ranks.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, median
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plots import style
from plots.command import draw_command
from plots.errors import Failure, PlotError
from plots.figures import Drawing
from plots.files import RUNS
from plots.records import load_whole

GOAL = 0.9  # for the efficiency
OVERLAP_GOAL = 0.8
# What a rank awaits one after the other, beside computing; the rest of `nearest` is work of the host.
_WAITS = ("queries_wait", "read_wait", "lists_wait", "ranks_wait", "write_wait")
# Of searches before ranks exchanged in the background.
_WAITS_OF_OLDER = ("queries", "read_wait", "ranks_wait", "exchange", "merge", "write_wait")
_IN_MEMORY = "base.npy"  # the template's file; any other of it is on a disk


@dataclass(frozen=True)
class Search:
    """One cell, as one experiment shows it; times in seconds."""

    experiment: str  # "strong", "weak" or "out of core"
    gpus: int
    n: int
    queries: int
    dimension: int
    k: int
    time: float  # of rank 0
    read: float  # in the background; the longest of all ranks
    compute: float  # by the GPU's own clock, or the CPU's; the longest of all ranks
    parts: Mapping[str, float]  # of the time, means over the ranks
    streamed: bool  # some rank read its part repeatedly
    place: str  # model of the GPU or CPU
    file: str  # of the corpus
    bounded: bool  # device memory had a bound, below the corpus' size
    proof: str  # what was proven; searches that prove more take longer

    @property
    def overlap(self) -> float:
        """The larger of reading time and computing time, over the time of the search."""
        return max(self.read, self.compute) / self.time


def cells(directories: Iterable[Path]) -> Iterator[Mapping[str, Any]]:
    """Yield the cells of searches among ranks; raises PlotError."""
    for directory in directories:
        for number, cell in enumerate(load_whole(directory).cells, 1):
            if cell.get("task") == "knn" and cell["time"] is not None and cell.get("ranks"):
                try:
                    _search(cell)
                except (KeyError, TypeError, IndexError, ZeroDivisionError) as e:
                    message = f"{directory}: cell {number} is no search among ranks: {e!r}"
                    raise PlotError(Failure.INPUT, message) from e
                yield cell


def read(directories: Iterable[Path]) -> list[Search]:
    """Read the searches of directories, once for each experiment; raises PlotError."""
    found = [_search(cell) for cell in cells(directories)]
    whole = [s for s in found if not s.bounded]
    return [
        *_growing(whole, "strong", lambda s: s.n),
        *_growing(whole, "weak", lambda s: round(s.n / s.gpus)),
        *(s for s in found if s.bounded),
    ]


def _growing(
    searches: Sequence[Search], experiment: str, size: Callable[[Search], int]
) -> Iterator[Search]:
    """Yield, of each place and kind of search, those of one size on the most numbers of GPUs."""
    groups: dict[tuple[Any, ...], dict[tuple[Any, ...], list[Search]]] = {}
    for s in searches:
        kind = (s.place, s.queries, s.dimension, s.k)
        groups.setdefault(kind, {}).setdefault((size(s), s.proof), []).append(s)
    for sizes in groups.values():
        numbers = {key: {s.gpus for s in of} for key, of in sizes.items()}
        best = max(sizes, key=lambda key: (1 in numbers[key], len(numbers[key]), key[0]))
        if 1 in numbers[best] and len(numbers[best]) > 1:
            yield from (replace(s, experiment=experiment) for s in sizes[best])


def _search(cell: Mapping[str, Any]) -> Search:
    problem, settings, stages = cell["problem"], cell["algorithm"]["settings"], cell["stages"]
    first = cell["ranks"][0]
    seconds = {name: stages[name]["median"] / 1e9 for name in stages}
    waits = _WAITS if "queries_wait" in stages else _WAITS_OF_OLDER
    return Search(
        experiment="out of core",
        gpus=settings["ranks"],
        n=problem["n"],
        queries=problem["q"],
        dimension=problem["dimension"],
        k=problem["k"],
        time=cell["time"]["median"] / 1e9,
        read=seconds["read_slowest"],
        compute=seconds["compute_slowest"],
        parts={name: seconds[name] for name in ("compute", *waits)},
        streamed=cell["counts"]["resident_ranks"] < settings["ranks"],
        place=first["gpu"]["name"] if first["gpu"] else first["host"]["cpu"],
        file=cell["input"]["name"],
        bounded="device_memory" in settings,
        proof=f"{settings['product']} {settings.get('prove', '')}",
    )


def efficiency(searches: Iterable[Search], experiment: str) -> dict[int, float]:
    """Return the efficiency by number of GPUs, from medians; empty if one GPU is missing."""
    times: dict[int, list[float]] = defaultdict(list)
    for s in searches:
        if s.experiment == experiment:
            times[s.gpus].append(s.time)
    if 1 not in times:
        return {}
    one = median(times[1])
    share = {"strong": lambda g: g, "weak": lambda _: 1}[experiment]
    return {g: one / (share(g) * median(t)) for g, t in sorted(times.items())}


def draw(searches: Sequence[Search]) -> list[Drawing]:
    """Draw one figure for each place and kind of search with several numbers of GPUs."""
    groups: dict[tuple[str, int, int], list[Search]] = defaultdict(list)
    for s in searches:
        groups[s.place, s.dimension, s.k].append(s)
    drawings = []
    for (place, dimension, k), members in sorted(groups.items()):
        if len({s.gpus for s in members if s.experiment == "strong"}) > 1:
            drawings.append(_drawing(place, dimension, k, members))
    return drawings


def _drawing(place: str, dimension: int, k: int, searches: Sequence[Search]) -> Drawing:
    figure = Figure(figsize=(9.6, 4.0), layout="constrained")
    strong = [s for s in searches if s.experiment == "strong"]
    title = f"exact {k}-NN on 1 to {max(s.gpus for s in strong)} of: {place}; dimension {dimension}"
    figure.suptitle(style.literal(title))
    left, middle, right = figure.subplots(1, 3)
    rows = [*_efficiencies(left, searches), *_shares(middle, strong), *_overlaps(right, searches)]
    name = "-".join(place.lower().replace("(r)", "").split())
    return Drawing(f"scaling-{name}-d{dimension}-k{k}", figure, rows)


def _row(panel: str, series: str, x: object, value: float, of: Search) -> dict[str, object]:
    return {"panel": panel, "series": series, "x": x, "value": value, "n": of.n,
            "queries": of.queries}  # fmt: skip


def _efficiencies(axes: Axes, searches: Sequence[Search]) -> list[dict[str, object]]:
    rows = []
    looks = style.looks_in_order(["strong", "weak"])
    for experiment in ("strong", "weak"):
        points = efficiency(searches, experiment)
        if not points:
            continue
        look = looks[experiment]
        some = {s.gpus: s for s in searches if s.experiment == experiment}
        label = {"strong": f"strong: n = {some[1].n:,}, Q = {some[1].queries:,}",
                 "weak": f"weak: n = {some[1].n:,} a GPU"}[experiment]  # fmt: skip
        axes.plot(list(points), list(points.values()), color=look.colour, marker=look.marker,
                  linestyle=look.line, label=label)  # fmt: skip
        rows += [_row("efficiency", experiment, g, y, some[g]) for g, y in points.items()]
    axes.axhline(GOAL, color=style.MUTED, linewidth=0.8, linestyle=":")
    axes.set_xticks(sorted({s.gpus for s in searches}))
    axes.set_xlabel("GPUs")
    axes.set_ylabel("efficiency")
    axes.set_ylim(0, max([1.1, *(row["value"] * 1.05 for row in rows)]))
    _key(axes, 1)
    return rows


def _key(axes: Axes, columns: int) -> None:
    axes.legend(fontsize="x-small", loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=columns,
                frameon=False)  # fmt: skip


def _shares(axes: Axes, strong: Sequence[Search]) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    by_gpus: dict[int, list[Search]] = defaultdict(list)
    for s in strong:
        by_gpus[s.gpus].append(s)
    known = dict.fromkeys(["compute", *_WAITS_OF_OLDER, *_WAITS])
    names = [name for name in known if any(name in s.parts for s in strong)]
    looks = style.looks_in_order(names)
    places = range(len(by_gpus))
    bottoms = [0.0] * len(by_gpus)
    for name in names:
        heights = [fmean(s.parts.get(name, 0.0) / s.time for s in by_gpus[g]) for g in sorted(by_gpus)]
        axes.bar(places, heights, bottom=bottoms, color=looks[name].colour, width=0.6,
                 label=name.replace("_", " "))  # fmt: skip
        bottoms = [b + h for b, h in zip(bottoms, heights, strict=True)]
        rows += [_row("share", name, g, h, by_gpus[g][0])
                 for g, h in zip(sorted(by_gpus), heights, strict=True)]  # fmt: skip
    axes.set_xticks(list(places), [str(g) for g in sorted(by_gpus)])
    axes.set_xlabel("GPUs")
    axes.set_ylabel("share of the time, strong")
    _key(axes, 3)
    return rows


def _overlaps(axes: Axes, searches: Sequence[Search]) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    series: dict[str, dict[int, list[Search]]] = defaultdict(lambda: defaultdict(list))
    for s in searches:
        if s.experiment == "out of core" and s.streamed:
            place = "from memory's file cache" if s.file == _IN_MEMORY else "from disk"
            label = f"{place}, {s.gpus} GPU{'s' if s.gpus > 1 else ''}"
            series[label][s.queries].append(s)
    looks = style.looks_in_order(sorted(series))
    for label, points in sorted(series.items()):
        xs = sorted(points)
        ys = [median(s.overlap for s in points[x]) for x in xs]
        look = looks[label]
        axes.plot(xs, ys, color=look.colour, marker=look.marker, linestyle=look.line, label=label)
        rows += [_row("out of core", label, x, y, points[x][0])
                 for x, y in zip(xs, ys, strict=True)]  # fmt: skip
    axes.axhline(OVERLAP_GOAL, color=style.MUTED, linewidth=0.8, linestyle=":")
    axes.set_xlabel("queries a pass over the file")
    axes.set_ylabel("slower of read and compute over time")
    axes.set_ylim(0, 1.1)
    if series:
        axes.set_xscale("log")
        counts = sorted({x for points in series.values() for x in points})
        axes.set_xticks(counts, [f"{x:,}" for x in counts])
        axes.set_xticks([], minor=True)
        _key(axes, 1)
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code (docs/reference/exit-codes.md)."""
    parser = argparse.ArgumentParser(
        prog="python -m plots.scaling", description="Draw how k-NN scales over GPUs."
    )
    nothing = "no searches on several numbers of GPUs to draw"
    return draw_command(parser, arguments, RUNS, read, draw, nothing)


if __name__ == "__main__":
    sys.exit(main())
