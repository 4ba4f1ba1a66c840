"""The stages of k-NN on a GPU and their times: `python -m plots.knn_end_to_end DIR [DIR ...]`.

Reads DIR/knn_end_to_end.jsonl, written by scripts/knn_end_to_end.sh, prints a Markdown table and
draws for each GPU:

    stages      each stage's share of the search time
    selection   selection time over the floor, the time to read all distances once at the ceiling

Times are medians of the counted repeats by the GPU's clock, spreads are quartiles. The stage
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
from plots.command import draw_command
from plots.figures import Drawing
from plots.files import read_lines

FILE = "knn_end_to_end.jsonl"
GOAL = 1.15  # for the selection time over the floor
STAGES = ("norms", "distance", "selection", "merge", "order", "redo")
_OTHERS = ("elapsed", "bare_product")


@dataclass(frozen=True)
class Search:
    """One recorded search; times in milliseconds."""

    n: int
    queries: int
    dimension: int
    k: int
    tf32: bool
    place: str
    algorithm: str
    repeats: int  # the counted ones
    medians: Mapping[str, float]  # by stage, and `adds`
    quartiles: Mapping[str, tuple[float, float]]
    ceiling: float  # bytes read a second: the highest that any process measured
    tiles: tuple[int, int]  # numbers of query tiles and corpus tiles
    proven: int  # rows whose selection was proven
    unproven: int  # queries whose neighbours were not provably the nearest at first

    @property
    def name(self) -> str:
        """The size of the search: n, Q, d and k."""
        return f"{self.n:,} · {self.queries:,} · {self.dimension:,} · {self.k:,}"

    @property
    def floor(self) -> float:
        """The time to read all distances once, in milliseconds."""
        return self.n * self.queries * 4 / self.ceiling * 1e3

    @property
    def over_floor(self) -> float:
        """The selection time over the time to read its input."""
        return self.medians["selection"] / self.floor


def read(directories: Iterable[Path]) -> list[Search]:
    """Read the searches of directories; raises PlotError."""
    searches = list(read_lines(directories, FILE, _search, "record of a timed search"))
    # A low ceiling would make a selection look better, so the highest of the GPU counts.
    highest: dict[str, float] = defaultdict(float)
    for s in searches:
        highest[s.place] = max(highest[s.place], s.ceiling)
    return [replace(s, ceiling=highest[s.place]) for s in searches]


def _search(record: Mapping[str, Any]) -> Search:
    request, time = record["request"], record["time"]
    samples = {
        stage: numpy.array(time["samples"][stage][time["left_out"] :]) / 1e6
        for stage in (*STAGES, *_OTHERS)
    }
    samples["adds"] = samples["elapsed"] - samples["distance"]
    quartiles = {stage: numpy.percentile(s, [25, 50, 75]) for stage, s in samples.items()}
    n, queries = request["base"]["count"], request["queries"]
    return Search(
        n=n,
        queries=queries,
        dimension=request["base"]["dimension"],
        k=request["k"],
        tf32=record["options"]["tf32"],
        place=record["gpu"][0]["name"],
        algorithm=record["algorithm"]["name"],
        repeats=len(samples["elapsed"]),
        medians={stage: float(q[1]) for stage, q in quartiles.items()},
        quartiles={stage: (float(q[0]), float(q[2])) for stage, q in quartiles.items()},
        ceiling=record["ceilings"]["read"],
        tiles=(record["tiles"]["queries"], record["tiles"]["corpus"]),
        proven=record["verify"]["rows"],
        unproven=record["verify"]["unproven_queries"],
    )


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
        cells = [s.name, "TF32" if s.tf32 else "float32", spread["distance"], plain["bare_product"],
                 spread["selection"], _short(s.floor), f"{s.over_floor:.2f}",
                 plain["merge"], plain["order"], plain["redo"], plain["norms"],
                 spread["elapsed"], plain["adds"], f"{s.unproven:,}"]  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def draw(searches: Sequence[Search]) -> list[Drawing]:
    """Draw one figure for each GPU."""
    places: dict[str, list[Search]] = defaultdict(list)
    for s in searches:
        places[s.place].append(s)
    return [_drawing(place, members) for place, members in sorted(places.items())]


def _drawing(place: str, searches: Sequence[Search]) -> Drawing:
    figure = Figure(figsize=(9.6, 0.9 + 0.28 * len(searches)), layout="constrained")
    algorithms = ", ".join(sorted({s.algorithm for s in searches}))
    figure.suptitle(style.literal(f"k-NN by {algorithms} on one {place}: n · Q · d · k"))
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(2, 1))
    _stages(left, searches)
    _over_floor(right, searches)
    left.set_yticks(range(len(searches)), [_label(s) for s in searches])
    left.invert_yaxis()
    rows = [_row(s, stage) for s in searches for stage in (*s.medians, "floor")]
    return Drawing(f"knn-end-to-end-{'-'.join(place.lower().split())}", figure, rows)


def _label(s: Search) -> str:
    return f"{s.name}, {'TF32' if s.tf32 else 'float32'}"


def _row(s: Search, stage: str) -> dict[str, object]:
    floor = stage == "floor"
    low, high = (s.floor, s.floor) if floor else s.quartiles[stage]
    return {"n": s.n, "queries": s.queries, "dimension": s.dimension, "k": s.k,
            "product": "tf32" if s.tf32 else "float32", "stage": stage,
            "median_ms": s.floor if floor else s.medians[stage], "q1_ms": low, "q3_ms": high,
            "repeats": s.repeats, "query_tiles": s.tiles[0], "corpus_tiles": s.tiles[1],
            "rows_proven": s.proven, "unproven_queries": s.unproven}  # fmt: skip


def _stages(axes: Axes, searches: Sequence[Search]) -> None:
    lefts = [0.0] * len(searches)
    looks = style.looks_in_order(STAGES)
    for stage in STAGES:
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
    axes.barh(range(len(searches)), [s.over_floor for s in searches], height=0.7, color=colour)
    for at in (1.0, GOAL):
        axes.axvline(at, color=style.MUTED, linewidth=0.8, linestyle=":" if at == GOAL else "-")
    axes.set_xlabel("selection over reading the distances once")


def _print_and_draw(searches: Sequence[Search]) -> list[Drawing]:
    if searches:
        print(markdown(searches))
    return draw(searches)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code (docs/reference/exit-codes.md)."""
    parser = argparse.ArgumentParser(
        prog="python -m plots.knn_end_to_end", description="Tell where the time of k-NN goes."
    )
    return draw_command(parser, arguments, FILE, read, _print_and_draw, "no searches to draw")


if __name__ == "__main__":
    sys.exit(main())
