"""`top_k`: a library's array in, the same library's arrays out."""

import operator
import sys
from contextlib import nullcontext
from typing import Any, Literal, overload

import numpy as np

from kselect import _flags, _libraries, _ragged, _select
from kselect._call import THREADS, Call, TopK, is_wide, thread_count


@overload
def top_k(
    a: Any,
    k: int,
    /,
    *,
    axis: int | None = -1,
    mode: str = "largest",
    sorted: bool = True,
    nan: str = "total_order",
    stable: bool = False,
    indices_only: Literal[False] = False,
    lengths: Any = None,
    starts: Any = None,
    offsets: Any = None,
    max_length: int | None = None,
    fill: int = -1,
    out: Any = None,
    workspace: Any = None,
    stream: Any = None,
    index_dtype: Any = None,
    threads: int | None = None,
) -> TopK: ...
@overload
def top_k(
    a: Any,
    k: int,
    /,
    *,
    axis: int | None = -1,
    mode: str = "largest",
    sorted: bool = True,
    nan: str = "total_order",
    stable: bool = False,
    indices_only: Literal[True],
    lengths: Any = None,
    starts: Any = None,
    offsets: Any = None,
    max_length: int | None = None,
    fill: int = -1,
    out: Any = None,
    workspace: Any = None,
    stream: Any = None,
    index_dtype: Any = None,
    threads: int | None = None,
) -> Any: ...
@overload
def top_k(
    a: Any,
    k: int,
    /,
    *,
    axis: int | None = -1,
    mode: str = "largest",
    sorted: bool = True,
    nan: str = "total_order",
    stable: bool = False,
    indices_only: bool,
    lengths: Any = None,
    starts: Any = None,
    offsets: Any = None,
    max_length: int | None = None,
    fill: int = -1,
    out: Any = None,
    workspace: Any = None,
    stream: Any = None,
    index_dtype: Any = None,
    threads: int | None = None,
) -> Any: ...
def top_k(
    a: Any,
    k: int,
    /,
    *,
    axis: int | None = -1,
    mode: str = "largest",
    sorted: bool = True,
    nan: str = "total_order",
    stable: bool = False,
    indices_only: bool = False,
    lengths: Any = None,
    starts: Any = None,
    offsets: Any = None,
    max_length: int | None = None,
    fill: int = -1,
    out: Any = None,
    workspace: Any = None,
    stream: Any = None,
    index_dtype: Any = None,
    threads: int | None = None,
) -> Any:
    """Select the `k` largest or smallest elements along an axis, and their indices.

    Args:
        a: Array of at least one dimension, of float16, bfloat16, float32, float64, int32, uint32,
            int8, uint8, float8_e4m3fn or float8_e5m2. NumPy's (with ml_dtypes' types), torch's (CPU, CUDA), CuPy's, JAX's (CPU), or any in host memory with DLPack; sequences
            become NumPy's arrays. It is read where it is. It is copied only if its rows lie neither
            one after another nor, on a GPU, side by side.
        k: How many, from 1 to the length of the axis; any number if rows have lengths of their own.
        axis: The axis to select along. None: of `a` as if it had one dimension.
        mode: "largest" or "smallest".
        sorted: Best first. False may be faster and gives them in any order.
        nan: "total_order": NaN of positive sign is above all numbers, and of negative sign below
            them. "last": every NaN comes after all numbers, in both modes, as NumPy sorts, and all
            NaN are equal. Only rows with a NaN among the first k cost much more.
        stable: Of equal elements, those with smaller indices, and in this order if sorted. The
            answer is then unique. False may be faster.
        indices_only: Whether no values are wanted. The answer is then the array of indices.
        lengths: How many elements each row has: int32 or int64, of the shape of `a` without the
            axis. Row r is `a[r, :lengths[r]]`.
        starts: Where each row begins; of the same shape. Row r is `a[r, starts[r]:]`, or
            `a[r, starts[r]:starts[r] + lengths[r]]`. Indices count from the row's start.
        offsets: For rows one after another in an `a` of one dimension, as in a matrix in CSR form:
            int32 or int64, [Q + 1]. Row r is `a[offsets[r]:offsets[r + 1]]`; the answer is [Q, k].
        max_length: With lengths or offsets, the most elements that a row has. By default the length
            of the axis. On a GPU a true bound makes calls with offsets faster.
        fill: The index that stands where a row has no more elements; the value is then -inf, or +inf
            for the smallest; of types without infinity the least or the greatest number.
        out: Arrays for values and indices, of the answer's shape and dtypes. They are returned. With
            indices_only, the array for indices.
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
        arrays of the library of `a`. Values of a tensor of torch have its gradient. A row's elements
        come before what fills it up.

    The order is IEEE 754's totalOrder: -NaN < -inf < ... < -0 < +0 < ... < +inf < +NaN. So NaN is
    above all numbers, as in JAX and torch, unless its sign bit is set; `nan="last"` is NumPy's way.

    Arrays of lengths, starts and offsets in host memory may be of any library there, or sequences;
    each row must be a part of the axis. On a GPU they are arrays of the library of `a`, on its GPU.
    They are not looked at before the kernel reads them, so the call does not wait for them, and a
    captured graph uses the numbers that they have when it is replayed. There a length is cut to 0
    and max_length, and nothing checks starts and offsets, which must not lead out of `a`.

    Raises:
        ValueError: An argument is out of range or of a wrong shape; the message names it.
        TypeError: An argument is of a wrong type.
        MemoryError: There is no memory for the workspace.
        RuntimeError: The GPU failed, or this build has no code for it.
    """
    if type(a) is _Tensor and axis == -1 and not _is_compiling():
        if stream is None and workspace is None:
            found = _select.top_k_of_tensor(
                a, k, mode, sorted, nan, stable, indices_only, lengths, starts, offsets,
                max_length, fill, out, index_dtype, threads,
            )  # fmt: skip
            if found is not None:
                return found
    flags = _flags.of(mode, sorted, stable, nan)
    plain = out is None and stream is None and index_dtype is None and not indices_only
    given = None
    if lengths is not None or starts is not None or offsets is not None or max_length is not None:
        given = _ragged.given(lengths, starts, offsets, fill, max_length)
        plain = False
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
            found = side.by_operator(a, k, axis, flags, wide, out, count, given, not indices_only)
            return found if indices_only else TopK(*found)
        if plain and axis == -1 and workspace is None:
            found = side.of_plain_rows(a, k, flags, thread_count(threads))
            if found is not None:
                return TopK(*found)
    library, a = _libraries.of(a)
    if stream is not None and not library.check(a):
        raise ValueError("stream is given, but a is in host memory")
    wide, count = is_wide(index_dtype), thread_count(threads)
    call = Call(
        library, a, operator.index(k), axis, flags, wide, out, count,
        given=given, has_values=not indices_only,
    )  # fmt: skip
    with _NOTHING if stream is None else library.within(stream, a, *call.numbers()):
        return call.run(workspace)


_PLAIN = frozenset(
    np.dtype(name)
    for name in ("float16", "float32", "float64", "int32", "uint32", "int8", "uint8")
)


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
_Tensor: Any = None  # torch.Tensor, if the extension can read and make tensors itself
_is_compiling: Any = None  # torch.compiler.is_compiling


def _load_torch_side() -> Any:
    global _torch_side, _Tensor, _is_compiling
    from kselect import _torch

    _torch_side, _is_compiling = _torch, _torch.torch.compiler.is_compiling
    if _torch.READS_TENSORS:
        _Tensor = _torch.torch.Tensor
    return _torch
