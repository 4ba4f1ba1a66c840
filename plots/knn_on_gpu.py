"""Exact k-NN on a GPU beside other libraries: `python -m plots.knn_on_gpu DIR [DIR ...]`.

Reads DIR/knn_on_gpu.jsonl, written by `python -m peers.knn_on_gpu`, prints a Markdown table and
draws for each GPU the time of every search and library, as medians with the range of the samples.
Beside a time stands how many of the checked rows were exact, and beside kselect's the share of the
ceiling: what a plain product in float16 reached on that GPU in the same run.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from plots import style
from plots.command import draw_command
from plots.figures import Drawing
from plots.files import read_lines

FILE = "knn_on_gpu.jsonl"
OWN = "kselect float16"


@dataclass(frozen=True)
class Outcome:
    """One library's part in a search; times in milliseconds."""

    median: float
    least: float
    most: float
    exact: int  # of the checked rows


@dataclass(frozen=True)
class Search:
    """One search and all that took part in it."""

    name: str
    place: str
    checked: int  # rows of every answer that were compared with all float64 distances
    share: float | None  # of the ceiling of products, of kselect's whole search
    prepared: float  # the time in which kselect prepared the corpus, before
    outcomes: Mapping[str, Outcome]


def read(directories: Iterable[Path]) -> list[Search]:
    """Read the searches of directories; raises PlotError."""
    return list(read_lines(directories, FILE, _search, "record of a search beside others"))


def _search(record: Mapping[str, Any]) -> Search:
    shape, own = record["shape"], record["arms"][OWN]
    kind = ", graph" if shape["graph"] else ""
    return Search(
        name=f"{shape['n']:,} · {shape['queries']:,} · {shape['dimension']:,} · {shape['k']:,}{kind}",
        place=record["gpu"]["name"],
        checked=record["checked"],
        share=own["product"]["share_of_ceiling"],
        prepared=own["stages_ms"]["prepare"],
        outcomes={
            name: Outcome(arm["ms"], min(arm["samples_ms"]), max(arm["samples_ms"]), arm["exact"])
            for name, arm in record["arms"].items()
        },
    )


def _names(searches: Sequence[Search]) -> list[str]:
    """Return the libraries of some searches, in the order of their records."""
    return list(dict.fromkeys(name for s in searches for name in s.outcomes))


def _share(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.0f} %"


def markdown(searches: Sequence[Search]) -> str:
    """Return the table: milliseconds, in brackets the exact rows of those checked."""
    names = _names(searches)
    head = ["n · Q · d · k", *names, "share of the ceiling", "preparing the corpus"]
    lines = ["| " + " | ".join(head) + " |", "|---|" + "--:|" * (len(head) - 1)]
    for s in searches:
        cells = [s.name]
        for name in names:
            o = s.outcomes.get(name)
            cells.append("" if o is None else f"{o.median:.4g} ({o.exact}/{s.checked})")
        lines.append("| " + " | ".join([*cells, _share(s.share), f"{s.prepared:.3g}"]) + " |")
    return "\n".join(lines) + "\n"


def draw(searches: Sequence[Search]) -> list[Drawing]:
    """Draw one figure for each GPU."""
    places: dict[str, list[Search]] = defaultdict(list)
    for s in searches:
        places[s.place].append(s)
    return [_drawing(place, members) for place, members in sorted(places.items())]


def _drawing(place: str, searches: Sequence[Search]) -> Drawing:
    names = _names(searches)
    looks = style.looks_in_order(names)
    bars = [(s, name) for s in searches for name in names if name in s.outcomes]
    figure = Figure(figsize=(9.6, 1.4 + 0.24 * len(bars) + 0.1 * len(searches)), layout="constrained")
    figure.suptitle(style.literal(f"Exact k-NN on one {place}: n · Q · d · k"))
    axes = figure.subplots()
    at, ticks, before = 0.0, [], None
    for s, name in bars:
        at += 1.0 if s is before else 1.7
        before = s
        o = s.outcomes[name]
        axes.barh(at, o.median, height=0.8, color=looks[name].colour,
                  xerr=[[o.median - o.least], [o.most - o.median]], error_kw={"linewidth": 0.8})  # fmt: skip
        of_ceiling = f", {_share(s.share)} of the ceiling" if name == OWN and s.share else ""
        text = f"  {o.median:.3g} ms, {o.exact} of {s.checked} rows exact{of_ceiling}"
        axes.text(o.most, at, text, va="center", fontsize="x-small")
        ticks.append((at, f"{s.name}  {name}" if name == next(iter(s.outcomes)) else name))
    axes.set_yticks([tick for tick, _ in ticks], [style.literal(label) for _, label in ticks], fontsize="x-small")
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlim(right=50 * max(s.outcomes[name].most for s, name in bars))
    axes.set_xlabel("milliseconds, from vectors on the GPU to ordered neighbours; the corpus is prepared")
    rows = [_row(s, name) for s, name in bars]
    return Drawing(f"knn-on-gpu-{'-'.join(place.lower().split())}", figure, rows)


def _row(s: Search, name: str) -> dict[str, object]:
    o = s.outcomes[name]
    return {"search": s.name, "library": name, "median_ms": o.median, "min_ms": o.least, "max_ms": o.most,
            "exact_rows": o.exact, "checked_rows": s.checked,
            "share_of_ceiling": s.share if name == OWN else None}  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code (docs/reference/exit-codes.md)."""
    parser = argparse.ArgumentParser(
        prog="python -m plots.knn_on_gpu", description="Draw exact k-NN beside other libraries."
    )
    return draw_command(parser, arguments, FILE, read, draw, "no searches to draw", markdown)


if __name__ == "__main__":
    sys.exit(main())
