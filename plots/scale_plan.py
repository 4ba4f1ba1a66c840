"""Plans a k-NN search from a measured one: `python -m plots.scale_plan DIR --n N --queries Q`.

Takes the rates of docs/scale.md from the cells of DIR (configs/templates/scaling.sh), evaluates the
model of that page for several numbers of GPUs and prints it as Markdown. A rate without a record is
named as missing, and values that depend on it are left open.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from statistics import median
from typing import Any

from plots.errors import Failure, PlotError
from plots.files import RUNS
from plots.scaling import cells

GPUS = (1, 2, 4, 8, 16, 64)
_GIB = 2.0**30
# Bytes of a neighbour: a distance and an index are written; the number that orders, too, is exchanged.
_WRITTEN, _EXCHANGED = 12, 20
# As the program cuts: the most queries of a tile where the corpus is resident, bytes of a tile of the corpus
# (search/knn/tiled/product_bounds.cpp), components of a slab (search/knn/fused/layout.hpp).
_RESIDENT_TILE, _CORPUS_TILE_BYTES, _SLAB = 1 << 13, 1 << 28, 64


@dataclass(frozen=True)
class Rates:
    """The rates of docs/scale.md, each of one rank; None if no record holds the rate."""

    products: float | None  # P: operations a second, thresholds and queries done again included
    orders: float | None  # F: queries a second, whose survivors in a tile of the corpus are ordered
    prepared: float | None  # V: vectors a second
    read: float | None  # R: bytes a second from the storage of the corpus
    loaded: float | None  # U: bytes of float32 a second, from storage to the GPU
    queries: float | None  # B: bytes a second, read by rank 0 and sent to all
    download: float | None  # D: bytes of lists a second from the GPU
    link: float | None  # L: bytes a second between two ranks
    merged: float | None  # M: neighbours a second
    write: float | None  # W: bytes a second that rank 0 writes durably


_NAMES = {"products": ("P", "operations/s"), "orders": ("F", "queries/s"),
          "prepared": ("V", "vectors/s"), "read": ("R", "bytes/s"), "loaded": ("U", "bytes/s"),
          "queries": ("B", "bytes/s"), "download": ("D", "bytes/s"), "link": ("L", "bytes/s"),
          "merged": ("M", "neighbours/s"), "write": ("W", "bytes/s")}  # fmt: skip


def rates_of(found: Iterable[Mapping[str, Any]], dimension: int) -> Rates:
    """Return the medians over the rounds of all cells of products in float16 on GPUs with that dimension."""
    values: dict[str, list[float]] = {field.name: [] for field in fields(Rates)}
    for cell in found:
        by_products = cell["algorithm"]["settings"]["product"] == "float16"
        if cell["problem"]["dimension"] != dimension or not by_products or "gpu_threshold" not in cell["stages"]:
            continue
        for number in range(len(cell["time"]["rounds"])):
            _add_round(values, cell, number)
    return Rates(**{name: median(v) if v else None for name, v in values.items()})


def _add_round(values: Mapping[str, list[float]], cell: Mapping[str, Any], number: int) -> None:
    """Add the rates of one round; its stages are means over the ranks."""
    problem, ranks = cell["problem"], cell["algorithm"]["settings"]["ranks"]
    queries, k, d = problem["q"], problem["k"], problem["dimension"]
    time = {name: stage["rounds"][number] for name, stage in cell["stages"].items()}
    vectors, resident = problem["n"] / ranks, cell["counts"]["resident_ranks"] == ranks
    multiplied = time["gpu_threshold"] + time["gpu_distance"] + time["gpu_redo"]
    _add(values["products"], 2 * queries * vectors * d, multiplied)
    if resident:
        _add(values["orders"], queries, time["gpu_order"])
        _add(values["prepared"], vectors, time["gpu_prepare"])
        _add(values["loaded"], 4 * vectors * d, time["load"])
    _add(values["read"], cell["counts"]["bytes_read"] / ranks, time["read"])
    _add(values["queries"], 4 * queries * d, time["queries"])
    length = cell["counts"].get("list_length", k)  # older records have whole lists
    _add(values["download"], _EXCHANGED * queries * length, _download(time, resident=resident))
    if ranks > 1:
        _add(values["link"], _EXCHANGED * queries * length * (ranks - 1) / ranks, time["exchange"])
        _add(values["merged"], queries * k, time["merge"])
    _add(values["write"], _WRITTEN * queries * k, time["write"] * ranks)  # rank 0 alone writes


def _download(time: Mapping[str, float], *, resident: bool) -> float:
    """Return the time of copies; older records have it only as what the GPU's stages leave over."""
    if "download" in time:
        return time["download"]
    return time["nearest"] - time["compute"] if resident else 0.0


def _add(to: list[float], work: float, nanoseconds: float) -> None:
    if work > 0 and nanoseconds > 0:
        to.append(work / nanoseconds * 1e9)


