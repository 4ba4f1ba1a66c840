"""`top_k`: a library's array in, the same library's arrays out."""

import sys
from contextlib import nullcontext
from typing import Any, Literal, overload

import numpy as np

from kselect import _flags, _libraries, _ragged, _select
from kselect._arguments import is_wide, thread_count, whole
from kselect._call import Call, TopK


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
    mask: Any = None,
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
    mask: Any = None,
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
    mask: Any = None,
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
    mask: Any = None,
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
            int8, uint8, float8_e4m3fn or float8_e5m2. NumPy's (with ml_dtypes' types), torch's (CPU,
            CUDA), CuPy's, JAX's (CPU), or any in host memory with DLPack; sequences become NumPy's
            arrays. It is read where it is. It is copied only if its rows lie neither one after
            another nor, on a GPU, side by side. No array may change while the call works on it.
        k: How many, from 0 to the length of the axis; any number if rows have lengths of their own or
            there is a mask.
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
        mask: Which elements may be selected: booleans, of the shape of `a` or, for all rows, of the
            length of the axis. Or bits, the lowest first: words of uint32 or int32, or bytes of
            uint8 as `numpy.packbits(mask, axis=-1, bitorder="little")` has them, [words] or of the
            shape of `a` without the axis, then [words]. Indices are those of `a` without the mask.
            With starts and offsets, too, a mask is along the axis and not along the rows.
        max_length: With lengths or offsets, the most elements that a row has. By default the length
            of the axis. On a GPU a true bound makes calls with offsets faster.
        fill: The index that stands where a row has no more elements; the value is then -inf, or +inf
            for the smallest; of types without infinity the least or the greatest number.
        out: Arrays for values and indices, of the answer's shape and dtypes. They are returned. With
            indices_only, the array for indices.
        workspace: Dense array of uint8 on the device of `a`, for a call that allocates no scratch
            memory. Two calls must not use it at once.
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

    Arrays of lengths, starts and offsets, and masks, may in host memory be of any library there, or
    sequences; each row must be a part of the axis. On a GPU they are arrays of the library of `a`, on
    its GPU. They are not looked at before the kernel reads them, so the call does not wait for them,
    and a captured graph uses the numbers that they have when it is replayed. There a length is cut to 0
    and max_length, and nothing checks starts and offsets, which must not lead out of `a`.

    Raises:
        ValueError: An argument is out of range or of a wrong shape; the message names it.
        TypeError: An argument is of a wrong type.
        MemoryError: There is no memory for the workspace.
        RuntimeError: The GPU failed, or this build has no code for it.
    """
    if type(a) is _Tensor and axis == -1 and stream is None and workspace is None:
        found = None if _is_compiling() else _select.top_k_of_tensor(
            a, k, mode, sorted, nan, stable, indices_only, lengths, starts, offsets, mask, max_length,
            fill, out, index_dtype, threads,
        )  # fmt: skip
        if found is not None:
            return found
    flags = _flags.of(mode, sorted, stable, nan)
    ragged = not (lengths is starts is offsets is mask is max_length is None)  # not all are None
    if not ragged and not indices_only and axis == -1 and out is stream is index_dtype is None:
        found = _of_plain_rows(a, k, flags, workspace, threads)
        if found is not None:
            return found
    given = _ragged.given(lengths, starts, offsets, mask, fill, max_length) if ragged else None
    return _of_any_rows(
        a, k, axis, flags, index_dtype, out, threads, given, not indices_only, workspace, stream
    )


def _of_any_rows(
    a: Any, k: Any, axis: int | None, flags: int, index_dtype: Any, out: Any, threads: Any,
    given: _ragged.Given | None, has_values: bool, workspace: Any, stream: Any,
) -> Any:  # fmt: skip
    """Any call, on the array of any library."""
    wide, count = is_wide(index_dtype), thread_count(threads)
    if "torch" in sys.modules and (_torch_side or _load_torch_side()).wants_operator(a):
        if stream is not None or workspace is not None:
            raise ValueError("stream and workspace are not for tensors that are traced")
        found = _torch_side.by_operator(a, k, axis, flags, wide, out, count, given, has_values)
        return TopK(*found) if has_values else found
    library, a = _libraries.of(a)
    if stream is not None and not library.check(a):
        raise ValueError("stream is given, but a is in host memory")
    inside = _NOTHING
    if stream is not None:
        inside = library.within(stream, a, *([] if given is None else given.arrays(library, a)))
    with inside:  # what the call packs or copies is made on that stream, too
        call = Call(
            library, a, whole("k", k), axis, flags, wide, out, count, given=given, has_values=has_values
        )
        return call.run(workspace)


_PLAIN = frozenset(
    np.dtype(name)
    for name in ("float16", "float32", "float64", "int32", "uint32", "int8", "uint8")
)


def _of_plain_rows(a: Any, k: Any, flags: int, workspace: Any, threads: Any) -> TopK | None:
    """The most frequent calls by the shortest way; None if it is another call or a wrong one."""
    count = thread_count(threads)
    if type(a) is not np.ndarray or not (workspace is None or type(workspace) is np.ndarray):
        return None if workspace is not None else _of_torchs_rows(a, k, flags, count)
    shape = a.shape
    if a.dtype not in _PLAIN or type(k) is not int or not shape:
        return None
    if 0 in shape or not 1 <= k <= shape[-1]:
        return None
    shape = (*shape[:-1], k)
    values, indices = np.empty(shape, a.dtype), np.empty(shape, np.int64)
    wide = flags | _flags.WIDE_INDICES
    if _select.top_k(a, k, len(shape) - 1, wide, values, indices, workspace, count, 0):
        return TopK(values, indices)
    return None


def _of_torchs_rows(a: Any, k: Any, flags: int, threads: int) -> TopK | None:
    if "torch" not in sys.modules:
        return None
    side = _torch_side or _load_torch_side()
    found = None if side.wants_operator(a) else side.of_plain_rows(a, k, flags, threads)
    return None if found is None else TopK(*found)


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
