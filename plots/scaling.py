"""The figure of k-NN over several GPUs: `python -m plots.scaling DIR [DIR ...]`.

Reads DIR/scaling.jsonl, written by configs/templates/scaling.sh, and draws for each search (n, Q, d, k):

    efficiency   time on one GPU over time on G GPUs; with equal total work (strong) divided by G,
                 with equal vectors for each GPU (weak) not divided
    share        the parts of a rank's time, strong scaling
    out of core  the larger of reading time and computing time, over the time of the search

Times are medians of the repeats on rank 0; shares are means over the ranks.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plots import style
from plots.command import draw_command
from plots.figures import Drawing
from plots.files import read_lines

GOAL = 0.9  # for the efficiency
OVERLAP_GOAL = 0.8
_OUT_OF_CORE = {"out-of-core": "from memory's file cache", "disk": "from disk"}
# What a rank does and awaits one after the other, beside computing; the rest of `nearest` is work of
# the host. Since ranks exchange in the background, they do nothing else.
_WAITS = ("queries_wait", "read_wait", "lists_wait", "ranks_wait", "write_wait")
_WAITS_OF_OLDER = ("queries", "read_wait", "ranks_wait", "exchange", "merge", "write_wait")


@dataclass(frozen=True)
class Search:
    """One recorded search; times in seconds."""

    experiment: str
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

    @property
    def overlap(self) -> float:
        """The larger of reading time and computing time, over the time of the search."""
        return max(self.read, self.compute) / self.time


def records(directories: Iterable[Path]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield experiment and record of every search; raises PlotError."""
    for value in read_lines(directories, "scaling.jsonl", _checked, "record of a search"):
        if "record" in value:
            yield value["experiment"], value["record"]


def _checked(value: Mapping[str, Any]) -> Mapping[str, Any]:
    if "record" in value:
        _search(value["experiment"], value["record"])  # raises if a member is missing
    return value


def read(directories: Iterable[Path]) -> list[Search]:
    """Read the searches of directories; raises PlotError."""
    return [_search(experiment, record) for experiment, record in records(directories)]


def _search(experiment: str, record: Mapping[str, Any]) -> Search:
    ranks, request = record["ranks"], record["request"]
    names = _WAITS if "queries_wait" in ranks[0]["time"] else _WAITS_OF_OLDER
    parts = {name: fmean(_waited(r, name) for r in ranks) / 1e9 for name in names}
    computes = [_compute(r) for r in ranks]
    parts = {"compute": fmean(computes)} | parts
    first = ranks[0]
    return Search(
        experiment=experiment,
        gpus=len(ranks),
        n=request["n"],
        queries=request["queries"],
        dimension=request["dimension"],
        k=request["k"],
        time=first["time"]["search"] / 1e9,
        read=max(r["time"]["read"] for r in ranks) / 1e9,
        compute=max(computes),
        parts=parts,
        streamed=not all(r["resident"] for r in ranks),
        place=first["gpu"]["name"] if first["gpu"] else first["host"]["cpu"],
    )


def _loaded_before(rank: Mapping[str, Any]) -> bool:
    """Tell whether the rank's corpus was read and prepared before the search."""
    return "load" in rank["time"] and rank["resident"]


def _waited(rank: Mapping[str, Any], name: str) -> float:
    return 0.0 if name == "read_wait" and _loaded_before(rank) else rank["time"][name]


def _compute(rank: Mapping[str, Any]) -> float:
    if rank["gpu_time"] is not None:
        before = rank["gpu_time"].get("prepare", 0.0) if _loaded_before(rank) else 0.0
        return (sum(rank["gpu_time"].values()) - before) / 1e9
    return (rank["time"]["nearest"] - rank["time"]["read_wait"]) / 1e9


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
        if s.experiment in _OUT_OF_CORE and s.streamed:
            label = f"{_OUT_OF_CORE[s.experiment]}, {s.gpus} GPU{'s' if s.gpus > 1 else ''}"
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
    return draw_command(parser, arguments, "scaling.jsonl", read, draw, nothing)


if __name__ == "__main__":
    sys.exit(main())
