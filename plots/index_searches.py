"""Figures of searches with metric indexes: `python -m plots.index_searches DIR [DIR ...]`.

Reads the cells of sweeps with `"task": "index"`. For each
database it draws the figures that have enough searches (figures of Barrientos 2011 in brackets):

    k       k-NN: time, distances and bytes a query against k (Fig. 3.2, 4.3, Table 3.1)
    alpha   k-NN with an SSS-Index: the same quantities against alpha (Fig. 3.3)
    speedup time of one CPU thread over that of the GPU, against the share or k (Fig. 4.4)
    batch   range queries a second against the number of queries in a batch (Fig. 4.5)

Of equal searches the last one counts. Times come from executors cpu and cuda, work from fibers.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from plots import style
from plots.command import draw_command
from plots.errors import Failure, PlotError
from plots.figures import Drawing
from plots.files import RUNS
from plots.index_cells import kind_of, traits_of, values_of
from plots.records import load_whole

_KIND = {"none": "exhaustive", "list_of_clusters": "List of Clusters", "sss": "SSS-Index"}


@dataclass(frozen=True)
class Search:
    """One recorded search; quantities that were not measured or counted are None."""

    database: str
    method: str  # index, its parameters and the kernel's rule
    family: str  # only the index
    what: str  # "knn" or "range"
    executor: str
    threads: int
    k: int | None
    share: float | None
    radius: float | None  # where it was given, not the share
    alpha: float | None
    batch: int
    time: float | None  # ns a query
    distances: float | None  # a query
    traffic: float | None  # bytes read and written a query


Point = tuple[float, float]
Series = Mapping[str, Sequence[Point]]
Panel = tuple[str, Series]  # label of the y axis


def read(directories: Iterable[Path]) -> list[Search]:
    """Read the searches of run directories; raises PlotError."""
    searches: dict[object, Search] = {}
    for directory in directories:
        whole = load_whole(directory)
        for warning in whole.warnings:
            print(f"plots: {warning}", file=sys.stderr)
        for number, cell in enumerate(whole.cells, 1):
            if cell.get("task") != "index" or cell["status"] != "ok":
                continue
            try:
                search = _search(cell)
            except (KeyError, TypeError) as e:
                raise PlotError(Failure.INPUT, f"{directory}: cell {number} lacks {e}") from e
            identity = (search.database, search.method, search.what, search.executor,
                        search.threads, search.k, search.share, search.radius,
                        search.batch)  # fmt: skip
            searches[identity] = search
    return list(searches.values())


def _search(cell: Mapping[str, Any]) -> Search:
    traits, values = traits_of(cell), values_of(cell)
    queries = cell["problem"]["q"]
    return Search(
        database=f"{traits['source']}-{cell['problem']['n']}",
        method=_method(traits),
        family=_KIND[kind_of(cell)],
        what=traits["what"],
        executor=cell["executor"],
        threads=traits["threads"],
        k=traits.get("k"),
        share=traits.get("share"),
        radius=traits.get("radius"),
        alpha=traits.get("alpha"),
        batch=traits.get("batch", 0),
        time=values["time"] / queries if "time" in values and queries else None,
        distances=values.get("distances"),
        traffic=values.get("bytes"),
    )


def _method(traits: Mapping[str, Any]) -> str:
    words = [_KIND.get(traits["kind"], _KIND["list_of_clusters"])]
    if "cluster_size" in traits:
        words.append(f"of {traits['cluster_size']}")
    if "cluster_radius" in traits:
        words.append(f"of radius {traits['cluster_radius']:g}")
    if traits.get("radius_rule") == "decreasing":
        words.append("decreasing")
    if "alpha" in traits:
        words.append(f"alpha {traits['alpha']:g}")
    if traits.get("distribution", "elements") != "elements":
        words.append(f"by {traits['distribution']}")
    if traits.get("walk", "members") != "members":
        words.append(f"by {traits['walk']}")
    return ", ".join(words)


def draw(searches: Sequence[Search]) -> list[Drawing]:
    """Draw every figure that has enough searches."""
    by_database: dict[str, list[Search]] = defaultdict(list)
    for search in searches:
        by_database[search.database].append(search)
    drawings = []
    for database, members in sorted(by_database.items()):
        knn = [s for s in members if s.what == "knn" and s.batch == 0]
        ranges = [s for s in members if s.what == "range"]
        kernels = [s for s in knn if s.executor != "cpu"]
        with_pivots = [s for s in kernels if s.alpha is not None and "pivots" not in s.method]
        for name, x_label, panels in (
            ("k", "k", _panels(kernels, lambda s: s.k, lambda s: s.method)),
            ("alpha", "alpha", _panels(with_pivots, lambda s: s.alpha, lambda s: f"k = {s.k}")),
            ("speedup-range", "share of the objects within the radius", _speedup(ranges, "share")),
            ("speedup-radius", "radius", _speedup(ranges, "radius")),
            ("speedup-knn", "k", _speedup(knn, "k")),
            ("batch", "queries at a time", _throughput(ranges)),
        ):
            if panels:
                drawings.append(_drawing(f"index-{database}-{name}", database, x_label, panels))
    return drawings


def _panels(
    searches: Iterable[Search],
    x: Callable[[Search], float | None],
    label: Callable[[Search], str],
) -> list[Panel]:
    """Return one panel for each quantity that has a series of at least two points."""
    searches = list(searches)
    quantities: tuple[tuple[str, Callable[[Search], float | None]], ...] = (
        ("time of a query in µs", lambda s: None if s.time is None else s.time / 1e3),
        ("distances a query", lambda s: s.distances),
        ("bytes moved a query", lambda s: s.traffic),
    )
    panels = []
    for name, y in quantities:
        series: dict[str, list[Point]] = {}
        for s in searches:
            at, value = x(s), y(s)
            if at is not None and value is not None:
                series.setdefault(label(s), []).append((at, value))
        series = {label: points for label, points in series.items() if len(points) > 1}
        if series:
            panels.append((name, series))
    return panels


def _speedup(searches: Iterable[Search], axis: str) -> list[Panel]:
    host: dict[object, float] = {}
    device: dict[object, float] = {}
    for s in searches:
        at = getattr(s, axis)
        if s.time is None or at is None or s.batch != 0 or s.family == "exhaustive":
            continue
        if s.executor == "cuda" and "decreasing" not in s.method and "pivots" not in s.method:
            device[s.method, at] = s.time
        elif s.executor == "cpu" and s.threads == 1:
            host[s.method, at] = s.time
    series: dict[str, list[Point]] = defaultdict(list)
    for method, at in host.keys() & device.keys():
        series[method].append((at, host[method, at] / device[method, at]))
    return [("speed-up over one host thread", series)] if series else []


def _throughput(searches: Iterable[Search]) -> list[Panel]:
    series: dict[str, list[Point]] = defaultdict(list)
    for s in searches:
        if s.time is not None and s.batch > 0:
            series[f"{s.method}, share {s.share}"].append((s.batch, 1e9 / s.time))
    return [("queries a second", series)] if series else []


def _drawing(name: str, database: str, x_label: str, panels: Sequence[Panel]) -> Drawing:
    labels = sorted({label for _, series in panels for label in series})
    looks = style.looks(labels)
    figure = Figure(figsize=(3.4 * len(panels) + 0.4, 3.6), layout="constrained")
    figure.suptitle(style.literal(database))
    rows: list[dict[str, object]] = []
    for axes, (y_label, series) in zip(
        figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True
    ):
        for label, points in sorted(series.items()):
            points = sorted(points)
            look = looks[label]
            axes.plot(
                [x for x, _ in points],
                [y for _, y in points],
                color=look.colour,
                marker=look.marker,
                linestyle=look.line,
                label=label,
            )
            rows += [
                {"quantity": y_label, "series": label, x_label: x, "value": y} for x, y in points
            ]
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
        axes.set_ylim(bottom=0)
    handles = {h.get_label(): h for axes in figure.axes for h in axes.get_lines()}
    figure.legend([handles[x] for x in labels], labels, loc="outside lower center", ncols=2)
    return Drawing(name, figure, rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code (docs/reference/exit-codes.md)."""
    parser = argparse.ArgumentParser(
        prog="python -m plots.index_searches", description="Draw searches with metric indexes."
    )
    nothing = (
        "no figure to draw: it takes k-NN searches of a GPU or on fibers with two values of k or "
        "alpha, searches of a GPU beside those of one host thread, or batches; `kselect show RUN` "
        "prints the times of all"
    )
    return draw_command(parser, arguments, RUNS, read, draw, nothing)


if __name__ == "__main__":
    sys.exit(main())
