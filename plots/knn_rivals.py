"""Exact k-NN beside other libraries: `python -m plots.knn_rivals DIR [DIR ...]`.

Reads runs of `python -m peers.knn_on_gpu` and `peers.knn_on_host`, prints a Markdown table and draws
for each GPU or processor the time of every search and library, as medians with the range of the samples.
Beside a time stands how many of the checked rows were exact, and beside kselect's on a GPU the share of
the ceiling: what a plain product in float16 reached on that GPU in the same run.
"""

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from matplotlib.figure import Figure

from plots import style
from plots.command import draw_command, one_a_place
from plots.errors import Failure, PlotError
from plots.figures import Drawing
from plots.files import RUNS
from plots.records import Record, load_whole


@dataclass(frozen=True)
class Outcome:
    """One library's part in a search; times in milliseconds."""

    median: float
    least: float
    most: float
    rows: tuple[int, int] | None  # exact ones, of those compared with all float64 distances
    share: float | None  # of the ceiling of products
    stages: Mapping[str, float]


@dataclass(frozen=True)
class Search:
    """One search and all that took part in it, kselect first."""

    problem: Mapping[str, Any]
    place: str
    outcomes: Mapping[str, Outcome]

    @property
    def name(self) -> str:
        """The size of the search: n, Q, d and k."""
        sizes = " · ".join(f"{self.problem[size]:,}" for size in ("n", "q", "dimension", "k"))
        graph = ", graph" if self.problem["queries"] == "graph" else ""
        threads = f", threads {self.problem['threads']}" if "threads" in self.problem else ""
        return f"{sizes}{graph}{threads}"

    @property
    def prepared(self) -> float | None:
        """The time in which kselect prepared the corpus, before; None on a host."""
        return next(iter(self.outcomes.values())).stages.get("prepare")


def read(directories: Iterable[Path]) -> list[Search]:
    """Read the searches of directories; raises PlotError."""
    return [search for directory in directories for search in _searches(directory)]


def _searches(directory: Path) -> Iterable[Search]:
    whole = load_whole(directory)
    arms: dict[tuple[Any, ...], dict[str, Outcome]] = {}
    for number, (cell, record) in enumerate(zip(whole.cells, whole.records, strict=True), 1):
        try:
            # Of a wrong answer there is no time, but what it took is on record.
            took = cell["time"] or cell["stages"].get("search")
            if cell["task"] == "knn" and took:
                key = tuple(cell["problem"].items()), record.workload, record.machine
                arms.setdefault(key, {})[record.algorithm] = _outcome(took["rounds"], cell["counts"], record)
        except (KeyError, TypeError) as e:
            message = f"{directory}: cell {number} is no search beside others: {e!r}"
            raise PlotError(Failure.INPUT, message) from e
    for (problem, _, place), outcomes in arms.items():
        if _is_own(next(iter(outcomes))):  # without kselect's time there is nothing to compare with
            yield Search(dict(problem), place, outcomes)


def _is_own(algorithm: str) -> bool:
    return algorithm.partition("+")[0] == "auto"


def _outcome(rounds: Sequence[float], counts: Mapping[str, float], record: Record) -> Outcome:
    rows = (int(counts["rows_exact"]), int(counts["rows_checked"])) if "rows_checked" in counts else None
    stages = {stage.name: stage.median / 1e6 for stage in record.stages}
    times = [time / 1e6 for time in (median(rounds), min(rounds), max(rounds))]
    return Outcome(*times, rows, counts.get("share_of_products"), stages)


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
            cells.append("" if o is None else f"{o.median:.4g}" + (f" ({o.rows[0]}/{o.rows[1]})" if o.rows else ""))
        share = next(iter(s.outcomes.values())).share
        prepared = "" if s.prepared is None else f"{s.prepared:.3g}"
        lines.append("| " + " | ".join([*cells, _share(share), prepared]) + " |")
    return "\n".join(lines) + "\n"


def draw(searches: Sequence[Search]) -> list[Drawing]:
    """Draw one figure for each GPU or processor."""
    return one_a_place(searches, _drawing)


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
        exact = f", {o.rows[0]} of {o.rows[1]} rows exact" if o.rows else ""
        of_ceiling = f", {_share(o.share)} of the ceiling" if o.share else ""
        text = f"  {o.median:.3g} ms{exact}{of_ceiling}"
        axes.text(o.most, at, text, va="center", fontsize="x-small")
        ticks.append((at, f"{s.name}  {name}" if name == next(iter(s.outcomes)) else name))
    axes.set_yticks([tick for tick, _ in ticks], [style.literal(label) for _, label in ticks], fontsize="x-small")
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlim(right=50 * max(s.outcomes[name].most for s, name in bars))
    axes.set_xlabel("milliseconds, from vectors in memory to neighbours; on a GPU the corpus is prepared")
    rows = [_row(s, name) for s, name in bars]
    return Drawing(f"knn-rivals-{'-'.join(place.lower().split())}", figure, rows)


def _row(s: Search, name: str) -> dict[str, object]:
    o = s.outcomes[name]
    exact, checked = o.rows or (None, None)
    return {"search": s.name, "library": name, "median_ms": o.median, "min_ms": o.least, "max_ms": o.most,
            "exact_rows": exact, "checked_rows": checked, "share_of_ceiling": o.share}  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code (docs/reference/exit-codes.md)."""
    parser = argparse.ArgumentParser(
        prog="python -m plots.knn_rivals", description="Draw exact k-NN beside other libraries."
    )
    return draw_command(parser, arguments, RUNS, read, draw, "no searches to draw", markdown)


if __name__ == "__main__":
    sys.exit(main())
