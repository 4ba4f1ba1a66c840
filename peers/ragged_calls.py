"""Selections of other libraries from rows of lengths of their own.

Each call takes rows (Q x n), lengths (Q, int32, on the same device), k and whether the largest are meant. It returns
values and indices, or None and indices: a row's elements first, then index -1 and the worst infinity.
"""

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

Call = Callable[[Any, Any, int, bool], Any]


def numpy_in_order(numpy: ModuleType, rows: Any, k: int, largest: bool) -> Any:
    """numpy.argpartition of rows, whose answer is then sorted."""
    keys = -rows if largest else rows
    chosen = numpy.argpartition(keys, k - 1, axis=1)[:, :k]
    order = numpy.argsort(numpy.take_along_axis(keys, chosen, 1), axis=1)
    indices = numpy.take_along_axis(chosen, order, 1)
    return numpy.take_along_axis(rows, indices, 1), indices


def numpy_masked(numpy: ModuleType) -> Call:
    """numpy.argpartition of masked rows, whose answer is then sorted, so that what fills a row is behind its elements."""

    def call(rows: Any, lengths: Any, k: int, largest: bool) -> Any:
        worst = rows.dtype.type(-numpy.inf if largest else numpy.inf)
        masked = numpy.where(numpy.arange(rows.shape[1]) < lengths[:, None], rows, worst)
        values, indices = numpy_in_order(numpy, masked, k, largest)
        return values, numpy.where(numpy.arange(k) < lengths[:, None], indices, -1)

    return call


def torch_masked(torch: ModuleType) -> Call:
    """torch.topk of masked rows, in order, so that what fills a row is behind its elements."""

    def call(rows: Any, lengths: Any, k: int, largest: bool) -> Any:
        columns = torch.arange(rows.shape[1], device=rows.device)
        worst = float("-inf") if largest else float("inf")
        masked = rows.masked_fill(columns.unsqueeze(0) >= lengths.unsqueeze(1), worst)
        values, indices = torch.topk(masked, k, dim=1, largest=largest, sorted=True)
        return values, indices.masked_fill(columns[:k].unsqueeze(0) >= lengths.unsqueeze(1), -1)

    return call


def flashinfer_ragged(flashinfer: ModuleType) -> Call:
    """flashinfer.top_k_ragged_transform, whose offsets are added to indices: none here."""
    torch = importlib.import_module("torch")

    def call(rows: Any, lengths: Any, k: int, largest: bool) -> Any:
        offsets = torch.zeros((rows.shape[0],), dtype=torch.int32, device=rows.device)
        return None, flashinfer.top_k_ragged_transform(rows, offsets, lengths, k)

    return call


def per_row(function: Callable[..., Any]) -> Call:
    """A function with the signature of vLLM's top_k_per_row_prefill, which FlagGems' in Triton has, too."""
    torch = importlib.import_module("torch")

    def call(rows: Any, lengths: Any, k: int, largest: bool) -> Any:
        q = rows.shape[0]
        starts = torch.zeros((q,), dtype=torch.int32, device=rows.device)
        indices = torch.empty((q, k), dtype=torch.int32, device=rows.device)
        function(rows, starts, lengths, indices, q, rows.stride(0), rows.stride(1), k)
        return None, indices

    return call


def vllm_per_row(_module: ModuleType) -> Call:
    """vLLM's kernel for sparse attention. Importing its module makes the operator known to torch."""
    return per_row(importlib.import_module("torch").ops._C.top_k_per_row_prefill)


def flaggems_vllm_per_row(ops: ModuleType) -> Call:
    """FlagGems' kernel in Triton, for the same place in vLLM."""
    return per_row(ops.top_k_per_row_prefill)


def of_equal_rows(ragged: Call) -> Callable[[Any, int, bool], Any]:
    """The call of a library that knows ragged rows alone, on equal rows."""
    torch = importlib.import_module("torch")

    def call(rows: Any, k: int, largest: bool) -> Any:
        lengths = torch.full((rows.shape[0],), rows.shape[1], dtype=torch.int32, device=rows.device)
        return ragged(rows, lengths, k, largest)

    return call


def host_indices(indices: np.ndarray) -> np.ndarray:
    """Indices of a type that the proof reads."""
    return indices if indices.dtype.itemsize >= 4 else indices.astype(np.int32)
