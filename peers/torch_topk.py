"""Times `torch.topk` on the cells of a finished run, beside that run's own records.

    python -m peers.torch_topk results/MACHINE/RUN --out results/MACHINE/RUN-torch

Each problem of the run (uniform rows, row-major, values and indices) is generated anew, selected
from, proven and timed: CUDA events around one call, outputs allocated by the call as its users have
it. `sorted=False`, which is torch's faster form; indices are 64-bit, as torch gives them. torch is not among kselect's requirements; it must
be the one that the machine's GPU needs. The new run has the old one's meta.json, so it must be run
on the machine of that run: another GPU is refused.
"""

import argparse
import hashlib
import json
import statistics
import sys
import time
import zlib
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from peers.certificate import disprove
from peers.generator import uniform_rows
from plots.errors import PlotError
from plots.records import SCHEMA, Loaded, Record, load

ELEMENTS_AT_ONCE = 1 << 22  # elements generated or proven at a time
SAMPLES = 15


def why_not(record: Record) -> str:
    """Return why torch is not asked this problem; empty if it is."""
    if record.workload != "uniform":
        return f"distribution {record.workload} is not generated here"
    if record.payload != "values_and_indices":
        return f"payload {record.payload} is not supported"
    if record.dtype not in ("float32", "float64"):
        return f"dtype {record.dtype} is not generated here"
    return ""


def problems(loaded: Loaded) -> list[Record]:
    """Return one record for each problem of a run, as torch would be asked it."""
    seen: dict[tuple[Any, ...], Record] = {}
    for r in loaded.records:
        if r.layout == "row_major" and r.pitch == 0:
            seen.setdefault((r.n, r.q, r.k, r.dtype, r.direction, r.payload, r.workload, r.seed), r)
    return list(seen.values())


def chunks(record: Record) -> Iterable[tuple[int, int]]:
    """Yield (first row, rows) such that a chunk is small enough to generate at once."""
    step = max(1, ELEMENTS_AT_ONCE // record.n)
    for first in range(0, record.q, step):
        yield first, min(step, record.q - first)


def generated(record: Record, first: int, count: int) -> np.ndarray:
    """Return rows of the record's problem."""
    return uniform_rows(first, count, record.n, record.seed, np.dtype(record.dtype))


def rows_on_device(torch: Any, record: Record) -> Any:
    """Return the whole input as a tensor on the GPU."""
    rows = torch.empty((record.q, record.n), dtype=getattr(torch, record.dtype), device="cuda")
    for first, count in chunks(record):
        rows[first : first + count] = torch.from_numpy(generated(record, first, count))
    return rows


def prove(record: Record, values: Any, indices: Any) -> str | None:
    """Check an answer against the generated rows; return what is wrong, or None."""
    found, places = values.cpu().numpy(), indices.cpu().numpy()
    for first, count in chunks(record):
        part = slice(first, first + count)
        rows = generated(record, first, count)
        wrong = disprove(rows, found[part], places[part], largest=record.direction == "largest")
        if wrong:
            return f"rows from {first}: {wrong}"
    return None


def measure(torch: Any, record: Record) -> tuple[str, str, list[float]]:
    """Return status, reason and the samples in ns."""
    rows = rows_on_device(torch, record)

    def select() -> Any:
        return torch.topk(rows, record.k, dim=1, largest=record.direction == "largest", sorted=False)

    wrong = prove(record, *select())
    samples = []
    answer = None
    for _ in range(SAMPLES if wrong is None else 0):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        answer = select()
        end.record()
        torch.cuda.synchronize()
        samples.append(begin.elapsed_time(end) * 1e6)
    wrong = wrong or prove(record, *answer)
    return ("wrong", wrong, []) if wrong else ("ok", "", samples)


def summary(samples: list[float]) -> dict[str, Any]:
    """Return the record's "time": order statistics as harness/measure makes them."""
    ordered = sorted(samples)
    # For 15 samples the 4th smallest and the 4th largest enclose the median at 96.5 %.
    rank = 3
    quarters = statistics.quantiles(ordered, n=4, method="inclusive")
    return {
        "clock": "cuda_event",
        "unit": "ns",
        "median": statistics.median(ordered),
        "q1": quarters[0],
        "q3": quarters[2],
        "min": ordered[0],
        "max": ordered[-1],
        "ci95": [ordered[rank], ordered[-1 - rank]],
        "stop": "max_samples",
        "samples": samples,
    }


def line_of(torch: Any, record: Record) -> str:
    """Measure one problem and return its line for runs.jsonl."""
    started, clock = datetime.now(UTC), time.monotonic()
    reason = why_not(record)
    status, reason, samples = (
        ("unsupported", reason, []) if reason else measure(torch, record)
    )
    source_hash = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:16]
    problem = {
        "n": record.n, "q": record.q, "k": record.k, "dtype": record.dtype,
        "index": "int64", "direction": record.direction, "payload": record.payload,
        "layout": "row_major", "pitch": 0, "distribution": record.workload, "seed": record.seed,
    }  # fmt: skip
    identity = json.dumps([problem, torch.__version__, source_hash], sort_keys=True)
    proven = status == "ok"
    value = {
        "schema": SCHEMA,
        "key": hashlib.sha256(identity.encode()).hexdigest()[:16],
        "status": status,
        "reason": reason,
        "problem": problem,
        "input": {"kind": "generated"},
        "algorithm": {
            "name": "torch-topk",
            "family": "library top-k",
            "source": f"PyTorch {torch.__version__}, torch.topk",
            "file": "peers/torch_topk.py",
            "source_hash": source_hash,
        },
        "executor": "cuda",
        "threads": 1,
        "time": summary(samples) if samples else None,
        "workspace_bytes": 0,
        "verify": {
            "method": "certificate", "rows": record.q if proven else 0,
            "before": proven, "after": proven,
        },
        "started": f"{started:%Y-%m-%dT%H:%M:%SZ}",
        "elapsed_s": time.monotonic() - clock,
    }  # fmt: skip
    text = json.dumps(value, separators=(",", ":"))
    return f'{text[:-1]},"crc32":"{zlib.crc32(text.encode()):08x}"}}\n'


def write_run(torch: Any, source: Path, out: Path) -> None:
    """Time torch.topk on every problem of `source` and write the run directory `out`."""
    loaded = load(source)
    gpu = torch.cuda.get_device_name(0)
    if gpu != loaded.run.gpu:
        raise SystemExit(f"{source} was recorded on {loaded.run.gpu or 'no GPU'}, this is {gpu}")
    meta = json.loads((source / "meta.json").read_text())
    meta |= {"run": out.name, "state": "running", "arguments": sys.argv}
    out.mkdir(parents=True)
    (out / "meta.json").write_text(json.dumps(meta, indent=2) + "\n")
    with (out / "runs.jsonl").open("w") as journal:
        for record in problems(loaded):
            journal.write(line_of(torch, record))
            journal.flush()
    meta["state"] = "complete"
    (out / "meta.json").write_text(json.dumps(meta, indent=2) + "\n")


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path, help="a finished run of kselect on this machine")
    parser.add_argument("--out", type=Path, required=True, help="run directory to write")
    arguments = parser.parse_args()
    try:
        import torch
    except ImportError:
        raise SystemExit("torch is not installed; `pip install torch` for this GPU") from None
    try:
        write_run(torch, arguments.run, arguments.out)
    except PlotError as problem:
        raise SystemExit(str(problem)) from None


if __name__ == "__main__":
    main()
