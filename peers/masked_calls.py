"""Selections of other libraries from the elements that a mask admits.

Each call takes rows (Q x n), what the mask leaves out (bool, n for all rows or Q x n, on the same device), k and whether
the largest are meant. It returns values and indices: a row's elements first, then index -1 and the worst infinity. The
time of filling is in the call.
"""

from collections.abc import Callable
from types import ModuleType
from typing import Any

from peers.ragged_calls import numpy_in_order

Call = Callable[[Any, Any, int, bool], Any]


def numpy_masked(numpy: ModuleType) -> Call:
    """numpy.argpartition of filled rows, whose answer is then sorted, so that what fills a row is behind its elements."""

    def call(rows: Any, left_out: Any, k: int, largest: bool) -> Any:
        filled = numpy.where(left_out, rows.dtype.type(-numpy.inf if largest else numpy.inf), rows)
        values, indices = numpy_in_order(numpy, filled, k, largest)
        fills = numpy.take_along_axis(numpy.broadcast_to(left_out, rows.shape), indices, 1)
        return values, numpy.where(fills, -1, indices)

    return call


def torch_masked(torch: ModuleType) -> Call:
    """torch.topk of filled rows, in order, so that what fills a row is behind its elements."""

    def call(rows: Any, left_out: Any, k: int, largest: bool) -> Any:
        filled = rows.masked_fill(left_out, float("-inf") if largest else float("inf"))
        values, indices = torch.topk(filled, k, dim=1, largest=largest, sorted=True)
        fills = left_out[indices] if left_out.ndim == 1 else left_out.gather(1, indices)
        return values, indices.masked_fill(fills, -1)

    return call


def torch_masked_on_host(torch: ModuleType) -> Call:
    """The same in host memory."""
    masked = torch_masked(torch)
    return lambda rows, left_out, k, largest: masked(torch.from_numpy(rows), torch.from_numpy(left_out), k, largest)
