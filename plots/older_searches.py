"""Converts old records of searches to cells of a sweep: `python -m plots.older_searches DIR [DIR ...]`.

Before searches were cells (`"task": "knn"` and `"index"` in configs), they had records of their own:

    runs.jsonl with "what": "index_search"   by `kselect index ... --record`
    knn_end_to_end.jsonl                     by `kselect knn --timing --record`, a line a search
    *.json with "what": "knn"                the same, a file a search
    scaling.jsonl                            by `kselect knn --memory-limit --record` (plots.older_tiles)

Such a folder is rewritten in place: runs.jsonl.gz with a cell a search, and meta.json, whose
`converted_from` names the form, each old file with the SHA-256 of its (unpacked) bytes, and a commit
that has it (`git show COMMIT:FILE` shows the original; `plots.provenance` checks it). No number is changed: medians, quartiles and intervals
are computed from the old samples; totals of work are the old means times the queries. What was not
recorded is empty.
"""

import argparse
import gzip
import hashlib
import json
import subprocess
import sys
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy

from plots.errors import Failure, PlotError, exit_code
from plots.files import RUNS, packed, read_bytes, write_file
from plots.intervals import interval
from plots.journal import read_journal
from plots.older_tiles import SCALING, groups_of, parts_of, searches_of

Json = dict[str, Any]

_END_TO_END = "knn_end_to_end.jsonl"
_OF_MACHINE = ("git", "build", "host", "gpu")
_SOURCES = {
    "none": ("exhaustive search", "search/metric/space_of.hpp"),
    "list_of_clusters": ("Chavez & Navarro 2000", "search/metric/index.hpp"),
    "sss": ("Brisaboa et al. 2006", "search/metric/index.hpp"),
}


@dataclass(frozen=True)
class Old:
    """The old records of a folder."""

    form: str
    files: tuple[Path, ...]
    records: tuple[Json, ...]
    others: tuple[Json, ...] = ()  # lines of the files that are no searches


def old_records(folder: Path) -> Old | None:
    """Read a folder's old records of searches; None if it has none. Raises PlotError."""
    for file in (folder / RUNS, packed(folder / RUNS)):
        if file.is_file():
            records = read_journal(file)[0]
            is_old = bool(records) and records[0].get("what") == "index_search"
            return Old("index_search", (file,), tuple(records)) if is_old else None
    for file in (folder / _END_TO_END, packed(folder / _END_TO_END)):
        if file.is_file():
            lines = read_bytes(file).splitlines()
            return Old("knn", (file,), tuple(json.loads(line) for line in lines))
    for file in (folder / SCALING, packed(folder / SCALING)):
        if file.is_file():
            found_lines = [json.loads(line) for line in read_bytes(file).splitlines()]
            tiled, others = searches_of(found_lines)
            return Old("knn_in_tiles", (file,), tiled, tuple(others))
    files = tuple(sorted(folder.glob("*.json"))) if not (folder / "meta.json").exists() else ()
    found = {path: json.loads(read_bytes(path)) for path in files}
    chosen = [path for path in files if found[path].get("what") == "knn"]
    return Old("knn", tuple(chosen), tuple(found[path] for path in chosen)) if chosen else None


def convert(form: str, records: Sequence[Json]) -> list[Json]:
    """Return the cells that old records of one form become, in their order."""
    if form == "knn_in_tiles":
        made = [_of_tiles(rounds) for rounds in groups_of(records)]
    else:
        made = [{"index_search": _of_index, "knn": _of_knn}[form](record) for record in records]
    _name_variants(made)
    for cell in made:
        text = json.dumps(cell, sort_keys=True)
        cell["key"] = hashlib.sha256(text.encode()).hexdigest()[:16]
    return made