@dataclass(frozen=True)
class Search:
    """The planned search."""

    n: int
    queries: int
    dimension: int
    k: int
    tile: int  # queries of a pass over a corpus that is not resident
    component: int  # bytes in the file
    device_gib: float

    @property
    def prepared_bytes(self) -> int:
        """Bytes of a vector in a GPU's memory: itself, its slabs of float16, and 36 more."""
        return 4 * self.dimension + 2 * _SLAB * -(-self.dimension // _SLAB) + 36


@dataclass(frozen=True)
class Plan:
    """The model's seconds for one number of GPUs; None where a rate is missing."""

    gpus: int
    resident: bool
    tiles: int  # of queries
    compute: float | None  # the following are of all tiles
    stream: float | None
    beside: float | None
    write: float | None
    time: float | None


def plan_of(gpus: int, search: Search, rates: Rates) -> Plan:
    """Evaluate the model (docs/scale.md, "Time")."""
    vectors = search.n / gpus
    resident = vectors * search.prepared_bytes <= search.device_gib * _GIB / 2
    most = min(search.queries, _RESIDENT_TILE if resident else search.tile)
    tiles = -(-search.queries // most)
    t = search.queries / tiles
    cuts = 1.0 if resident else vectors * 4 * search.dimension / _CORPUS_TILE_BYTES
    compute = _sum(
        _over(2 * t * vectors * search.dimension, rates.products),
        _over(t * cuts, rates.orders),
        0.0 if resident else _over(vectors, rates.prepared),
    )
    stream = 0.0 if resident else _longest(
        _over(vectors * search.component * search.dimension, rates.read),
        _over(vectors * 4 * search.dimension, rates.loaded),
    )  # fmt: skip
    share = (gpus - 1) / gpus
    lists = _sum(
        _over(_EXCHANGED * t * search.k, rates.download),
        0.0 if gpus == 1 else _over(_EXCHANGED * t * search.k * share, rates.link),
        0.0 if gpus == 1 else _over(t * search.k, rates.merged),
    )
    queries = _over(4 * t * search.dimension, rates.queries)
    write = _over(_WRITTEN * t * search.k, rates.write)
    beside = _sum(lists, queries)
    each = _longest(compute, stream, beside, write)
    time = _sum(queries, None if each is None else tiles * each, lists, write)
    every = [None if x is None else tiles * x for x in (compute, stream, beside, write)]
    return Plan(gpus, resident, tiles, *every, time)


def _over(work: float, rate: float | None) -> float | None:
    return None if rate is None else work / rate


def _sum(*parts: float | None) -> float | None:
    return None if None in parts else sum(p for p in parts if p is not None)


def _longest(*parts: float | None) -> float | None:
    return None if None in parts else max(p for p in parts if p is not None)


def _seconds(value: float | None) -> str:
    if value is None:
        return "open"
    return f"{value:,.0f} s" if value >= 100 else f"{value:.2g} s"


def _row(plan: Plan, search: Search, first: Plan) -> list[str]:
    lacking = plan.time is None or first.time is None
    share = None if lacking else first.time * first.gpus / (plan.time * plan.gpus)
    return [
        str(plan.gpus),
        f"{search.n * search.prepared_bytes / plan.gpus / _GIB:,.1f}",
        "yes" if plan.resident else "no",
        f"{1 if plan.resident else plan.tiles:,}",
        *(_seconds(x) for x in (plan.compute, plan.stream, plan.beside, plan.write, plan.time)),
        "open" if share is None else f"{share:.0%}".replace("%", " %"),
    ]


def table(search: Search, rates: Rates, gpus: Sequence[int] = GPUS) -> str:
    """Return rates and plan as Markdown."""
    named = [(*_NAMES[field.name], getattr(rates, field.name)) for field in fields(Rates)]
    text = [
        f"n = {search.n:,}, Q = {search.queries:,}, d = {search.dimension} of {search.component} "
        f"bytes, k = {search.k}, t = {search.tile:,}, {search.device_gib:g} GiB of device memory a "
        "GPU",
        "",
        ", ".join(f"{n} = {'open' if v is None else f'{v:.3g} {unit}'}" for n, unit, v in named),
        "",
        "| GPUs | prepared corpus of a rank, GiB | resident | passes | compute | stream | beside | "
        "write | time | efficiency |",
        "|--:|--:|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    plans = [plan_of(g, search, rates) for g in gpus]
    text += [f"| {' | '.join(_row(plan, search, plans[0]))} |" for plan in plans]
    return "\n".join(text) + "\n"


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m plots.scale_plan", description="Plan a k-NN search from a measured one."
    )
    parser.add_argument("runs", nargs="+", type=Path, metavar="DIR", help=f"has {RUNS}")
    positive: Callable[[str], int] = _positive
    parser.add_argument("--n", type=positive, default=10**9, help="vectors (%(default)s)")
    parser.add_argument("--queries", type=positive, default=10**6, help="(%(default)s)")
    parser.add_argument("--dimension", type=positive, default=128, help="(%(default)s)")
    parser.add_argument("--k", type=positive, default=100, help="neighbours (%(default)s)")
    parser.add_argument(
        "--tile", type=positive, default=10**5, help="queries a pass over the file (%(default)s)"
    )
    parser.add_argument(
        "--component", type=int, choices=(1, 4), default=4,
        help="bytes of a component in the file (%(default)s)",
    )  # fmt: skip
    parser.add_argument("--device-gib", type=positive, default=79, help="of a GPU (%(default)s)")
    parser.add_argument(
        "--gpus", type=positive, nargs="+", default=list(GPUS), help="numbers of GPUs; "
        "the first is the efficiency's measure",
    )  # fmt: skip
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code (docs/reference/exit-codes.md)."""
    o = _arguments().parse_args(arguments)
    try:
        rates = rates_of(cells(o.runs), o.dimension)
        if rates.products is None:
            message = f"no record of products in float16 on a GPU with dimension {o.dimension}"
            raise PlotError(Failure.INPUT, f"{', '.join(map(str, o.runs))}: {message}")
        search = Search(o.n, o.queries, o.dimension, o.k, o.tile, o.component, o.device_gib)
        print(table(search, rates, o.gpus), end="")
    except PlotError as e:
        print(f"plots: {e}", file=sys.stderr)
        return int(e.failure)
    return 0


def _positive(text: str) -> int:
    value = int(float(text))
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not positive")
    return value


if __name__ == "__main__":
    sys.exit(main())
