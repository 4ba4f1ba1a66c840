"""The stages of k-NN on a GPU and their times: `python -m plots.knn_end_to_end DIR [DIR ...]`.

Reads the cells of sweeps with `"task": "knn"` on GPUs, such as `kselect run knn_end_to_end`, prints
a Markdown table and draws for each GPU:

    stages      each stage's share of the search time
    selection   selection time over the floor, the time to read all distances once at the ceiling

Times are medians of the rounds by the GPU's clock, spreads are quartiles. The stage
`distance` is the bare matrix product and a pass that adds the norms. `adds` is the search time
without that stage; it includes the gaps between kernels.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plots import style
from plots.command import draw_command, one_a_place
from plots.cell_record import Run
from plots.errors import Failure, PlotError
from plots.figures import Drawing
from plots.files import RUNS
from plots.records import load_whole

GOAL = 1.15  # for the selection time over the floor
STAGES = ("norms", "threshold", "distance", "selection", "merge", "order", "redo")


@dataclass(frozen=True)
class Search:
    """One recorded search; times in milliseconds."""

    n: int
    queries: int
    dimension: int
    k: int
    product: str  # the setting: "float32", "tf32", ...
    place: str
    algorithm: str
    rounds: int
    medians: Mapping[str, float]  # by stage, and `adds`
    quartiles: Mapping[str, tuple[float, float]]
    ceiling: float  # bytes read a second: the highest that any process measured; 0: none did
    tiles: tuple[int, int]  # numbers of query tiles and corpus tiles
    proven: int  # rows whose selection was proven
    unproven: int  # queries whose neighbours were not provably the nearest at first

    @property
    def name(self) -> str:
        """The size of the search: n, Q, d and k."""
        return f"{self.n:,} · {self.queries:,} · {self.dimension:,} · {self.k:,}"

    @property
    def floor(self) -> float | None:
        """The time to read all distances once, in milliseconds; None without a ceiling."""
        return self.n * self.queries * 4 / self.ceiling * 1e3 if self.ceiling else None

    @property
    def over_floor(self) -> float | None:
        """The selection time over the time to read its input; None without a ceiling."""
        return self.medians["selection"] / self.floor if self.floor else None


def read(directories: Iterable[Path]) -> list[Search]:
    """Read the searches of directories; raises PlotError."""
    searches = []
    for directory in directories:
        whole = load_whole(directory)
        for number, cell in enumerate(whole.cells, 1):
            try:
                on_gpu = cell.get("task") == "knn" and cell["executor"] == "cuda"
                if on_gpu and cell["stages"].get("selection"):
                    searches.append(_search(cell, whole.run, whole.meta))
            except (KeyError, TypeError) as e:
                message = f"{directory}: cell {number} is no timed search: {e!r}"
                raise PlotError(Failure.INPUT, message) from e
    # A low ceiling would make a selection look better, so the highest of the GPU counts.
    highest: dict[str, float] = defaultdict(float)
    for s in searches:
        highest[s.place] = max(highest[s.place], s.ceiling)
    return [replace(s, ceiling=highest[s.place]) for s in searches]


def _search(cell: Mapping[str, Any], run: Run, meta: Mapping[str, Any]) -> Search:
    problem, counts = cell["problem"], cell["counts"]
    whole = numpy.array(cell["time"]["rounds"])
    samples = {name: _rounds(cell, name, len(whole)) / 1e6 for name in (*STAGES, "bare_product")}
    samples["elapsed"] = whole / 1e6
    samples["adds"] = samples["elapsed"] - samples["distance"]
    quartiles = {stage: numpy.percentile(s, [25, 50, 75]) for stage, s in samples.items()}
    return Search(
        n=problem["n"],
        queries=problem["q"],
        dimension=problem["dimension"] or cell["input"]["dimension"],
        k=problem["k"],
        product=cell["algorithm"]["settings"]["product"],
        place=run.gpu,
        algorithm=cell["algorithm"]["name"].split("+product=")[0],
        rounds=len(whole),
        medians={stage: float(q[1]) for stage, q in quartiles.items()},
        quartiles={stage: (float(q[0]), float(q[2])) for stage, q in quartiles.items()},
        ceiling=meta["floor"].get("cuda", {"read": 0.0})["read"],
        tiles=(int(counts["query_tiles"]), int(counts["corpus_tiles"])),
        proven=int(counts.get("rows_proven", cell["verify"]["rows"])),
        unproven=int(counts["done_again"]),
    )


def _rounds(cell: Mapping[str, Any], stage: str, rounds: int) -> Any:
    """Return the stage's times by round, in ns; 0 of a stage that the search has not."""
    found = cell["stages"].get(stage)
    return numpy.array(found["rounds"]) if found else numpy.zeros(rounds)


