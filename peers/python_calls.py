"""Times the calls of the Python package beside torch's, with torch's tensors, in one run.

    python -m peers.python_calls --out results/MACHINE/python_calls          # on a GPU, if torch finds one
    python -m peers.python_calls --out out/python_calls --device cpu

The package `kselect` must be importable, and torch installed. On a GPU a time is the host's: the
clock around CALLS calls, which the GPU's queue holds, divided by their number. The wait for their
work is not timed, and arms of whole graphs are the exception: their time is that of the graph's
work, by the clock around a replay that is waited for. In host memory a time is the processors',
with one thread, and has the selection in it. Arms take turns, round by round, in rotating order.
Before they are timed each arm's answer is compared with torch.topk's. OUT/python_calls.json is the
record; a call that fails is in it with its reason, and is not timed.
"""

import argparse
import importlib
import importlib.metadata
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from peers.machine import driver, processor, sources

FILE = "python_calls.json"
SHAPES = ((1, 2, 1), (4, 64, 4), (64, 1024, 8))  # Q, n, k
CALLS = {"cuda": 300, "cpu": 10_000}  # of a sample; a GPU's queue holds about 1000
ROUNDS = {"cuda": 15, "cpu": 10}
OF_GRAPH = 100  # calls in a graph
BASIS = "torch.topk"

Call = Callable[[], Any]


class Bench:
    """Calls on one device, and how they are timed."""

    def __init__(self, device: str, calls: int) -> None:
        """Import torch and kselect."""
        self.torch, self.kselect = importlib.import_module("torch"), importlib.import_module("kselect")
        self.device, self.calls = device, calls
        if device == "cpu":
            self.torch.set_num_threads(1)

    def wait(self) -> None:
        """Wait for the GPU."""
        if self.device == "cuda":
            self.torch.cuda.synchronize()

    def arms(self, q: int, n: int, k: int) -> tuple[Any, dict[str, Call]]:
        """Return rows, and calls that select from them, by name."""
        torch, top_k, where = self.torch, self.kselect.top_k, {"device": self.device}
        a = torch.randn(q, n, **where)
        out = torch.empty(q, k, **where), torch.empty(q, k, dtype=torch.int64, **where)
        lengths = torch.full((q,), n, dtype=torch.int32, **where)
        threads = {} if self.device == "cuda" else {"threads": 1}
        plan = self.kselect.plan(a, k, **threads)
        arms: dict[str, Call] = {
            BASIS: lambda: torch.topk(a, k),
            "torch.topk, out": lambda: torch.topk(a, k, out=out),
            "kselect.top_k": lambda: top_k(a, k, **threads),
            "kselect.top_k, unsorted": lambda: top_k(a, k, sorted=False, **threads),
            "kselect.top_k, out": lambda: top_k(a, k, out=out, **threads),
            "kselect.top_k, indices_only": lambda: top_k(a, k, indices_only=True, **threads),
            "kselect.top_k, lengths": lambda: top_k(a, k, lengths=lengths, **threads),
            "kselect.top_k, lengths, out": lambda: top_k(a, k, lengths=lengths, out=out, **threads),
            "kselect.plan": lambda: plan(a),
        }
        if self.device == "cpu":
            rows = a.numpy()
            arms["kselect.top_k, NumPy's"] = lambda: top_k(rows, k, **threads)
        return a, arms

    def disproved(self, found: Any, rows: Any) -> str:
        """Return what is wrong with an answer, values and indices or these alone; or nothing."""
        torch = self.torch
        indices = found[1] if isinstance(found, tuple) else found
        indices = torch.as_tensor(indices, device=self.device).long()
        at = rows.gather(1, indices)
        if isinstance(found, tuple) and not torch.equal(torch.as_tensor(found[0], device=self.device), at):
            return "the values are not where the indices point"
        right = torch.topk(rows, indices.shape[1]).values
        is_right = torch.equal(at.sort(dim=1, descending=True).values, right)
        return "" if is_right else "other elements than torch.topk's"

    def sample(self, call: Call) -> float:
        """Return the microseconds of one call."""
        clock = time.perf_counter if self.device == "cuda" else time.process_time
        turns = range(self.calls)
        begin = clock()
        for _ in turns:
            call()
        spent = clock() - begin
        self.wait()
        return spent / self.calls * 1e6

    def graph(self, call: Call) -> Call:
        """Return a replay of OF_GRAPH calls."""
        graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(graph):
            for _ in range(OF_GRAPH):
                call()
        return graph.replay

    def replayed(self, replay: Call) -> float:
        """Return the microseconds of one call of a graph."""
        begin = time.perf_counter()
        replay()
        self.wait()
        return (time.perf_counter() - begin) / OF_GRAPH * 1e6


