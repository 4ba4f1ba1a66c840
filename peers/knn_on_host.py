"""Times k-NN on the host beside what it replaced and FAISS' IndexFlat, in turns within one run.

    python -m peers.knn_on_host build/cpu/bench/kselect_knn_on_host --out results/MACHINE/knn_on_host

Every turn is a process of its own, with one run that does not count and one that does. In a round each arm has one
turn, and the order changes from round to round. Where others share the machine, the processors' time tells more than the
clock's, so both are recorded. Vectors are normally distributed floats; making them is not timed. FAISS
builds no index for IndexFlat, and its answers for 100 queries are held against float64 distances. kselect's two arms must
agree in the sum of all indices. OPENBLAS_* is removed from the environment, so that every library chooses its kernels by
itself. faiss-cpu is not among kselect's requirements: `pip install faiss-cpu`, or name an interpreter that has it
(--faiss-python). OUT is a run with a cell of each arm for each search; the stage `processors` is the processors' time.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from peers import recorded, searched
from peers.machine import meta_of

ARMS = ("blocks", "products", "faiss")
CHECKED = 100  # queries of FAISS' answer


def faiss_turn(n: int, queries: int, dimension: int, k: int, threads: int, runs: int) -> dict[str, Any]:
    """Time IndexFlatL2 in this process."""
    import faiss  # type: ignore[import-not-found]  # noqa: PLC0415
    import numpy as np  # noqa: PLC0415

    faiss.omp_set_num_threads(threads)
    random = np.random.default_rng(1)
    base = random.standard_normal((n, dimension), dtype=np.float32)
    query = random.standard_normal((queries, dimension), dtype=np.float32)
    index = faiss.IndexFlatL2(dimension)
    index.add(base)
    seconds, processors = [], []
    found = None
    for _ in range(runs):
        worked, begin = time.process_time(), time.perf_counter()
        _, found = index.search(query, k)
        seconds.append(time.perf_counter() - begin)
        processors.append(time.process_time() - worked)
    some = query[:CHECKED].astype(np.float64)
    squares = (base.astype(np.float64) ** 2).sum(axis=1)
    exact = squares - 2 * some @ base.astype(np.float64).T
    right = np.sort(np.argpartition(exact, k, axis=1)[:, :k], axis=1)
    wrong = int((np.sort(found[:CHECKED], axis=1) != right).any(axis=1).sum())
    return {
        "seconds": seconds,
        "processor_seconds": processors,
        "wrong_of_checked": wrong,
        "version": faiss.__version__,
    }


def turn(arm: str, shape: dict[str, int], options: argparse.Namespace) -> dict[str, Any]:
    """Run one arm once in a process of its own."""
    numbers = [str(shape[key]) for key in ("n", "queries", "dimension", "k", "threads")] + ["2"]
    if arm == "faiss":
        command = [options.faiss_python, "-m", "peers.knn_on_host", "--turn", *numbers]
    else:
        command = [str(options.program), arm, *numbers]
    environment = {key: text for key, text in os.environ.items() if not key.startswith("OPENBLAS_")}
    environment |= {"OMP_WAIT_POLICY": "passive", "OPENBLAS_NUM_THREADS": "1"}
    if arm == "faiss":
        environment["OPENBLAS_NUM_THREADS"] = str(shape["threads"])
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    except OSError as why:
        sys.exit(f"peers.knn_on_host: {command[0]}: {why.strerror}")
    if done.returncode != 0:
        sys.exit(f"peers.knn_on_host: {' '.join(command)}: {done.stderr.strip() or 'failed'}")
    return json.loads(done.stdout)


def measure(shape: dict[str, int], options: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the cells of all arms on one shape."""
    asked = searched.Asked(problem_of(shape), {"kind": "generated"}, shape["threads"])
    turns: dict[str, list[dict[str, Any]]] = {arm: [] for arm in ARMS}
    for number in range(options.rounds):
        for arm in ARMS[number % 3 :] + ARMS[: number % 3]:
            turns[arm].append(turn(arm, shape, options))
    sums = {took["sum_of_indices"] for arm in ARMS[:2] for took in turns[arm]}
    if len(sums) != 1:
        sys.exit(f"peers.knn_on_host: the arms disagree on {shape}: sums of indices {sorted(sums)}")
    return [cell_of(arm, asked, turns[arm]) for arm in ARMS]


