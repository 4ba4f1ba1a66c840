"""The tables of the k-NN page, from records of searches below the folders given."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plots import index_searches, knn_end_to_end, knn_rivals, scaling
from plots.board.gather import has_rivals_in_searches
from plots.errors import PlotError
from plots.records import load_whole, tasks_of

Table = dict[str, Any]  # title, folder, about, heads, rows of texts and numbers


@dataclass
class Searches:
    """The tables, and a message for each record that could not be read."""

    tables: list[Table]
    failures: list[str]


def searches(roots: Sequence[Path]) -> Searches:
    """Make the tables of every record of k-NN searches at most two folders below `roots`."""
    found = Searches([], [])
    for root in roots:
        for folder in sorted({root, *root.glob("*/"), *root.glob("*/*/")}):
            for holds_it, tables in _KINDS:
                if not holds_it(folder):
                    continue
                name = folder.relative_to(root).as_posix()
                try:
                    found.tables += [t | {"folder": name, "kind": tables} for t in tables(folder)]
                except PlotError as e:
                    found.failures.append(str(e))
    order = [kind for _, kind in _KINDS]
    found.tables.sort(key=lambda table: order.index(table.pop("kind")))
    return found


def _table(title: str, about: str, heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> Table:
    """Return a table without the columns that are empty."""
    used = [i for i in range(len(heads)) if any(row[i] is not None for row in rows)]
    return {
        "title": title,
        "about": about,
        "heads": [heads[i] for i in used],
        "rows": [[row[i] for i in used] for row in rows],
    }


def _end_to_end(folder: Path) -> list[Table]:
    if has_rivals_in_searches(load_whole(folder)):
        return []
    by_place: dict[str, list[knn_end_to_end.Search]] = {}
    for s in knn_end_to_end.read([folder]):
        by_place.setdefault(s.place, []).append(s)
    heads = (
        *("corpus", "queries", "dimension", "k", "product", "algorithm"),
        *("all, ms", "distances, ms", "selection, ms", "selection over its floor", "rows proven"),
    )
    about = (
        "Medians of whole searches, and of their stages. The floor is the time to read all distances once "
        f"at the rate that memory was measured to have; the goal is {knn_end_to_end.GOAL:g} times that."
    )
    return [
        _table(f"Search end to end on one {place}", about, heads, [
            (
                s.n, s.queries, s.dimension, s.k, s.product, s.algorithm,
                *(_short(s.medians[stage]) for stage in ("elapsed", "distance", "selection")),
                None if s.over_floor is None else _short(s.over_floor, 3), s.proven,
            )
            for s in of
        ])
        for place, of in sorted(by_place.items())
    ]  # fmt: skip


def _scaling(folder: Path) -> list[Table]:
    found = scaling.read([folder])
    rows = []
    for experiment in ("strong", "weak"):
        of = [s for s in found if s.experiment == experiment]
        for gpus, share in scaling.efficiency(of, experiment).items():
            one = next(s for s in of if s.gpus == gpus)
            took = sorted(s.time for s in of if s.gpus == gpus)
            rows.append((
                experiment, gpus, one.n, one.queries, one.dimension, one.k, _short(took[len(took) // 2]),
                f"{100 * share:.3g} %",
            ))  # fmt: skip
    if not rows:
        return []
    heads = ("growth", "GPUs", "corpus", "queries", "dimension", "k", "median, s", "efficiency")
    about = (
        "Strong: the same search on more GPUs. Weak: a search that grows with them. Efficiency is one "
        f"GPU's time over that of all, times their number if strong; the goal is {100 * scaling.GOAL:g} %."
    )
    place = next(iter({s.place for s in found}))
    return [_table(f"Growing numbers of {place}", about, heads, rows)]


def _beside(folder: Path) -> list[Table]:
    if not has_rivals_in_searches(load_whole(folder)):
        return []
    heads = (
        *("corpus", "queries", "dimension", "k", "queries are", "threads", "library", "median, ms"),
        *("over kselect's", "processors, ms", "processors over kselect's", "exact rows of those checked"),
    )
    about = (
        "Exact search by kselect and by other libraries, in turns within one run. Medians of the time from "
        "vectors in memory to neighbours, and of the processors' time where other programs shared the machine. "
        "Rows of answers were compared with all float64 distances; an answer with another row is wrong, and its "
        "time is here alone."
    )
    rows: dict[str, list[tuple[Any, ...]]] = {}
    for s in knn_rivals.read([folder]):
        own, p = next(iter(s.outcomes.values())), s.problem
        rows.setdefault(s.place, []).extend(
            (
                p["n"], p["q"], p["dimension"], p["k"], p["queries"], p.get("threads"), name, _short(o.median),
                _short(o.median / own.median, 3), *_processors(o, own),
                None if o.rows is None else f"{o.rows[0]} of {o.rows[1]}",
            )
            for name, o in s.outcomes.items()
        )  # fmt: skip
    return [_table(f"Search beside other libraries, {place}", about, heads, of) for place, of in sorted(rows.items())]


def _processors(o: knn_rivals.Outcome, own: knn_rivals.Outcome) -> tuple[str | None, str | None]:
    time, owns = o.stages.get("processors"), own.stages.get("processors")
    return (_short(time), _short(time / owns, 3)) if time and owns else (None, None)


def _indexes(folder: Path) -> list[Table]:
    heads = (
        *("database", "method", "search", "k", "share", "executor", "threads", "batch"),
        *("µs a query", "distances a query"),
    )
    rows = [
        (
            s.database, s.method, s.what, s.k, s.share, s.executor, s.threads, s.batch or None,
            None if s.time is None else _short(s.time / 1e3), _optional(s.distances),
        )
        for s in index_searches.read([folder])
    ]  # fmt: skip
    about = (
        "Searches in metric spaces, exhaustive and by index. All hits are proven by all distances of "
        "their queries."
    )
    return [_table("Metric indexes", about, heads, rows)] if rows else []


def _optional(value: float | None) -> str | None:
    return None if value is None else _short(value)


def _short(value: float, digits: int = 4) -> str:
    return f"{value:.{digits}g}" if value < 10**digits else f"{value:.0f}"


_KINDS: tuple[tuple[Callable[[Path], bool], Callable[[Path], list[Table]]], ...] = (
    (lambda folder: "knn" in tasks_of(folder), _end_to_end),
    (lambda folder: "knn" in tasks_of(folder), _beside),
    (lambda folder: "knn" in tasks_of(folder), _scaling),
    (lambda folder: "index" in tasks_of(folder), _indexes),
)
