"""Times `torch.topk` on the cells of a finished run, beside that run's own records.

    python -m peers.torch_topk results/MACHINE/RUN --out results/MACHINE/RUN-torch

CUDA events around one call. `sorted=False`, which is torch's faster form. torch is not among
kselect's requirements; it must be the one that the machine's GPU needs.
"""

from typing import Any

import numpy as np

from peers import recorded
from plots.records import Record


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
        )

    def machine(self) -> str:
        """Return the GPU's model name."""
        return self.torch.cuda.get_device_name(0)

    def rows(self, record: Record) -> Any:
        """Return the whole input as a tensor on the GPU."""
        dtype = getattr(self.torch, record.dtype)
        rows = self.torch.empty((record.q, record.n), dtype=dtype, device="cuda")
        for first, count in recorded.chunks(record):
            part = recorded.generated(record, first, count)
            rows[first : first + count] = self.torch.from_numpy(part)
        return rows

    def select(self, rows: Any, record: Record) -> Any:
        """Call it."""
        largest = record.direction == "largest"
        return self.torch.topk(rows, record.k, dim=1, largest=largest, sorted=False)

    def timed(self, rows: Any, record: Record) -> tuple[Any, float]:
        """Call it between two events."""
        event = self.torch.cuda.Event
        begin, end = event(enable_timing=True), event(enable_timing=True)
        begin.record()
        answer = self.select(rows, record)
        end.record()
        self.torch.cuda.synchronize()
        return answer, begin.elapsed_time(end) * 1e6

    def fetched(self, answer: Any) -> tuple[np.ndarray, np.ndarray]:
        """Copy values and indices to the host."""
        values, indices = answer
        return values.cpu().numpy(), indices.cpu().numpy()


def main() -> None:
    """Read the command line and run."""
    try:
        import torch
    except ImportError:
        raise SystemExit("torch is not installed; `pip install torch` for this GPU") from None
    recorded.main(__doc__, TorchTopk(torch))


if __name__ == "__main__":
    main()