def problem_of(shape: dict[str, int]) -> dict[str, Any]:
    """Return a shape's problem as `kselect run` states it, and its threads: one run has searches by one and by two."""
    return {
        "n": shape["n"], "q": shape["queries"], "k": shape["k"], "dtype": "float32", "index": "int32",
        "direction": "smallest", "payload": "values_and_indices", "layout": "row_major", "pitch": 0,
        "distribution": "normal", "seed": 1, "dimension": shape["dimension"], "metric": "sqeuclidean", "queries": "separate",
        "threads": shape["threads"],
    }  # fmt: skip


def cell_of(arm: str, asked: searched.Asked, turns: list[dict[str, Any]]) -> dict[str, Any]:
    """Return an arm's cell. In both of kselect's ways `auto` selects."""
    facts, settings = facts_of(arm, turns[-1])
    clock, processors = (
        [round(1e9 * took[name][-1], 1) for took in turns] for name in ("seconds", "processor_seconds")
    )
    cell = searched.cell(facts, asked, ("ok", "", clock), settings, "peers/knn_on_host.py")
    cell["stages"]["processors"] = searched.beside(processors)
    if arm == "faiss":
        return searched.judged_rival(cell, CHECKED - turns[-1]["wrong_of_checked"], CHECKED)
    agree = "its sum of all indices is that of the other method"
    return cell | {"verify": searched.proof(agree, asked.problem["q"], len(turns))}


def facts_of(arm: str, took: dict[str, Any]) -> tuple[recorded.Facts, dict[str, str]]:
    """Return an arm's facts and settings."""
    if arm == "faiss":
        return searched.facts_of("faiss-cpu", f"faiss {took['version']}, IndexFlatL2", "cpu", "peers/knn_on_host.py"), {}
    name = "auto" if arm == ARMS[0] else f"auto+by={arm}"
    facts = searched.facts_of(name, "kselect", "cpu", "bench/knn_on_host.cpp")
    return replace(facts, family="auto"), {"by": arm}


def main() -> None:
    """Measure and write the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("program", type=Path, nargs="?", help="kselect_knn_on_host")
    parser.add_argument("--out", type=Path, help="run directory to write")
    parser.add_argument("--rounds", type=int, default=9, help="(%(default)s)")
    parser.add_argument("--n", type=int, default=100_000, help="corpus vectors (%(default)s)")
    parser.add_argument("--queries", type=int, default=1000, help="(%(default)s)")
    parser.add_argument("--dimension", type=int, default=128, help="(%(default)s)")
    parser.add_argument("--faiss-python", default=sys.executable, help="an interpreter with faiss-cpu")
    parser.add_argument("--turn", type=int, nargs=6, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.turn:
        print(json.dumps(faiss_turn(*options.turn)))
        return
    if options.program is None or options.out is None:
        parser.error("give the program and --out")
    meta = meta_of({"name": "knn_on_host", "task": "knn"}, [])
    meta |= {"run": options.out.name, "state": "complete", "arguments": recorded.command_line()}
    meta["host"]["load_before"] = list(os.getloadavg())
    shape = {"n": options.n, "queries": options.queries, "dimension": options.dimension}
    cells = [
        cell
        for threads in (1, 2)
        for k in (10, 100)
        for cell in measure({**shape, "k": k, "threads": threads}, options)
    ]
    meta["host"]["load_after"] = list(os.getloadavg())
    meta["rivals"] = [{"name": "faiss-cpu", "source": cells[-1]["algorithm"]["source"]}]
    options.out.mkdir(parents=True, exist_ok=True)
    recorded.write_meta(options.out, meta)
    (options.out / "runs.jsonl").write_text("".join(map(recorded.sealed, cells)))
    for cell in cells:
        times = [(cell["time"] or cell["stages"]["search"])["median"], cell["stages"]["processors"]["median"]]
        clock, processors = (f"{ns / 1e6:.0f} ms" for ns in times)
        what = f"k = {cell['problem']['k']}, threads {cell['threads']}"
        print(f"{what}, {cell['algorithm']['name']}: {clock}, of processors {processors}")


if __name__ == "__main__":
    main()