def meta_of(name: str, old: Old, commits: Mapping[Path, str]) -> Json:
    """Return meta.json of a converted run."""
    first = old.records[0]
    ceilings = [r["ceilings"] for r in old.records if r.get("ceilings")]
    task = {"index_search": "index", "knn_in_tiles": "knn"}.get(old.form, old.form)
    meta: Json = {
        "schema": 1,
        "run": name,
        "state": "complete",
        "started": min(r["started"] for r in old.records),
        "arguments": [],
        "config": {"name": name, "task": task},
        "input": {"kind": "dataset", "name": ", ".join(dict.fromkeys(_names(old.records)))},
        "cost_table": None,
        "floor": {"cuda": max(ceilings, key=lambda c: c["read"])} if ceilings else {},
        "converted_from": {
            "form": old.form,
            "files": [
                {"name": path.name, "sha256": hashlib.sha256(read_bytes(path)).hexdigest(),
                 "commit": commits.get(path, "")}
                for path in old.files
            ],
        } | ({"other_lines": list(old.others)} if old.others else {}),
    }  # fmt: skip
    if old.form == "knn_in_tiles":
        rank = first["ranks"][0]
        return meta | {name: first[name] for name in ("git", "build")} | {
            "host": rank["host"], "gpu": [rank["gpu"]] if rank["gpu"] else []}  # fmt: skip
    with_gpu = next((r for r in old.records if r.get("gpu")), first)
    return meta | {name: with_gpu.get(name) for name in _OF_MACHINE}


def _names(records: Iterable[Json]) -> Iterable[str]:
    for r in records:
        base = r["index"] if "index" in r else r["request"]["base"]
        yield ", ".join(base) if isinstance(base, list) else Path(base["source"]).name


def _cell(old: Json, task: str, problem: Json, algorithm: Json, **more: Any) -> Json:
    """Return a cell with what both tasks have in common."""
    usual = {"dtype": "float32", "index": "int64", "direction": "smallest",
             "payload": "values_and_indices", "layout": "row_major", "pitch": 0,
             "distribution": "", "seed": 0}  # fmt: skip
    sizes = {name: problem.pop(name) for name in ("n", "q", "k")}
    return {
        "schema": 1, "key": "", "status": "ok", "reason": "", "problem": sizes | usual | problem,
        "input": {}, "algorithm": algorithm, "executor": old["executor"],
        "threads": old["threads"], "time": None, "throttled": False, "pinned": False,
        "floor": None, "counters": None, "places": None, "graph": None, "gpu_state": None,
        "inputs": {"copies": 1, "fresh": False}, "workspace_bytes": 0, "verify": {},
        "started": old.get("started", ""), "elapsed_s": float(old.get("elapsed_s", 0)),
        "task": task, "stages": {}, "counts": {},
    } | more  # fmt: skip


def _of_index(old: Json) -> Json:
    index, search = old["index"], old["search"]
    queries, is_range = search["queries"], search["what"] == "range"
    share = search.get("share", 0.0)
    problem = {
        "n": index.get("objects", 0), "q": queries, "k": search.get("k", 1), "dimension": 0,
        "metric": index.get("metric", "euclidean"),
        "radius": 0.0 if share or not is_range else search.get("radius", 0.0), "share": share,
    }  # fmt: skip
    source, file = _SOURCES[index["kind"]]
    algorithm = {
        "name": index["kind"], "family": "metric index", "source": source, "file": file,
        "source_hash": index.get("source_hash", ""), "settings": _settings_of_index(index, search),
    }  # fmt: skip
    counts = {name: float(old[name]) for name in ("hits", "batches", "launches", "pending")
              if name in old}  # fmt: skip
    if "training_ns" in search:
        counts["training_seconds"] = search["training_ns"] / 1e9
    counts |= {name: search[name] for name in ("first_radius", "radius_step") if name in search}
    counts |= {name: float(index[name]) for name in ("clusters", "pivots", "diameter")
               if name in index}  # fmt: skip
    if is_range and "radius" in search:
        counts["radius"] = search["radius"]
    own = {"clusters": "clusters_visited"}
    for name, mean in ((old.get("work") or {}).get("per_query") or {}).items():
        counts[own.get(name, name)] = float(round(mean * queries))
    verify = old.get("verify", {})
    proven = verify.get("queries", 0)
    cell = _cell(old, "index", problem, algorithm, counts=counts)
    cell["input"] = {"kind": "dataset", "name": Path(index["source"]).name, "hash": index.get("hash", "")}
    cell["verify"] = _proof(f"all distances of {proven} queries", queries, bool(proven))
    time = old.get("time")
    if time is not None:
        cell["time"] = _time("steady", time.get("samples") or [time["median"]], time)
        if "kernels" in time:
            cell["stages"] = {"kernels": _stage(time["kernels"]["samples"], of_time=True)}
    return cell


