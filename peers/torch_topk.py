"""Times `torch.topk` on the problems of a finished run, beside its own records, or of a config.

    python -m peers.torch_topk results/MACHINE/RUN --out results/MACHINE/RUN-torch
    python -m peers.torch_topk configs/goal.json --out results/MACHINE/goal-torch

CUDA events time one call, cold as in kselect's own cells: reads sweep L2, and the stream is held
until the call is queued, which hides the launch. `sorted=False` is torch's faster form. torch is
not among kselect's requirements; install the build for the machine's GPU.
"""

from typing import Any

import numpy as np

from peers import recorded
from peers.machine import driver
from plots.records import Record

SWEPT_BYTES = 1 << 28  # several times the L2 of any GPU
HELD_CYCLES = 1 << 20  # half a millisecond, in which the call is queued


class TorchTopk:
    """`torch.topk` along the rows of a tensor on the GPU."""

    def __init__(self, torch: Any) -> None:
        """Wrap the torch module."""
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

    def rows(self, rows: np.ndarray) -> Any:
        """Copy the rows to the GPU."""
        return self.torch.from_numpy(rows).cuda()

    def select(self, rows: Any, record: Record) -> Any:
        """Run `torch.topk` once."""
        largest = record.direction == "largest"
        return self.torch.topk(rows, record.k, dim=1, largest=largest, sorted=False)

    def events(self) -> tuple[Any, Any]:
        """Return two events that take times."""
        event = self.torch.cuda.Event
        return event(enable_timing=True), event(enable_timing=True)

    def hold(self) -> None:
        """Sweep L2, and hold the stream while a call is queued."""
        self.swept.max()
        self.torch.cuda._sleep(HELD_CYCLES)

    def timed(self, rows: Any, record: Record) -> tuple[Any, float]:
        """Time one call by two events."""
        begin, end = self.events()
        self.hold()
        begin.record()
        answer = self.select(rows, record)
        end.record()
        self.torch.cuda.synchronize()
        return answer, begin.elapsed_time(end) * 1e6

    def on_host(self, answer: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the answer's values and indices in host memory."""
        values, indices = answer
        return values.cpu().numpy(), indices.cpu().numpy()


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
