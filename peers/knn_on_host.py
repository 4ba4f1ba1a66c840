"""Times k-NN on the host beside what it replaced and FAISS' IndexFlat, in turns within one run.

    python -m peers.knn_on_host build/cpu/bench/kselect_knn_on_host --out results/MACHINE/knn_on_host

Every turn is a process of its own, with one run that does not count and one that does. In a round each arm has one
turn, and the order changes from round to round. Where others share the machine, the processors' time tells more than the
clock's, so both are recorded. Vectors are normally distributed floats; making them is not timed. FAISS
builds no index for IndexFlat, and its answers for 100 queries are held against float64 distances. kselect's two arms must
agree in the sum of all indices. OPENBLAS_* is removed from the environment, so that every library chooses its kernels by
itself. faiss-cpu is not among kselect's requirements: `pip install faiss-cpu`, or name an interpreter that has it
(--faiss-python).
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

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


def measure(shape: dict[str, int], options: argparse.Namespace) -> dict[str, Any]:
    """Return the samples of all arms on one shape."""
    clock: dict[str, list[float]] = {arm: [] for arm in ARMS}
    processors: dict[str, list[float]] = {arm: [] for arm in ARMS}
    sums, wrong, version = set(), 0, ""
    for number in range(options.rounds):
        for arm in ARMS[number % 3 :] + ARMS[: number % 3]:
            took = turn(arm, shape, options)
            clock[arm].append(took["seconds"][-1])
            processors[arm].append(took["processor_seconds"][-1])
            if arm == "faiss":
                wrong, version = took["wrong_of_checked"], took["version"]
            else:
                sums.add(took["sum_of_indices"])
    if len(sums) != 1:
        sys.exit(f"peers.knn_on_host: the arms disagree on {shape}: sums of indices {sorted(sums)}")
    return {
        **shape,
        "unit": "s",
        "clock": summary(clock),
        "processors": summary(processors),
        "faiss": {"version": version, "checked_queries": CHECKED, "wrong_queries": wrong},
    }


def summary(samples: dict[str, list[float]]) -> dict[str, Any]:
    """Return samples with medians, extremes, and how many times as long as the blocks the others take."""
    medians = {arm: statistics.median(values) for arm, values in samples.items()}
    return {
        "median": medians,
        "least": {arm: min(values) for arm, values in samples.items()},
        "most": {arm: max(values) for arm, values in samples.items()},
        "over_blocks": {arm: median / medians["blocks"] for arm, median in medians.items()},
        "samples": samples,
    }


def main() -> None:
    """Measure and write the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("program", type=Path, nargs="?", help="kselect_knn_on_host")
    parser.add_argument("--out", type=Path, help="folder of the record, knn_on_host.json")
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
    # Not for a turn of FAISS, whose interpreter may have nothing else.
    from peers.machine import processor, sources  # noqa: PLC0415

    shape = {"n": options.n, "queries": options.queries, "dimension": options.dimension}
    record = {
        "what": "knn_on_host",
        "started": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        "git": sources(),
        "host": {"cpu": processor(), "threads": len(os.sched_getaffinity(0))},
        "load_before": list(os.getloadavg()),
        "shapes": [
            measure({**shape, "k": k, "threads": threads}, options)
            for threads in (1, 2)
            for k in (10, 100)
        ],
    }
    record["load_after"] = list(os.getloadavg())
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "knn_on_host.json").write_text(json.dumps(record, indent=1) + "\n")
    for of in record["shapes"]:
        for kind in ("clock", "processors"):
            times = ", ".join(
                f"{arm} {1e3 * of[kind]['median'][arm]:.0f} ms ({of[kind]['over_blocks'][arm]:.2f})"
                for arm in ARMS
            )
            print(f"k = {of['k']}, threads {of['threads']}, {kind}: {times}")


if __name__ == "__main__":
    main()