def _settings_of_index(index: Mapping[str, Any], search: Mapping[str, Any]) -> Json:
    settings = {name: index[name] for name in ("cluster_size", "cluster_radius", "alpha")
                if name in index}  # fmt: skip
    if index["kind"] == "sss":
        settings["pivots"] = index.get("most_pivots", 0)
    if index["kind"] == "list_of_clusters" and "radius_rule" in search:
        settings["radius_rule"] = search["radius_rule"]
    if "distribution" in search:
        settings["distribution_rule"] = search["distribution"]
    return settings | {name: search[name] for name in ("batch", "block_threads") if name in search}


def _of_knn(old: Json) -> Json:
    request, options = old["request"], old["options"]
    base, query = request["base"], request.get("query") or request["base"]
    problem = {
        "n": base["count"], "q": request["queries"], "k": request["k"],
        "dimension": base["dimension"], "metric": request["metric"],
        "queries": "separate" if request.get("query") else "graph",
    }  # fmt: skip
    product = (old.get("product") or {}).get("type") or ("tf32" if options["tf32"] else "float32")
    settings = {"product": product, "half_product": "yes" if options["half_product"] else "no"}
    counts = {"rows_proven": float(old["verify"]["rows"]),
              "done_again": float(old["verify"]["unproven_queries"]),
              "query_tiles": float(old["tiles"]["queries"]),
              "corpus_tiles": float(old["tiles"]["corpus"])}  # fmt: skip
    counts |= {name: float(n) for name, n in (old.get("product") or {}).items()
               if name in ("survivors", "by_float64")}  # fmt: skip
    cell = _cell(old, "knn", problem, old["algorithm"] | {"settings": settings}, counts=counts)
    cell["input"] = {"kind": "dataset", "name": base["source"], "hash": base["hash"],
                     "query_hash": query["hash"], "dimension": base["dimension"]}  # fmt: skip
    cell["verify"] = _proof("certificate of selections", request["queries"],
                            old["verify"]["rows"] > 0)  # fmt: skip
    time = old["time"]
    counted = {name: s[time["left_out"] :] for name, s in time["samples"].items()}
    cell["time"] = _time(time["clock"], counted.pop("elapsed", counted["total"]))
    counted.pop("total")
    beside = ("prepare", "bare_product")
    cell["stages"] = {name: _stage(s, of_time=name not in beside) for name, s in counted.items()}
    return cell


def _of_tiles(rounds: Sequence[Json]) -> Json:
    last, parts = rounds[-1], parts_of(rounds)
    old = last | {"threads": last["ranks"][0]["threads"]}
    algorithm = last["algorithm"] | {"settings": parts["settings"]}
    cell = _cell(old, "knn", parts["problem"], algorithm, counts=parts["counts"])
    cell["input"], cell["ranks"] = parts["input"], parts["ranks"]
    cell["verify"] = _proof(f"as asked: {last['request']['prove']}", cell["problem"]["q"], parts["proven"])
    cell["time"] = _time("steady", parts["rounds"])
    cell["stages"] = {name: _stage(ns, of_time=of_time)
                      for name, (of_time, ns) in parts["stages"].items()}  # fmt: skip
    return cell


def _proof(method: str, rows: int, proven: bool) -> Json:
    return {"method": method, "rows": rows if proven else 0, "answers": int(proven),
            "before": proven, "after": False}  # fmt: skip


def _time(clock: str, samples: Sequence[float], said: Mapping[str, Any] | None = None) -> Json:
    """Return the time of samples; each is a round. Of a single one the interval is a point."""
    q1, median, q3 = (float(q) for q in numpy.percentile(samples, [25, 50, 75]))
    low, high = (said or {}).get("ci95") or interval(samples)
    return {"clock": clock, "unit": "ns", "cache": "warm", "gap_hidden": False, "median": median,
            "q1": q1, "q3": q3, "min": min(samples), "max": max(samples), "ci95": [low, high],
            "stop": "max_samples", "rounds": list(samples), "round_sizes": [1] * len(samples),
            "samples": list(samples), "outliers": [], "wall": None, "batch": None,
            "sm_mhz": None}  # fmt: skip


