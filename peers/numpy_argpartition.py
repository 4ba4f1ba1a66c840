"""Times `numpy.argpartition` on the cells of a finished run, beside that run's own records.

    python -m peers.numpy_argpartition results/MACHINE/RUN --out results/MACHINE/RUN-numpy

This is what numpy's users write: `argpartition` gives the indices of the k best of each row, which
give their values. On a processor with AVX-512 or AVX2, numpy's partition is x86-simd-sort's
`argselect`, without threads.
"""

import time
from typing import TypeAlias

import numpy as np

from peers import recorded
from peers.machine import processor
from plots.records import Record

Answer: TypeAlias = tuple[np.ndarray, np.ndarray]


class NumpyArgpartition:
    """`numpy.argpartition` along rows in host memory."""

    facts = recorded.Facts(
        name="numpy-argpartition",
        family="library top-k",
        source=f"NumPy {np.__version__}, numpy.argpartition",
        file="peers/numpy_argpartition.py",
        executor="cpu",
        clock="steady",
        cache="warm",
        gap_hidden=False,
    )

    def machine(self) -> str:
        """Return the processor's model name, as kselect records it."""
        return processor()

    def gpus(self) -> None:
        """Return None: numpy uses no GPU."""

    def rows(self, rows: np.ndarray) -> np.ndarray:
        """Return the rows unchanged."""
        return rows

    def select(self, rows: np.ndarray, record: Record) -> Answer:
        """Partition and take the side with the k best."""
        n, k = record.n, record.k
        if record.direction == "largest":
            indices = np.argpartition(rows, n - k, axis=1)[:, n - k :]
        else:
            indices = np.argpartition(rows, k - 1, axis=1)[:, :k]
        return np.take_along_axis(rows, indices, 1), indices

    def timed(self, rows: np.ndarray, record: Record) -> tuple[Answer, float]:
        """Time one selection by the host's clock."""
        begin = time.perf_counter_ns()
        answer = self.select(rows, record)
        return answer, float(time.perf_counter_ns() - begin)

    def on_host(self, answer: Answer) -> Answer:
        """Return the answer unchanged."""
        return answer


def main() -> None:
    """Read the command line and run."""
    recorded.main(__doc__, NumpyArgpartition())


if __name__ == "__main__":
    main()
