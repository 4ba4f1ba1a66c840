"""Times `torch.topk` on the problems of a finished run, beside its own records, or of a config.

    python -m peers.torch_topk results/MACHINE/RUN --out results/MACHINE/RUN-torch
    python -m peers.torch_topk configs/goal.json --out results/MACHINE/goal-torch

CUDA events around one call, cold as kselect's own cells are: L2 is swept by reads, and the stream
is held until the call is queued, so that no launch shows. `sorted=False`, which is torch's faster
form. torch is not among kselect's requirements; it must be the one that the machine's GPU needs.

Rows are generated where they are selected from, and answers proven there, since a processor would
take minutes for each. What the processor makes of the same numbers is compared for a part of a row,
and one row of each answer is proven by the processor, too.
"""

from typing import Any

import numpy as np

from peers import recorded
from peers.certificate import disprove
from peers.generator import Arrays, uniform_rows
from peers.machine import driver
from plots.records import Record

GENERATED_AT_ONCE = 1 << 26  # elements: 1.5 GiB of counters and random words
COMPARED = 1 << 18  # elements that the processor generates, too
SWEPT_BYTES = 1 << 28  # several times the L2 of any GPU
HELD_CYCLES = 1 << 20  # half a millisecond, in which the call is queued


class TorchTopk:
    """`torch.topk` along the rows of a tensor on the GPU."""

    def __init__(self, torch: Any) -> None:
        """Adapt this torch."""
        self.torch = torch
        self.facts = recorded.Facts(
            name="torch-topk",
            family="library top-k",
            source=f"PyTorch {torch.__version__}, torch.topk",
            file="peers/torch_topk.py",
            executor="cuda",
            clock="cuda_event",
            cache="cold",
            gap_hidden=True,
        )
        self.arrays = Arrays(
            arange=lambda first, end: torch.arange(first, end, dtype=torch.int64, device="cuda"),
            stack=lambda parts: torch.stack(parts, dim=-1),
            cast=lambda array, dtype: array.to(getattr(torch, dtype)),
        )
        self.swept = torch.zeros((SWEPT_BYTES // 4,), dtype=torch.float32, device="cuda")

    def machine(self) -> str:
        """Return the GPU's model name."""
        return self.torch.cuda.get_device_name(0)

    def gpus(self) -> list[dict[str, Any]]:
        """Return what torch knows of the GPU, under kselect's names."""
        facts = self.torch.cuda.get_device_properties(0)
        return [
            {
                "index": 0,
                "name": self.machine(),
                "driver": driver(),
                "cuda_runtime": self.torch.version.cuda,
                "compute_capability": facts.major * 10 + facts.minor,
                "multiprocessors": facts.multi_processor_count,
                "memory_bytes": facts.total_memory,
            }
        ]

    def rows(self, record: Record) -> Any:
        """Return the whole input, generated on the GPU."""
        dtype = getattr(self.torch, record.dtype)
        rows = self.torch.empty((record.q, record.n), dtype=dtype, device="cuda")
        step = max(1, GENERATED_AT_ONCE // record.n)
        for first in range(0, record.q, step):
            count = min(step, record.q - first)
            rows[first : first + count] = uniform_rows(
                first, count, record.n, record.seed, record.dtype, self.arrays
            )
        return rows

    def select(self, rows: Any, record: Record) -> Any:
        """Call it."""
        largest = record.direction == "largest"
        return self.torch.topk(rows, record.k, dim=1, largest=largest, sorted=False)

    def timed(self, rows: Any, record: Record) -> tuple[Any, float]:
        """Call it between two events."""
        event = self.torch.cuda.Event
        begin, end = event(enable_timing=True), event(enable_timing=True)
        self.swept.max()
        self.torch.cuda._sleep(HELD_CYCLES)
        begin.record()
        answer = self.select(rows, record)
        end.record()
        self.torch.cuda.synchronize()
        return answer, begin.elapsed_time(end) * 1e6

    def disprove(self, rows: Any, record: Record, answer: Any) -> str | None:
        """Prove all of it on the GPU; rows and one row's answer on the processor."""
        last, part = record.q - 1, min(record.n, COMPARED)
        generated = uniform_rows(last, 1, part, record.seed, record.dtype)
        if rows[last:, :part].cpu().numpy().tobytes() != generated.tobytes():
            return f"row {last} is not what the processor generates"
        values, places = answer
        wrong = self.disprove_on_gpu(rows, values, places, largest=record.direction == "largest")
        if wrong:
            return wrong
        drawn = int(np.random.default_rng(record.seed + record.k).integers(record.q))
        of_one = [a[drawn : drawn + 1].cpu().numpy() for a in (rows, values, places)]
        wrong = disprove(*of_one, largest=record.direction == "largest")
        return f"the processor, of row {drawn}: {wrong}" if wrong else None

    def disprove_on_gpu(self, rows: Any, values: Any, places: Any, *, largest: bool) -> str | None:
        """Return what is wrong with some row, or None; as peers/certificate.py, for all at once."""
        n = rows.shape[1]
        if int(places.min()) < 0 or int(places.max()) >= n:
            return f"an index is outside [0, {n})"
        ascending = places.sort(dim=1)[0]
        if bool((ascending[:, 1:] == ascending[:, :-1]).any()):
            return "an index occurs twice"
        if bool((rows.gather(1, places) != values).any()):
            return "a value is not the input's at its index"
        if largest:
            worst = values.amin(dim=1, keepdim=True)
            better, within = rows > worst, values > worst
        else:
            worst = values.amax(dim=1, keepdim=True)
            better, within = rows < worst, values < worst
        if bool((better.sum(dim=1) != within.sum(dim=1)).any()):
            return "an element better than the worst chosen one is left out"
        return None


def main() -> None:
    """Read the command line and run."""
    try:
        import torch
    except ImportError:
        raise SystemExit("torch is not installed; `pip install torch` for this GPU") from None
    if not torch.cuda.is_available():
        raise SystemExit("torch finds no GPU")
    recorded.main(__doc__, TorchTopk(torch))


if __name__ == "__main__":
    main()
