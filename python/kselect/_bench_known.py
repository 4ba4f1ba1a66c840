"""Libraries' own selections, by the names that `kselect.bench.run` knows."""

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np


def numpy_argpartition(
    rows: Any, k: int, values: Any, indices: Any, stream: Any, *, mode: str
) -> None:
    """numpy.argpartition, whose indices give the values."""
    n = rows.shape[1]
    if mode == "largest":
        found = np.argpartition(rows, n - k, axis=1)[:, n - k :]
    else:
        found = np.argpartition(rows, k - 1, axis=1)[:, :k]
    indices[...] = found
    values[...] = np.take_along_axis(rows, found, 1)


def torch_topk(rows: Any, k: int, values: Any, indices: Any, stream: Any, *, mode: str) -> None:
    """torch.topk, unsorted, which is its faster form, into the caller's tensors."""
    torch = importlib.import_module("torch")
    torch.topk(rows, k, dim=1, largest=mode == "largest", sorted=False, out=(values, indices))


def cupy_argpartition(
    rows: Any, k: int, values: Any, indices: Any, stream: Any, *, mode: str
) -> None:
    """cupy.argpartition, whose indices give the values."""
    cupy = importlib.import_module("cupy")
    n = rows.shape[1]
    if mode == "largest":
        found = cupy.argpartition(rows, n - k, axis=1)[:, n - k :]
    else:
        found = cupy.argpartition(rows, k - 1, axis=1)[:, :k]
    indices[...] = found
    values[...] = cupy.take_along_axis(rows, found, 1)


# Name: the function, its arrays, where it runs, its types of rows and of indices.
KNOWN: dict[str, tuple[Callable[..., None], str, tuple[str, ...], tuple[str, ...], tuple[str, ...]]]
KNOWN = {
    "numpy.argpartition": (
        numpy_argpartition, "numpy", ("cpu",), ("float32", "float64", "float16"),
        ("int32", "int64"),
    ),
    "torch.topk": (
        torch_topk, "torch", ("cpu", "cuda"), ("float32", "float64", "float16", "bfloat16"),
        ("int64",),
    ),
    "cupy.argpartition": (
        cupy_argpartition, "cupy", ("cuda",), ("float32", "float64"), ("int32", "int64"),
    ),
}  # fmt: skip