def timed(arms: dict[str, tuple[Callable[[Any], float], Any]], rounds: int) -> dict[str, Any]:
    """Return each arm's times, and how many times as long as its basis' they are.

    An arm is a function that takes one time, and what it is called with.
    """
    names = list(arms)
    samples: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(rounds):
        at = turn % max(1, len(names))
        for name in names[at:] + names[:at]:
            function, argument = arms[name]
            samples[name].append(function(argument))
    medians = {name: statistics.median(times) for name, times in samples.items()}
    found = {}
    for name, times in samples.items():
        basis = f"graph of {BASIS}" if name.startswith("graph of ") else BASIS
        found[name] = {
            "microseconds": medians[name],
            "least": min(times),
            "most": max(times),
            "over_torch": medians[name] / medians[basis] if basis in medians else None,
            "samples": times,
        }
    return found


def measured(bench: Bench, shape: tuple[int, int, int], rounds: int) -> dict[str, Any]:
    """Return the record of a shape."""
    rows, calls = bench.arms(*shape)
    arms: dict[str, tuple[Callable[[Any], float], Any]] = {}
    failed = {}
    for name, call in calls.items():
        try:
            wrong = bench.disproved(call(), rows)
            for _ in range(50):
                call()
            bench.wait()
            if not wrong:
                arms[name] = bench.sample, call
                if bench.device == "cuda":
                    replay = bench.graph(call)
                    replay()
                    bench.wait()
                    arms[f"graph of {name}"] = bench.replayed, replay
        except (RuntimeError, ValueError, TypeError) as error:
            wrong = f"{type(error).__name__}: {error}".splitlines()[0]
        if wrong:
            failed[name] = wrong
    q, n, k = shape
    return {"q": q, "n": n, "k": k, "dtype": "float32", "arms": timed(arms, rounds), "failed": failed}


def record_of(bench: Bench, rounds: int) -> dict[str, Any]:
    """Return the whole record."""
    is_gpu = bench.device == "cuda"
    return {
        "schema": 1,
        "what": "python_calls",
        "started": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        "unit": "us",
        "git": sources(),
        "versions": {"kselect": bench.kselect.__version__, "python": sys.version.split()[0]}
        | {"torch": bench.torch.__version__, "numpy": importlib.metadata.version("numpy")},
        "host": {"cpu": processor(), "threads": len(os.sched_getaffinity(0))},
        "gpu": {"name": bench.torch.cuda.get_device_name(), "driver": driver()} if is_gpu else None,
        "clock": "host" if is_gpu else "processors",
        "calls": bench.calls,
        "load_before": list(os.getloadavg()),
        "shapes": [measured(bench, shape, rounds) for shape in SHAPES],
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and write the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add = parser.add_argument
    add("--out", type=Path, required=True, help=f"folder of the record, {FILE}")
    add("--device", choices=("cuda", "cpu"), help="(cuda, if torch finds a GPU)")
    add("--rounds", type=int, help="turns of every arm (15 on a GPU, else 10)")
    add("--calls", type=int, help="of a turn (300 on a GPU, else 10000)")
    options = parser.parse_args(arguments)
    try:
        has_gpu = importlib.import_module("torch").cuda.is_available()
        importlib.import_module("kselect")
    except ImportError as error:
        sys.exit(f"peers.python_calls: {error}; it times kselect's package beside torch's")
    device = options.device or ("cuda" if has_gpu else "cpu")
    if device == "cuda" and not has_gpu:
        sys.exit("peers.python_calls: torch finds no GPU; pass --device cpu")
    record = record_of(Bench(device, options.calls or CALLS[device]), options.rounds or ROUNDS[device])
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / FILE).write_text(json.dumps(record, indent=1) + "\n")
    for of in record["shapes"]:
        print(f"Q = {of['q']}, n = {of['n']}, k = {of['k']}")
        for name, arm in of["arms"].items():
            print(f"  {name}: {arm['microseconds']:.2f} us, {arm['over_torch']:.2f} of torch's")
        for name, why in of["failed"].items():
            print(f"  {name}: {why}")


if __name__ == "__main__":
    main()
