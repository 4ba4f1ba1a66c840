"""Arrays of NumPy's, torch's and CuPy's on memory of the harness, which they do not own."""

import ctypes
import importlib
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

# By the numbers of kselect::dtype and kselect::index_type.
_DTYPES = (
    "float32", "float64", "float16", "bfloat16", "int32", "uint32", "int8", "uint8", "float8_e4m3fn",
    "float8_e5m2",
)  # fmt: skip
# NumPy has no such number types: the integers of their width.
_BITS = {"bfloat16": "uint16", "float8_e4m3fn": "uint8", "float8_e5m2": "uint8"}
_INDEX_TYPES = ("int32", "int64")
_MOST_KEPT = 256

Buffers = tuple[Any, int, Any, Any, Any]  # rows, k, values, indices, stream


def _numpy_dtype(name: str) -> Any:
    if name not in _BITS:
        return np.dtype(name)
    try:
        return np.dtype(getattr(importlib.import_module("ml_dtypes"), name))
    except (ImportError, AttributeError):  # old versions have bfloat16 alone
        return np.dtype(_BITS[name])


def _on_host(address: int, shape: tuple[int, int], pitch: int, dtype: Any) -> np.ndarray:
    """Rows in host memory; `pitch` elements lie between the beginnings of two of them."""
    rows, width = shape
    count = (rows - 1) * pitch + width if rows else 0
    memory = (ctypes.c_byte * (count * dtype.itemsize)).from_address(address)
    flat = np.frombuffer(memory, dtype)
    return np.lib.stride_tricks.as_strided(flat, shape, (pitch * dtype.itemsize, dtype.itemsize))


class _OnGpu:
    """Rows in a GPU's memory, as torch and CuPy read them."""

    def __init__(self, address: int, shape: tuple[int, int], pitch: int, dtype: Any) -> None:
        self.__cuda_array_interface__ = {
            "version": 3,
            "shape": shape,
            "typestr": dtype.str,
            "data": (address, False),
            "strides": (pitch * dtype.itemsize, dtype.itemsize),
        }


class _Numpy:
    def rows(self, address: int, shape: Any, pitch: int, name: str, on_gpu: bool) -> Any:
        return _on_host(address, shape, pitch, _numpy_dtype(name))

    def stream(self, handle: int) -> Any:
        return None

    def within(self, stream: Any) -> AbstractContextManager[Any]:
        return nullcontext()


class _Torch:
    def __init__(self) -> None:
        self.torch = importlib.import_module("torch")

    def rows(self, address: int, shape: Any, pitch: int, name: str, on_gpu: bool) -> Any:
        # Older versions of torch have no uint16.
        dtype = np.dtype(_BITS.get(name, name).replace("uint16", "int16"))
        if on_gpu:
            made = self.torch.as_tensor(_OnGpu(address, shape, pitch, dtype), device="cuda")
        else:
            made = self.torch.from_numpy(_on_host(address, shape, pitch, dtype))
        return made.view(getattr(self.torch, name)) if name in _BITS else made

    def stream(self, handle: int) -> Any:
        return self.torch.cuda.ExternalStream(handle)

    def within(self, stream: Any) -> AbstractContextManager[Any]:
        return self.torch.cuda.stream(stream)


class _Cupy:
    def __init__(self) -> None:
        self.cupy = importlib.import_module("cupy")

    def rows(self, address: int, shape: Any, pitch: int, name: str, on_gpu: bool) -> Any:
        return self.cupy.asarray(_OnGpu(address, shape, pitch, _numpy_dtype(name)))

    def stream(self, handle: int) -> Any:
        return self.cupy.cuda.ExternalStream(handle)

    def within(self, stream: Any) -> AbstractContextManager[Any]:
        return stream


LIBRARIES: dict[str, Callable[[], Any]] = {"numpy": _Numpy, "torch": _Torch, "cupy": _Cupy}


class Caller:
    """What the harness calls: makes arrays of the addresses that it gives, and calls a function."""

    def __init__(self, function: Callable[..., Any], library: Any, tells_mode: bool) -> None:
        self._function, self._library, self._tells_mode = function, library, tells_mode
        self._made: dict[tuple[int, ...], tuple[Buffers, dict[str, str]]] = {}

    def forget(self) -> None:
        """Drop the arrays of a sweep that has ended: its memory is gone."""
        self._made.clear()

    def __call__(self, *facts: int) -> None:
        """Select. `facts`: see python/program/bench_module.cpp."""
        found = self._made.get(facts)
        if found is None:
            found = self._make(facts)
        buffers, more = found
        stream = buffers[4]
        if stream is None:
            self._function(*buffers, **more)
            return
        with self._library.within(stream):
            self._function(*buffers, **more)

    def _make(self, facts: tuple[int, ...]) -> tuple[Buffers, dict[str, str]]:
        rows, values, indices, q, n, k, pitch, dtype, index, direction, on_gpu, stream = facts
        name, at = _DTYPES[dtype], self._library
        gpu = bool(on_gpu)
        buffers = (
            at.rows(rows, (q, n), pitch, name, gpu),
            k,
            at.rows(values, (q, k), k, name, gpu),
            at.rows(indices, (q, k), k, _INDEX_TYPES[index], gpu),
            at.stream(stream) if gpu else None,
        )
        more = {"mode": ("smallest", "largest")[direction]} if self._tells_mode else {}
        if len(self._made) >= _MOST_KEPT:
            self._made.clear()
        self._made[facts] = buffers, more
        return buffers, more
