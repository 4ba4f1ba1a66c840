"""`top_k`: a library's array in, the same library's arrays out."""

import operator
import os
import sys
from contextlib import nullcontext
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from kselect import _flags, _libraries, _select

_THREADS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
_MOST_THREADS = 1 << 20
_MOST_INT32 = (1 << 31) - 1


# NumPy 1.24 has it elsewhere.
_AxisError = getattr(np, "exceptions", np).AxisError


class TopK(NamedTuple):
    """What `top_k` returns. It unpacks: `values, indices = top_k(a, k)`."""

    values: Any  #: the selected elements
    indices: Any  #: where each of them is along the axis


def top_k(
    a: Any,
    k: int,
    /,
    *,
    axis: int | None = -1,
    mode: str = "largest",
    sorted: bool = True,
    stable: bool = False,
    out: tuple[Any, Any] | None = None,
    workspace: Any = None,
    stream: Any = None,
    index_dtype: Any = None,
    threads: int | None = None,
) -> TopK:
    """Select the `k` largest or smallest elements along an axis, and their indices.

    Args:
        a: Array of at least one dimension, of float16, bfloat16, float32 or float64. NumPy's,
            torch's (CPU, CUDA), CuPy's, JAX's (CPU), or any in host memory with DLPack; sequences
            become NumPy's arrays. It is read where it is. It is copied only if its rows lie neither
            one after another nor, on a GPU, side by side.
        k: How many, from 1 to the length of the axis.
        axis: The axis to select along. None: of `a` as if it had one dimension.
        mode: "largest" or "smallest".
        sorted: Best first. False may be faster and gives them in any order.
        stable: Of equal elements, those with smaller indices, and in this order if sorted. The
            answer is then unique. False may be faster.
        out: Arrays for values and indices, of the answer's shape and dtypes. They are returned.
        workspace: Dense array of uint8 on the device of `a`, for a call that allocates no scratch
            memory.
        stream: For arrays on a GPU: the CUDA stream to work on, as an integer or an object of
            torch's or CuPy's. By default the current stream of the library of `a`. The call does
            not wait for the GPU.
        index_dtype: int32 or int64. By default that of `out`, or int64; int32 for JAX.
        threads: For arrays in host memory: how many threads. By default one for each processor that
            the process had when kselect was imported.

    Returns:
        Values and indices. Both have the shape of `a` with `k` for the length of the axis. They are
        arrays of the library of `a`. Values of a tensor of torch have its gradient.

    The order is IEEE 754's totalOrder: -NaN < -inf < ... < -0 < +0 < ... < +inf < +NaN. So NaN is
    above all numbers, as in JAX and torch, unless its sign bit is set.

    Raises:
        ValueError: An argument is out of range or of a wrong shape; the message names it.
        TypeError: An argument is of a wrong type.
        MemoryError: There is no memory for the workspace.
        RuntimeError: The GPU failed, or this build has no code for it.
    """
    flags = _flags.of(mode, sorted, stable)
    plain = out is None and stream is None and index_dtype is None
    if plain and type(a) is np.ndarray and axis == -1:
        found = _of_plain_rows(a, k, flags, workspace, thread_count(threads))
        if found is not None:
            return found
    if "torch" in sys.modules:
        side = _torch_side or _load_torch_side()
        if side.wants_operator(a):
            if stream is not None or workspace is not None:
                raise ValueError("stream and workspace are not for tensors that are traced")
            wide, count = is_wide(index_dtype), thread_count(threads)
            return TopK(*side.by_operator(a, k, axis, flags, wide, out, count))
        if plain and axis == -1 and workspace is None:
            found = side.of_plain_rows(a, k, flags, thread_count(threads))
            if found is not None:
                return TopK(*found)
    library, a = _libraries.of(a)
    on_gpu = library.check(a)
    if stream is not None and not on_gpu:
        raise ValueError("stream is given, but a is in host memory")
    wide, count = is_wide(index_dtype), thread_count(threads)
    call = Call(library, a, operator.index(k), axis, flags, wide, out, count)
    with library.within(stream, a) if stream is not None else _NOTHING:
        return call.run(workspace, on_gpu)


_PLAIN = frozenset(np.dtype(name) for name in ("float16", "float32", "float64"))


def _of_plain_rows(a: np.ndarray, k: int, flags: int, workspace: Any, threads: int) -> TopK | None:
    """The most frequent call by the shortest way; None if it is another call or a wrong one."""
    shape = a.shape
    if a.dtype not in _PLAIN or type(k) is not int or not shape:
        return None
    if 0 in shape or not 1 <= k <= shape[-1]:
        return None
    shape = (*shape[:-1], k)
    values, indices = np.empty(shape, a.dtype), np.empty(shape, np.int64)
    wide = flags | _flags.WIDE_INDICES
    if _select.top_k(a, k, len(shape) - 1, wide, values, indices, workspace, threads, 0):
        return TopK(values, indices)
    return None


_NOTHING = nullcontext()
_torch_side: Any = None  # kselect._torch, once the program has torch


def _load_torch_side() -> Any:
    global _torch_side
    from kselect import _torch

    _torch_side = _torch
    return _torch


@cache
def _dtype_name(dtype: Any) -> str:
    try:
        return np.dtype(dtype).name
    except TypeError:
        return str(dtype).rpartition(".")[2]  # torch.int64


def is_wide(index_dtype: Any) -> bool | None:
    """Whether indices are int64; None: as the library of the array likes it."""
    if index_dtype is None:
        return None
    name = _dtype_name(index_dtype)
    if name not in ("int32", "int64"):
        raise ValueError(f"index_dtype is {index_dtype!r}, but must be int32 or int64")
    return name == "int64"