def _stage(samples: Sequence[float], *, of_time: bool) -> Json:
    return {"unit": "ns", "of_time": of_time, "median": float(numpy.median(samples)),
            "ci95": list(interval(samples)), "rounds": list(samples)}  # fmt: skip


def _name_variants(cells: Sequence[Json]) -> None:
    """Append the settings that differ among the cells of an entry to its name, as a sweep does."""
    values: dict[tuple[str, str], set[Any]] = {}
    for cell in cells:
        for axis, value in cell["algorithm"]["settings"].items():
            values.setdefault((cell["algorithm"]["name"], axis), set()).add(value)
    for cell in cells:
        name = cell["algorithm"]["name"]
        cell["algorithm"]["name"] += "".join(
            f"+{axis}={value:g}" if isinstance(value, float) else f"+{axis}={value}"
            for axis, value in cell["algorithm"]["settings"].items()
            if len(values[name, axis]) > 1
        )


def _line(cell: Json) -> bytes:
    text = json.dumps(cell, separators=(",", ":"), ensure_ascii=False)
    return f'{text[:-1]},"crc32":"{zlib.crc32(text.encode()):08x}"}}\n'.encode()


def rewrite(folder: Path) -> bool:
    """Convert a folder in place; returns whether it had old records. Raises PlotError.

    meta.json names the commit that made most of the records; a cell that another one made names it.
    """
    old = old_records(folder)
    if old is None:
        return False
    try:
        commits = Counter(r["git"]["commit"] for r in old.records)
        most = commits.most_common(1)[0][0] if commits else ""
        # The machine and the build are read from the first record: one of that commit.
        ordered = tuple(sorted(old.records, key=lambda r: bool(r["git"]["commit"] != most)))
        cells = convert(old.form, old.records)
        if old.form == "knn_in_tiles":
            _require_one(commits)
        else:
            for cell, record in zip(cells, old.records, strict=True):
                if record["git"]["commit"] != most:
                    cell["git"] = record["git"]
        history = {path: _commit_of(path) for path in old.files}
        meta = meta_of(folder.name, replace(old, records=ordered), history)
        data = b"".join(_line(cell) for cell in cells)
    except (KeyError, TypeError, ValueError) as e:
        raise PlotError(Failure.INPUT, f"{folder}: no record of searches that is known: {e!r}") from e
    write_file(packed(folder / RUNS), gzip.compress(data, compresslevel=9, mtime=0))
    write_file(folder / "meta.json", (json.dumps(meta, indent=1) + "\n").encode())
    for path in old.files:
        if path != packed(folder / RUNS):
            path.unlink()
    return True


def _require_one(commits: Mapping[str, int]) -> None:
    if len(commits) != 1:
        raise ValueError(f"searches in tiles of {len(commits)} commits")  # noqa: TRY003


def _commit_of(path: Path) -> str:
    """Return the last commit that wrote a file; "" outside of a checkout."""
    done = subprocess.run(["git", "log", "--diff-filter=AM", "--format=%H", "--", path.name], cwd=path.parent,
                          capture_output=True, text=True, check=False)  # fmt: skip
    return done.stdout.split("\n")[0] if done.returncode == 0 else ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code (docs/reference/exit-codes.md)."""
    parser = argparse.ArgumentParser(
        prog="python -m plots.older_searches", description="Convert old records of searches."
    )
    parser.add_argument("runs", nargs="+", type=Path, metavar="DIR", help="has old records")
    options = parser.parse_args(arguments)

    def work() -> None:
        for folder in options.runs:
            if not rewrite(folder):
                raise PlotError(Failure.INPUT, f"{folder}: has no old records of searches")
            print(folder)

    return exit_code("plots", work)


if __name__ == "__main__":
    sys.exit(main())