_COLUMNS = ("n · Q · d · k", "product", "distance", "of it the bare product", "selection", "floor",
            "selection / floor", "merge", "order, proof", "done again", "norms", "all",
            "adds to distance", "not proven at first")  # fmt: skip


def _short(milliseconds: float) -> str:
    return f"{milliseconds:.4g}"


def markdown(searches: Sequence[Search]) -> str:
    """Return the table: milliseconds, medians and for some stages quartiles."""
    lines = ["| " + " | ".join(_COLUMNS) + " |", "|" + "--:|" * len(_COLUMNS)]
    for s in searches:
        plain = {name: _short(ms) for name, ms in s.medians.items()}
        spread = {name: f"{plain[name]} [{_short(low)}, {_short(high)}]"
                  for name, (low, high) in s.quartiles.items()}  # fmt: skip
        cells = [s.name, s.product, spread["distance"], plain["bare_product"],
                 spread["selection"], _short(s.floor) if s.floor else "-",
                 f"{s.over_floor:.2f}" if s.over_floor else "-",
                 plain["merge"], plain["order"], plain["redo"], plain["norms"],
                 spread["elapsed"], plain["adds"], f"{s.unproven:,}"]  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def draw(searches: Sequence[Search]) -> list[Drawing]:
    """Draw one figure for each GPU."""
    return one_a_place(searches, _drawing)


def _drawing(place: str, searches: Sequence[Search]) -> Drawing:
    figure = Figure(figsize=(9.6, 0.9 + 0.28 * len(searches)), layout="constrained")
    algorithms = ", ".join(sorted({s.algorithm for s in searches}))
    figure.suptitle(style.literal(f"k-NN by {algorithms} on one {place}: n · Q · d · k"))
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(2, 1))
    _stages(left, searches)
    _over_floor(right, searches)
    left.set_yticks(range(len(searches)), [_label(s) for s in searches])
    left.invert_yaxis()
    told = [stage for stage in searches[0].medians if any(s.medians[stage] for s in searches)]
    rows = [_row(s, stage) for s in searches for stage in told]
    rows += [_floor_row(s, s.floor) for s in searches if s.floor]
    return Drawing(f"knn-end-to-end-{'-'.join(place.lower().split())}", figure, rows)


def _label(s: Search) -> str:
    return f"{s.name}, {s.product}"


def _row(s: Search, stage: str) -> dict[str, object]:
    low, high = s.quartiles[stage]
    return {"n": s.n, "queries": s.queries, "dimension": s.dimension, "k": s.k,
            "product": s.product, "stage": stage,
            "median_ms": s.medians[stage], "q1_ms": low, "q3_ms": high,
            "rounds": s.rounds, "query_tiles": s.tiles[0], "corpus_tiles": s.tiles[1],
            "rows_proven": s.proven, "unproven_queries": s.unproven}  # fmt: skip


def _floor_row(s: Search, floor: float) -> dict[str, object]:
    return _row(s, "selection") | {"stage": "floor", "median_ms": floor, "q1_ms": floor, "q3_ms": floor}


def _stages(axes: Axes, searches: Sequence[Search]) -> None:
    lefts = [0.0] * len(searches)
    looks = style.looks_in_order(STAGES)
    for stage in [stage for stage in STAGES if any(s.medians[stage] for s in searches)]:
        widths = [s.medians[stage] / s.medians["elapsed"] for s in searches]
        axes.barh(range(len(searches)), widths, left=lefts, height=0.7,
                  color=looks[stage].colour, label=stage)  # fmt: skip
        lefts = [at + width for at, width in zip(lefts, widths, strict=True)]
    axes.set_xlim(0, max([1.02, *lefts]))
    axes.set_xlabel("share of the search")
    axes.legend(fontsize="x-small", loc="upper center", bbox_to_anchor=(0.5, -0.1),
                ncols=len(STAGES), frameon=False)  # fmt: skip


def _over_floor(axes: Axes, searches: Sequence[Search]) -> None:
    colour = style.looks_in_order(STAGES)["selection"].colour
    axes.barh(range(len(searches)), [s.over_floor or 0.0 for s in searches], height=0.7, color=colour)
    for at in (1.0, GOAL):
        axes.axvline(at, color=style.MUTED, linewidth=0.8, linestyle=":" if at == GOAL else "-")
    axes.set_xlabel("selection over reading the distances once")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code (docs/reference/exit-codes.md)."""
    parser = argparse.ArgumentParser(
        prog="python -m plots.knn_end_to_end", description="Tell where the time of k-NN goes."
    )
    nothing = "no searches of a GPU to draw; `kselect show RUN` prints the times of all"
    return draw_command(parser, arguments, RUNS, read, draw, nothing, markdown)


if __name__ == "__main__":
    sys.exit(main())
