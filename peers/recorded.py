"""Times a library's selection on the problems of a finished run, or of a config.

Each problem (row-major, values and indices) is generated anew, selected from, proven, timed and
proven again. The call allocates its outputs, as for the library's users; indices are 64-bit. A run
made from a finished run copies that run's meta.json, so it refuses any other machine. A run made
from a config has its own meta.json (peers/machine.py). kselect's program makes rows and proofs
(peers/program.py).
"""

import argparse
import hashlib
import json
import statistics
import sys
import tempfile
import time
import zlib
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from peers.machine import meta_of
from peers.program import ROOT, disprove, generate_rows
from peers.shapes import listed
from plots.errors import PlotError
from plots.intervals import interval
from plots.journal import SCHEMA
from plots.records import Loaded, Record, Run, load

ROUNDS = 11  # kselect's default, with one sample each


@dataclass(frozen=True)
class Facts:
    """The facts of a library that its records state."""

    name: str
    family: str
    source: str
    file: str  # the adapter, for the record and its hash
    executor: str
    clock: str
    cache: str  # "cold" or "warm" before each sample
    gap_hidden: bool  # whether calls are queued before the first of them begins


class Peer(Protocol):
    """A library's selection."""

    facts: Facts

    def machine(self) -> str:
        """Return the model name of the processor or GPU that it runs on."""

    def gpus(self) -> list[dict[str, Any]] | None:
        """Return meta.json's facts of the GPUs, the one it runs on first; None without any."""

    def rows(self, rows: np.ndarray) -> Any:
        """Return the whole input in the memory that the library reads."""

    def select(self, rows: Any, record: Record) -> Any:
        """Run the library once; return its answer."""

    def timed(self, rows: Any, record: Record) -> tuple[Any, float]:
        """Run it once; return its answer and the time in ns."""

    def on_host(self, answer: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return an answer's values and indices, Q x k each."""


def why_not(record: Record) -> str:
    """Return why a library is not given this problem; empty if it is."""
    if record.workload.startswith(("nan_fraction", "external")):
        return f"distribution {record.workload} is not asked for here"
    if record.lengths:
        return "rows of lengths of their own are not asked for here"
    if record.mask:
        return "masks are not asked for here"
    if record.payload != "values_and_indices":
        return f"payload {record.payload} is not supported"
    if record.dtype not in ("float32", "float64"):
        return f"dtype {record.dtype} is not supported"
    return ""


def problems(loaded: Loaded) -> list[Record]:
    """Return one record for each row-major, dense problem of a run."""
    seen: dict[tuple[Any, ...], Record] = {}
    for r in loaded.records:
        if r.layout == "row_major" and r.pitch == 0:
            seen.setdefault((r.n, r.q, r.k, r.dtype, r.direction, r.payload, r.workload, r.seed), r)
    return list(seen.values())


def measure(peer: Peer, record: Record) -> tuple[str, str, list[float]]:
    """Return status, reason and the samples in ns."""
    with tempfile.TemporaryDirectory() as folder:
        file = generate_rows(record, Path(folder))
        rows = peer.rows(np.load(file))

        def prove(answer: Any) -> str | None:
            return disprove(file, *peer.on_host(answer), largest=record.direction == "largest")

        answer = peer.select(rows, record)
        wrong = prove(answer)
        samples = []
        for _ in range(ROUNDS if wrong is None else 0):
            answer, elapsed = peer.timed(rows, record)
            samples.append(elapsed)
        wrong = wrong or prove(answer)
    return ("wrong", wrong, []) if wrong else ("ok", "", samples)


def summary(facts: Facts, samples: list[float]) -> dict[str, Any]:
    """Return the record's "time": order statistics as harness/measure makes them."""
    ordered = sorted(samples)
    q1, q3 = (float(quarter) for quarter in np.percentile(ordered, [25, 75]))
    far = 3 * (q3 - q1)
    return {
        "clock": facts.clock,
        "unit": "ns",
        "cache": facts.cache,
        "gap_hidden": facts.gap_hidden,
        "median": statistics.median(ordered),
        "q1": q1,
        "q3": q3,
        "min": ordered[0],
        "max": ordered[-1],
        "ci95": list(interval(ordered)),
        "stop": "max_samples",
        "rounds": samples,
        "round_sizes": [1] * len(samples),
        "samples": samples,
        "outliers": [i for i, s in enumerate(samples) if s < q1 - far or s > q3 + far],
        "wall": None,
        "batch": None,
        "sm_mhz": None,
    }


def line_of(peer: Peer, record: Record) -> str:
    """Measure one problem and return its line for runs.jsonl."""
    started, clock = datetime.now(UTC), time.monotonic()
    reason = why_not(record)
    outcome = ("unsupported", reason, []) if reason else measure(peer, record)
    return line(peer, record, started, time.monotonic() - clock, *outcome)


def line(
    peer: Peer,
    record: Record,
    started: datetime,
    elapsed: float,
    status: str,
    reason: str,
    samples: list[float],
) -> str:
    """Return an outcome's line for runs.jsonl; `elapsed` in seconds, samples in ns."""
    calls = ["peers/ragged_calls.py"] * bool(record.lengths or record.mask) + ["peers/masked_calls.py"] * bool(record.mask)
    value = cell(peer.facts, _problem_of(record), (status, reason, samples), *calls)
    value |= {"verify": _proof_of(record, status == "ok"), "started": at(started), "elapsed_s": elapsed}
    return sealed(value)


def cell(
    facts: Facts, problem: dict[str, Any], outcome: tuple[str, str, list[float]], *calls: str
) -> dict[str, Any]:
    """Return an outcome's record without its proof; `calls` are files beside the adapter that it depends on."""
    status, reason, samples = outcome
    source_hash = source_hash_of(facts.file, *calls)
    return {
        "schema": SCHEMA,
        "key": key_of(problem, facts.source, source_hash),
        "status": status,
        "reason": reason,
        "problem": problem,
        "input": {"kind": "generated"},
        "algorithm": {
            "name": facts.name, "family": facts.family, "source": facts.source,
            "file": facts.file, "source_hash": source_hash,
        },
        "executor": facts.executor,
        "threads": 1,
        "time": summary(facts, samples) if samples else None,
        **_NOT_KNOWN,
    }  # fmt: skip


def key_of(*identity: Any) -> str:
    """Return the hash of what makes a cell another one."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]


def at(time_: datetime) -> str:
    """Return a time as records state it."""
    return f"{time_:%Y-%m-%dT%H:%M:%SZ}"


def sealed(value: dict[str, Any]) -> str:
    """Return a record as a line of runs.jsonl, with its checksum."""
    text = json.dumps(value, separators=(",", ":"))
    return f'{text[:-1]},"crc32":"{zlib.crc32(text.encode()):08x}"}}\n'


def failed(raised: Exception) -> tuple[str, str, list[float]]:
    """Return the outcome of a library that raised."""
    first = (str(raised).strip().splitlines() or [""])[0]
    status = "out_of_memory" if "out of memory" in str(raised).lower() else "error"
    return status, f"{type(raised).__name__}: {first}"[:300], []


# What kselect's own records say, and nothing here measures.
_NOT_KNOWN = {
    "throttled": False, "pinned": False, "floor": None, "counters": None, "places": None, "graph": None,
    "gpu_state": None, "inputs": {"copies": 1, "fresh": False}, "workspace_bytes": 0,
}  # fmt: skip


def _problem_of(record: Record) -> dict[str, Any]:
    problem = {
        "n": record.n, "q": record.q, "k": record.k, "dtype": record.dtype,
        "index": "int64", "direction": record.direction, "payload": record.payload,
        "layout": "row_major", "pitch": 0, "distribution": record.workload, "seed": record.seed,
    }  # fmt: skip
    return problem | {name: value for name in ("lengths", "mask") if (value := getattr(record, name))}


def source_hash_of(*adapters: str) -> str:
    """Hash what measures and the adapters, so that a changed one is another cell."""
    root = Path(__file__).resolve().parents[1]
    code = Path(__file__).read_bytes() + b"".join((root / file).read_bytes() for file in adapters)
    return hashlib.sha256(code).hexdigest()[:16]


def _proof_of(record: Record, proven: bool) -> dict[str, Any]:
    return {
        "method": "certificate", "rows": record.q if proven else 0, "answers": 2 if proven else 0,
        "before": proven, "after": proven,
    }  # fmt: skip


def machine_of(run: Run, executor: str) -> str:
    """Return the model name of the processor or GPU of a run's cells on that executor."""
    return run.gpu if executor == "cuda" else run.cpu


def asked_by_run(peer: Peer, source: Path) -> tuple[list[Record], dict[str, Any]]:
    """Return the problems of a finished run, and its meta.json; refuse one of another machine."""
    loaded = load(source)
    was, this = machine_of(loaded.run, peer.facts.executor), peer.machine()
    if this != was:
        raise SystemExit(f"{source} was recorded on {was or 'no GPU'}, this is {this}")
    return problems(loaded), json.loads((source / "meta.json").read_text())


def command_line() -> list[str]:
    """The program's, whose path begins at the tree: `python -m` gives a path of this machine."""
    script = Path(sys.argv[0]).resolve()
    return [str(script.relative_to(ROOT)) if script.is_relative_to(ROOT) else script.name, *sys.argv[1:]]


def write_run(peer: Peer, source: Path, out: Path) -> None:
    """Time the library on every problem of a run or a config and write the run directory `out`."""
    if source.is_file():
        asked, meta = listed(source), meta_of(json.loads(source.read_text()), peer.gpus())
    else:
        asked, meta = asked_by_run(peer, source)
    meta |= {"run": out.name, "state": "running", "arguments": command_line()}
    out.mkdir(parents=True)
    write_meta(out, meta)
    with (out / "runs.jsonl").open("w") as journal:
        for record in asked:
            journal.write(line_of(peer, record))
            journal.flush()
    write_meta(out, meta | {"state": "complete"})


def write_meta(out: Path, meta: dict[str, Any]) -> None:
    """Write a run's meta.json."""
    (out / "meta.json").write_text(json.dumps(meta, indent=2) + "\n")


def main(description: str, peer: Peer) -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument(
        "run", type=Path, help="a finished run of kselect on this machine, or a config with shapes"
    )
    parser.add_argument("--out", type=Path, required=True, help="run directory to write")
    arguments = parser.parse_args()
    try:
        write_run(peer, arguments.run, arguments.out)
    except PlotError as problem:
        raise SystemExit(str(problem)) from None