def thread_count(threads: int | None) -> int:
    """The number of threads; None: one for each processor that the process may use."""
    if threads is None:
        return _THREADS
    count = operator.index(threads)
    if not 1 <= count <= _MOST_THREADS:
        raise ValueError(f"threads = {count}, but must be at least 1")
    return count


def _normalised(axis: int, dimensions: int) -> int:
    """The axis as 0 .. dimensions - 1."""
    given = operator.index(axis)
    if not -dimensions <= given < dimensions:
        raise _AxisError(given, dimensions, "axis")
    return given % dimensions


class Call:
    """A call whose arguments have been read: its shapes, and where its answer goes."""

    def __init__(
        self,
        library: Any,
        a: Any,
        k: int,
        axis: int | None,
        flags: int,
        wide: bool | None,
        out: Any,
        threads: int,
    ) -> None:
        self.library, self.k, self.threads, self.caller = library, k, threads, a
        a = library.prepared(a)
        name = library.type_name(a)
        if name not in _libraries.TYPES:
            raise TypeError(f"a has dtype {name}; {', '.join(_libraries.TYPES)} are supported")
        if axis is None:
            a, axis = a.reshape(-1), 0
        self.a, self.last = a, len(a.shape) - 1
        self.axis: int = _normalised(axis, self.last + 1)
        shape = tuple(a.shape)
        length = shape[self.axis]
        if not 1 <= k <= length:
            raise ValueError(f"k = {k}, but must be 1 to {length}, the length of axis {self.axis}")
        if out is not None and wide is None:
            wide = is_wide(_out_dtype(out))
        self.wide = library.DEFAULT_WIDE if wide is None else wide
        if not self.wide and length > _MOST_INT32:
            raise ValueError(f"index_dtype is int32, but the axis has {length} elements")
        self.flags = flags | (_flags.WIDE_INDICES if self.wide else 0)
        if name == "bfloat16":
            self.flags |= _flags.BFLOAT16
        rows = shape[: self.axis] + shape[self.axis + 1 :]
        self.empty = 0 in rows
        self.answer_shape = (*rows, k)  # with the axis last, as the extension writes it
        self.out = None if out is None else self._checked(out)

    def run(self, workspace: Any, on_gpu: bool) -> TopK:
        """Select. `workspace` is the caller's or None."""
        library = self.library
        if self.out is None:
            values = library.empty(self.answer_shape, self.a)
            indices = library.empty_indices(self.answer_shape, self.wide, self.a)
        else:
            values, indices = map(self._direct, self.out)
        if not self.empty:
            self._select(values, indices, workspace, on_gpu)
        if self.out is None:
            answer = self.moved(values), self.moved(indices)
            return TopK(*library.returned(*answer, self.caller, self.axis))
        for target, written in zip(self.out, (values, indices), strict=True):
            if written is not target:
                target[...] = self.moved(written)
        return TopK(*self.out)

    def moved(self, written: Any) -> Any:
        """The answer as the caller wants it: with the axis where it was."""
        if self.axis == self.last:
            return written
        return self.library.moved(written, self.last, self.axis)

    def _direct(self, target: Any) -> Any:
        """The output itself if the extension can write it, else an array to be copied there."""
        library = self.library
        is_laid_out = self.axis == self.last and library.is_dense(target)
        if is_laid_out and not library.may_overlap(self.a, target):
            return target
        return library.empty(self.answer_shape, target)

    def _select(self, values: Any, indices: Any, workspace: Any, on_gpu: bool) -> None:
        library, a = self.library, self.a
        axis = self.axis
        stream = library.current_stream(a) if on_gpu else 0
        rows = library.exported(a)
        outputs = library.exported(values), library.exported(indices)
        needed: int | None = 0
        if on_gpu and workspace is None:
            needed = _select.workspace_bytes(rows, self.k, axis, self.flags, self.threads)
        if needed is not None:
            if needed:
                workspace = library.empty_bytes(needed, a)
            scratch = None if workspace is None else library.exported(workspace)
            if _select.top_k(
                rows, self.k, axis, self.flags, *outputs, scratch, self.threads, stream
            ):
                return
        self.a, self.axis = library.dense_copy(library.moved(a, axis, self.last)), self.last
        self._select(values, indices, workspace, on_gpu)
        self.axis = axis

    def _checked(self, out: Any) -> tuple[Any, Any]:
        """The caller's outputs. Raises if one is not as the answer."""
        self.library.refuse_out(self.caller)
        shape = tuple(self.a.shape)
        shape = (*shape[: self.axis], self.k, *shape[self.axis + 1 :])
        dtypes = self.library.type_name(self.a), "int64" if self.wide else "int32"
        for name, array, dtype in zip(("values", "indices"), _pair(out), dtypes, strict=True):
            kind, found = type(self.a), self.library.type_name
            if not isinstance(array, kind):
                raise TypeError(f"out: {name} are a {type(array).__name__}, not a {kind.__name__}")
            if tuple(array.shape) != shape:
                raise ValueError(f"out: {name} have shape {tuple(array.shape)}, not {shape}")
            if found(array) != dtype:
                raise TypeError(f"out: {name} have dtype {found(array)}, not {dtype}")
        return _pair(out)


def _pair(out: Any) -> tuple[Any, Any]:
    if not isinstance(out, tuple) or len(out) != 2:
        raise TypeError("out is not a tuple of two arrays, values and indices")
    return out


def _out_dtype(out: Any) -> Any:
    """The dtype of the caller's array for indices."""
    return getattr(_pair(out)[1], "dtype", None)
