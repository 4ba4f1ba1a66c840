"""Plans a k-NN search from a measured one: `python -m plots.scale_plan DIR --n N --queries Q`.

Takes the five rates of docs/scale.md from the cells of DIR (configs/templates/scaling.sh), evaluates the
formulas of that page for several numbers of GPUs and prints them as Markdown. A rate without a
record is named as missing, and values that depend on it are left open.
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
_NEIGHBOUR = 12  # bytes: a distance and an index


@dataclass(frozen=True)
class Rates:
    """The rates P, S, R, L and W of docs/scale.md; None if no record holds the rate."""

    products: float | None  # operations a second, computing distances on one rank
    selection: float | None  # distances a second that selection reads
    read: float | None  # bytes a second from the storage of the corpus
    link: float | None  # bytes a second between two ranks
    write: float | None  # bytes a second that rank 0 writes durably


def rates_of(found: Iterable[Mapping[str, Any]], dimension: int) -> Rates:
    """Return the medians over the rounds of all cells on GPUs with that dimension."""
    values: dict[str, list[float]] = {field.name: [] for field in fields(Rates)}
    for cell in found:
        problem, stages = cell["problem"], cell["stages"]
        if problem["dimension"] != dimension or "gpu_distance" not in stages:
            continue
        ranks, queries = cell["algorithm"]["settings"]["ranks"], problem["q"]
        met = queries * problem["n"] / ranks
        answer = _NEIGHBOUR * queries * problem["k"]
        for number in range(len(cell["time"]["rounds"])):
            time = {name: stages[name]["rounds"][number] for name in stages}
            _add(values["products"], 2 * met * dimension, time["gpu_distance"])
            selecting = time["gpu_selection"] + time.get("gpu_merge", 0) + time["gpu_order"]
            _add(values["selection"], met, selecting)
            _add(values["read"], cell["counts"]["bytes_read"] / ranks, time["read"])
            if ranks > 1:
                _add(values["link"], answer * (ranks - 1) / ranks, time["exchange"])
            # Rank 0 alone writes, and stages are means.
            _add(values["write"], answer, time["write"] * ranks)
    return Rates(**{name: median(v) if v else None for name, v in values.items()})


def _add(to: list[float], work: float, nanoseconds: float) -> None:
    if work > 0 and nanoseconds > 0:
        to.append(work / nanoseconds * 1e9)


@dataclass(frozen=True)
class Search:
    """The planned search, the number of queries in a tile and the device memory."""

    n: int
    queries: int
    dimension: int
    k: int
    tile: int
    device_gib: float


def row(gpus: int, search: Search, rates: Rates) -> list[str]:
    """Return one line of the table (docs/scale.md, "Time")."""
    corpus = 4.0 * search.n * search.dimension / gpus
    resident = corpus <= search.device_gib * _GIB / 2
    passes = 1 if resident else -(-search.queries // search.tile)
    met = search.queries * search.n / gpus
    answer = _NEIGHBOUR * search.queries * search.k
    compute = _sum(_over(2 * met * search.dimension, rates.products), _over(met, rates.selection))
    read = _over(passes * corpus, rates.read)
    exchange = 0.0 if gpus == 1 else _over(answer * (gpus - 1) / gpus, rates.link)
    write = _over(answer, rates.write)
    total = _sum(_longer(compute, read), exchange)
    return [
        str(gpus),
        f"{corpus / _GIB:,.1f}",
        "yes" if resident else "no",
        f"{passes:,}",
        *(_seconds(x) for x in (compute, read, exchange, write, total)),
    ]


def _over(work: float, rate: float | None) -> float | None:
    return None if rate is None else work / rate


def _sum(*parts: float | None) -> float | None:
    return None if None in parts else sum(p for p in parts if p is not None)


def _longer(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else max(a, b)


def _seconds(value: float | None) -> str:
    if value is None:
        return "open"
    return f"{value:,.0f} s" if value >= 100 else f"{value:.2g} s"


def table(search: Search, rates: Rates) -> str:
    """Return rates and plan as Markdown."""
    named: tuple[tuple[str, float | None, str], ...] = (
        ("P", rates.products, "operations/s"),
        ("S", rates.selection, "distances/s"),
        ("R", rates.read, "bytes/s"),
        ("L", rates.link, "bytes/s"),
        ("W", rates.write, "bytes/s"),
    )
    text = [
        f"n = {search.n:,}, Q = {search.queries:,}, d = {search.dimension}, k = {search.k}, "
        f"t = {search.tile:,}, {search.device_gib:g} GiB of device memory a GPU",
        "",
        ", ".join(f"{n} = {'open' if v is None else f'{v:.3g} {unit}'}" for n, v, unit in named),
        "",
        "| GPUs | corpus of a rank, GiB | resident | passes | compute | read | exchange | write | "
        "time |",
        "|--:|--:|---|--:|--:|--:|--:|--:|--:|",
    ]
    text += [f"| {' | '.join(row(g, search, rates))} |" for g in GPUS]
    return "\n".join(text) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code (docs/reference/exit-codes.md)."""
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
        "--device-gib", type=positive, default=139, help="memory of a GPU (%(default)s)"
    )
    o = parser.parse_args(arguments)
    try:
        rates = rates_of(cells(o.runs), o.dimension)
        if rates.products is None:
            message = f"no record of a GPU with dimension {o.dimension}"
            raise PlotError(Failure.INPUT, f"{', '.join(map(str, o.runs))}: {message}")
        search = Search(o.n, o.queries, o.dimension, o.k, o.tile, o.device_gib)
        print(table(search, rates), end="")
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
