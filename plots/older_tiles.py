"""Makes cells of the old records of searches in tiles (read by `plots.older_searches`).

scaling.jsonl had a line a search: {"experiment", "repeat", "record"}. Searches of equal settings are
the rounds of one cell. A line kept under two experiments counts once. `{"experiment": "file"}` says
how long a file alone took to read; meta.json keeps those lines as they are.
"""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

Json = dict[str, Any]

SCALING = "scaling.jsonl"
_CONSECUTIVE = ("queries", "read_wait", "ranks_wait", "exchange", "merge", "write_wait")
_BESIDE = ("setup", "load", "nearest", "read", "write")


def searches_of(lines: Iterable[Json]) -> tuple[tuple[Json, ...], list[Json]]:
    """Return the records of different searches, and the lines that are no search."""
    found, others = [], []
    for line in lines:
        if "record" not in line:
            others.append(line)
        elif line["record"] not in found:
            found.append(line["record"])
    return tuple(found), others


def groups_of(records: Sequence[Json]) -> list[list[Json]]:
    """Return the records by equal searches, in the order of the first of each."""
    groups: dict[str, list[Json]] = {}
    for record in records:
        asked = (record["request"], record["algorithm"], record["executor"], record["exchange"],
                 len(record["ranks"]), record["git"]["commit"])  # fmt: skip
        groups.setdefault(repr(asked), []).append(record)
    return list(groups.values())


def parts_of(rounds: Sequence[Json]) -> Json:
    """Return the members of the cell of some equal searches that only searches in tiles have."""
    last = rounds[-1]
    request, ranks = last["request"], last["ranks"]
    query = "graph" if request["exclude_self"] else "graph with self"
    problem = {
        "n": request["n"], "q": request["queries"], "k": request["k"],
        "dimension": request["dimension"], "metric": request["metric"],
        "queries": query if request["self"] else "separate",
    }  # fmt: skip
    filtered = request.get("product") == "float16"
    product = request.get("product") or ("tf32" if request["tf32"] else "float32")
    settings = {"product": product} | ({} if filtered else {"prove": request["prove"]})
    settings |= {"ranks": len(ranks), "exchange": last["exchange"],
                 "memory_limit": request["memory_bytes"] >> 20}  # fmt: skip
    if request["device_memory_bytes"]:
        settings["device_memory"] = request["device_memory_bytes"] >> 20
    counts = {name: float(sum(r[own] for r in ranks)) for name, own in
              (("done_again", "unproven_queries"), ("rows_proven", "rows_proven"),
               ("corpus_tiles", "corpus_tiles"), ("bytes_read", "bytes_read"))}  # fmt: skip
    counts |= {"query_tiles": float(last["query_tiles"]), "query_tile": float(last["query_tile"]),
               "resident_ranks": float(sum(r["resident"] for r in ranks))}  # fmt: skip
    return {
        "problem": problem,
        "settings": settings,
        "counts": counts,
        "input": {"kind": "dataset", "name": ", ".join(request["base"]), "hash": "",
                  "query_hash": "", "dimension": request["dimension"]},
        "proven": filtered or request["prove"] != "none",
        "rounds": [r["ranks"][0]["time"]["search"] for r in rounds],
        "stages": stages_of(rounds),
        "ranks": ranks,
    }  # fmt: skip


def stages_of(rounds: Sequence[Json]) -> dict[str, tuple[bool, list[float]]]:
    """Return of each stage whether it is part of the time, and its nanoseconds by round."""
    stages: dict[str, tuple[bool, list[float]]] = {}

    def add(name: str, values: Iterable[float], *, of_time: bool) -> None:
        stages.setdefault(name, (of_time, []))[1].append(max(fmean(values), 0.0))

    for record in rounds:
        ranks = record["ranks"]
        computes = [_compute(rank) for rank in ranks]
        add("compute", computes, of_time=True)
        for name in _CONSECUTIVE:
            add(name, (_waited(rank, name) for rank in ranks), of_time=True)
        for name in _BESIDE:
            add(name, (rank["time"].get(name, 0.0) for rank in ranks), of_time=False)
        for name in ranks[0]["gpu_time"] or ():
            add(f"gpu_{name}", (rank["gpu_time"][name] for rank in ranks), of_time=False)
        add("read_slowest", [max(rank["time"]["read"] for rank in ranks)], of_time=False)
        add("compute_slowest", [max(computes)], of_time=False)
    return stages


def _loaded_before(rank: Mapping[str, Any]) -> bool:
    """Tell whether the rank's corpus was read and prepared before the search."""
    return "load" in rank["time"] and rank["resident"]


def _waited(rank: Mapping[str, Any], name: str) -> float:
    return 0.0 if name == "read_wait" and _loaded_before(rank) else float(rank["time"][name])


def _compute(rank: Mapping[str, Any]) -> float:
    if rank["gpu_time"] is None:
        return float(rank["time"]["nearest"] - rank["time"]["read_wait"])
    before = rank["gpu_time"].get("prepare", 0.0) if _loaded_before(rank) else 0.0
    return float(sum(rank["gpu_time"].values()) - before)
