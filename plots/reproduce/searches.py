"""Reads and compares searches in metric indexes: cells of sweeps with `"task": "index"`.

A search is identified by its traits: kind of index, source (the objects' file without ending),
(`none_apart`: every distance, then a selection of rows), what, k, share (of the objects within the radius), radius, radius_rule, distribution, alpha, pivots,
walk (of kernels on a list of clusters), cluster_size, cluster_radius, batch, executor, threads, n,
intrinsic_dimension (of generated vectors); "-" stands for an absent trait. The kind of a list whose clusters have a
fixed radius is `list_of_clusters_of_radius`; `fused` is k-NN of vectors without an index (task `knn`), which is chosen by
this name alone. Its quantities are `time` (ns, all queries; compared by the query), `kernels` (the same of kernels alone,
from vectors in the GPU's memory), `throughput` (queries a second), `second_turns` (the share of the queries that the first
launch left), and for each query `distances` and `bytes` (read and written, counted on fibers).
`searches_figure` draws the thesis' figures; `python -m plots.index_searches` draws all searches of
a record.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from plots.cell_record import Run
from plots.errors import Failure, PlotError
from plots.files import RUNS
from plots.index_cells import FUSED, is_apart, is_search, traits_of, values_of
from plots.records import load_whole
from plots.reproduce.manifest import Table, check_keys

TRAITS = (
    *("kind", "source", "what", "k", "share", "radius", "radius_rule", "distribution", "alpha"),
    *("walk", "cluster_size", "cluster_radius", "pivots", "batch", "executor", "threads", "n"),
    "intrinsic_dimension",
)
QUANTITIES = {
    "time": "time of a query (µs)",
    "kernels": "time of a query in kernels (µs)",
    "throughput": "queries a second",
    "distances": "distances evaluated a query",
    "bytes": "bytes read and written a query",
    "second_turns": "share of queries with a second turn",
}
_LABELS = {
    "images": "Images",
    "faces": "Faces",
    "spanish": "Spanish",
    "spanish_table": "Spanish, by the dynamic programme",
    "t10k-images-idx3-ubyte": "MNIST",
    "list_of_clusters": "list of clusters",
    "list_of_clusters_of_radius": "list of clusters of a fixed radius",
    "sss": "SSS-Index",
    "none": "exhaustive",
    "none_apart": "exhaustive, distances and heaps apart",
    FUSED: "fused k-NN",
}
_FACTS = ("intrinsic_dimension", "clusters")  # the first from distances of sampled pairs
# If several executors have a quantity, the first of these counts.
_EXECUTORS = ("cuda", "fiber", "cpu")


@dataclass(frozen=True)
class Search:
    """One recorded search."""

    folder: str
    path: str  # of its journal, with the journal's digest
    machine: str
    commit: str
    traits: Mapping[str, Any]
    values: Mapping[str, float]  # by quantity
    interval: tuple[float, float] | None = None  # of the time, in ns; None of a single sample
    queries: int = 0
    digest: str = ""  # of the journal
    dirty: bool = False
    facts: Mapping[str, float] = field(default_factory=dict)  # of its data and index: _FACTS

    def fits(self, where: Table) -> bool:
        """Tell whether it matches every trait of `where`; a list matches any of its values."""
        if self.traits["kind"] == FUSED and "kind" not in where:
            return False
        return all(
            self.traits.get(key, "-") in (value if isinstance(value, list) else [value])
            for key, value in where.items()
        )


def searches_of(folder: Path) -> tuple[list[Search], tuple[str, ...]]:
    """Read a folder's searches, and warnings about a torn tail; raises PlotError(INPUT)."""
    whole = load_whole(folder)
    found = []
    for number, cell in enumerate(whole.cells, 1):
        try:
            if cell["status"] == "ok" and is_search(cell):
                found.append(_search(cell, whole.run, str(folder)))
        except (KeyError, TypeError, IndexError) as e:
            message = f"{folder}: cell {number} is no record of a search that is known: {e!r}"
            raise PlotError(Failure.INPUT, message) from e
    return found, whole.warnings


def _search(cell: Mapping[str, Any], run: Run, folder: str) -> Search:
    return Search(
        folder,
        f"{folder}/{RUNS} (sha256 {run.digest})",
        run.gpu if cell["executor"] == "cuda" else run.cpu,
        run.commit,
        traits_of(cell),
        values_of(cell),
        _interval(cell),
        int(cell["problem"]["q"]),
        run.digest,
        run.dirty,
        {name: value for name, value in cell.get("counts", {}).items() if name in _FACTS},
    )


def _interval(cell: Mapping[str, Any]) -> tuple[float, float] | None:
    """Return the interval of `values_of(cell)["time"]` in ns; None of a single sample."""
    time = cell["time"]
    if time is None or len(time["samples"]) < 2:
        return None
    low, high = time["ci95"]
    if is_apart(cell):  # distances and heaps are timed one after the other
        distances = cell["inputs"]["distances"]
        few = distances.get("samples") or [distances["median"]]
        low, high = low + min(few), high + max(few)
    return float(low), float(high)


def compare(
    searches: Sequence[Search], mine: Table, theirs: Table, quantity: str, context: str
) -> list[tuple[float, Search, Search]]:
    """Return theirs / mine of a quantity for pairs that differ only in the named traits."""
    for where in (mine, theirs):
        check_keys(where, TRAITS, context)
    if quantity not in QUANTITIES:
        names = ", ".join(QUANTITIES)
        raise PlotError(Failure.INPUT, f"{context}: no quantity is {quantity!r}; there are {names}")
    by_hand = {*mine, *theirs}
    pairs = ("source", "what", "k", "share", "radius", "n")
    same = [name for name in pairs if name not in by_hand]
    found = []
    for a in (s for s in searches if s.fits(mine) and s.values.get(quantity)):
        rivals = [
            b
            for b in searches
            if b.fits(theirs)
            and b.values.get(quantity)
            and all(a.traits.get(name) == b.traits.get(name) for name in same)
        ]
        if rivals:
            b = min(rivals, key=lambda b: (rank(b), b.values[quantity]))
            found.append((_by_query(b, quantity) / _by_query(a, quantity), a, b))
    return found


def _by_query(search: Search, quantity: str) -> float:
    value = search.values[quantity]
    return value / search.queries if quantity in ("time", "kernels") else value


def in_words(search: Search) -> str:
    """Return the traits that distinguish a search."""
    t = search.traits
    parts = [label("kind", t["kind"]), label("source", t["source"])]
    told = ("k", "share", "radius", "radius_rule", "walk", "distribution", "alpha", "pivots", "batch")
    parts += [_trait(name, t[name]) for name in told if name in t]
    on = {"cuda": "GPU", "fiber": "fibers", "cpu": f"{t.get('threads', 1)} thread(s)"}
    return ", ".join([*(part for part in parts if part), on.get(t["executor"], t["executor"])])


def _trait(name: str, value: object) -> str:
    if name == "k":
        return f"k = {value}"
    if name == "walk":
        return "" if value == "members" else f"by {value}"
    if name == "batch":
        return f"{value} a launch" if value else ""
    if name == "share":
        return f"{label(name, value)} of the objects"
    if name == "radius_rule":
        return f"{value} radius"
    if name == "distribution":
        return f"{value} distributed"
    return f"{name} {value}"


def label(trait: str, value: object) -> str:
    """Return a trait's value as figures and texts show it."""
    if trait == "share" and isinstance(value, float | int):
        return f"{100 * value:g} %"
    return _LABELS.get(str(value), str(value).replace("_", " "))


def rank(search: Search) -> int:
    """Return the place of its executor among those of which the first counts."""
    return _EXECUTORS.index(search.traits["executor"])
