"""A call of `top_k` whose arguments have been read."""

from typing import Any, NamedTuple

import numpy as np

from kselect import _flags, _libraries, _ragged, _select
from kselect._arguments import is_wide, whole

_MOST_INT32 = (1 << 31) - 1

# NumPy 1.24 has it elsewhere.
_AxisError = getattr(np, "exceptions", np).AxisError


class TopK(NamedTuple):
    """What `top_k` returns. It unpacks: `values, indices = top_k(a, k)`."""

    values: Any  #: the selected elements
    indices: Any  #: where each of them is along the axis


def _normalised(axis: int, dimensions: int) -> int:
    """The axis as 0 .. dimensions - 1."""
    given = whole("axis", axis)
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
        *,
        given: _ragged.Given | None = None,
        has_values: bool = True,
    ) -> None:
        self.library, self.k, self.threads, self.caller = library, k, threads, a
        self.has_values = has_values
        self.on_gpu: bool = library.check(a)
        a = library.prepared(a)
        name = library.type_name(a)
        if name not in _libraries.TYPES:
            raise TypeError(f"a has dtype {name}; {', '.join(_libraries.TYPES)} are supported")
        if axis is None:
            a, axis = a.reshape(-1), 0
        self.a, self.last = a, len(a.shape) - 1
        self.axis: int = _normalised(axis, self.last + 1)
        length, shape = a.shape[self.axis], tuple(a.shape)
        shape = shape[: self.axis] + shape[self.axis + 1 :]  # of the rows
        self.rows: _ragged.Rows | None = None  # of lengths of their own
        if given is not None:
            shape = self._ragged(given, shape)
        elif not 0 <= k <= length:
            raise ValueError(f"k = {k}, but must be 0 to {length}, the length of axis {self.axis}")
        self.wide = self._has_wide_indices(wide, out, length)
        flags |= (_flags.WIDE_INDICES if self.wide else 0) | _flags.OF_TYPE.get(name, 0)
        self.flags = flags if _libraries.has_nan(name) else flags & ~_flags.NAN_LAST
        self.empty = k == 0 or 0 in shape  # the answer has no element
        self.answer_shape = (*shape, k)  # with the axis last, as the extension writes it
        self.hollow = length == 0 and not self.empty  # no row has an element
        self.out = None if out is None else self._checked(out)

    def _has_wide_indices(self, wide: bool | None, out: Any, length: int) -> bool:
        """Whether indices are int64: as `wide` says, else as `out` has them."""
        if wide is None and out is not None:
            wide = is_wide(self._out_dtype(out))
        if wide is None:
            wide = bool(self.library.DEFAULT_WIDE)
        if not wide and (length if self.rows is None else self.rows.most) > _MOST_INT32:
            raise ValueError(f"index_dtype is int32, but the axis has {length} elements")
        return wide

    def _ragged(self, given: _ragged.Given, rows: tuple[int, ...]) -> tuple[int, ...]:
        """Reads rows of lengths of their own, and a mask. Returns their shape."""
        if given.offsets is not None and self.last != 0:
            raise ValueError(
                f"offsets are given, so a must have one dimension, not {self.last + 1}; or axis=None"
            )
        if self.k < 0:
            raise ValueError(f"k = {self.k}, but must not be negative")
        rows = given.shape(rows)
        shape = tuple(self.caller.shape)
        self.rows = _ragged.Rows(given, self.library, self.a, rows, self.axis, shape, self.on_gpu)
        return rows

    def run(self, workspace: Any) -> Any:
        """Select. `workspace` is the caller's or None. Returns a TopK, or indices alone."""
        library = self.library
        if workspace is not None and not isinstance(workspace, type(self.a)):
            kind = type(workspace).__name__
            raise TypeError(f"workspace is a {kind}, not a {type(self.a).__name__}")
        if self.out is None:
            indices = library.empty_indices(self.answer_shape, self.wide, self.a)
            values = library.empty(self.answer_shape, self.a) if self.has_values else None
        else:
            values, indices = map(self._direct, self.out)
        if self.hollow:
            self._fill(values, indices)
        elif not self.empty:
            self._select(values, indices, workspace)
        if self.out is None:
            return self._returned(values, indices)
        for target, written in zip(self.out, (values, indices), strict=True):
            if written is not target:
                target[...] = self.moved(written)
        return TopK(*self.out) if self.has_values else self.out[1]

    def _returned(self, values: Any, indices: Any) -> Any:
        indices = self.moved(indices)
        if values is None:
            return self.library.returned(indices, indices, self.caller, self.axis, None)[1]
        values = self.moved(values)
        return TopK(*self.library.returned(values, indices, self.caller, self.axis, self.rows))

    def _fill(self, values: Any, indices: Any) -> None:
        assert self.rows is not None
        if values is not None:
            name, largest = self.library.type_name(self.a), bool(self.flags & _flags.LARGEST)
            values[...] = _libraries.filling(name, largest)
        indices[...] = self.rows.fill

    def moved(self, written: Any) -> Any:
        """The answer as the caller wants it: with the axis where it was."""
        if self.axis == self.last:
            return written
        return self.library.moved(written, self.last, self.axis)

    def _direct(self, target: Any) -> Any:
        """The output itself if the extension can write it, else an array to be copied there."""
        if target is None:
            return None
        library = self.library
        is_laid_out = self.axis == self.last and library.is_dense(target)
        read = [self.a, *(one for one in self.numbers() if isinstance(one, type(target)))]
        if is_laid_out and not any(library.may_overlap(one, target) for one in read):
            return target
        return library.empty(self.answer_shape, target)

    def numbers(self) -> list[Any]:
        """The arrays besides `a` that it reads."""
        return [] if self.rows is None else self.rows.arrays()

    def ragged_arguments(self) -> tuple[Any, ...]:
        """The extension's last arguments; none if each row is the whole axis."""
        return () if self.rows is None else self.rows.exported(self.library, self.on_gpu)

    def _select(self, values: Any, indices: Any, workspace: Any) -> None:
        library, a = self.library, self.a
        axis = self.axis
        stream = library.current_stream(a) if self.on_gpu else 0
        rows, ragged = library.exported(a), self.ragged_arguments()
        outputs = None if values is None else library.exported(values), library.exported(indices)
        needed: int | None = 0
        if self.on_gpu and workspace is None:
            needed = _select.workspace_bytes(
                rows, self.k, axis, self.flags, self.threads, self.has_values, *ragged
            )
        if needed is not None:
            if needed:
                workspace = library.empty_bytes(needed, a)
            scratch = None if workspace is None else library.exported(workspace)
            if _select.top_k(
                rows, self.k, axis, self.flags, *outputs, scratch, self.threads, stream, *ragged
            ):
                return
        self.a, self.axis = library.dense_copy(library.moved(a, axis, self.last)), self.last
        self._select(values, indices, workspace)
        self.axis = axis

    def _checked(self, out: Any) -> tuple[Any, Any]:
        """The caller's outputs. Raises if one is not as the answer."""
        self.library.refuse_out(self.caller)
        rows = self.answer_shape[:-1]
        shape = (*rows[: self.axis], self.k, *rows[self.axis :])
        if self.rows is not None and self.rows.offsets is not None:
            shape = self.answer_shape
        dtypes = self.library.type_name(self.a), "int64" if self.wide else "int32"
        pair = self._outputs(out)
        for name, array, dtype in zip(("values", "indices"), pair, dtypes, strict=True):
            kind, found = type(self.a), self.library.type_name
            if array is None:  # no values are wanted
                continue
            if not isinstance(array, kind):
                raise TypeError(f"out: {name} are a {type(array).__name__}, not a {kind.__name__}")
            if tuple(array.shape) != shape:
                raise ValueError(f"out: {name} have shape {tuple(array.shape)}, not {shape}")
            if found(array) != dtype:
                raise TypeError(f"out: {name} have dtype {found(array)}, not {dtype}")
            if not getattr(getattr(array, "flags", None), "writeable", True):
                raise ValueError(f"out: {name} are read-only")
            if not self.library.is_dense(array) and _may_overlap_itself(array):
                raise ValueError(f"out: elements of {name} share memory with each other")
        self._refuse_shared_memory(*pair)
        return pair

    def _refuse_shared_memory(self, values: Any, indices: Any) -> None:
        """Raises if one output would overwrite the other. Strided arrays may lie between each other."""
        library = self.library
        dense = values is not None and library.is_dense(values) and library.is_dense(indices)
        if dense and library.may_overlap(values, indices):
            raise ValueError("out: values and indices share memory")

    def _outputs(self, out: Any) -> tuple[Any, Any]:
        """The caller's arrays for values, or None, and indices."""
        return _pair(out) if self.has_values else (None, out)

    def _out_dtype(self, out: Any) -> Any:
        return getattr(self._outputs(out)[1], "dtype", None)


def _may_overlap_itself(array: Any) -> bool:
    """Whether two elements may lie at one place, as those of broadcast and expanded arrays do."""
    if hasattr(array, "strides"):  # NumPy's and CuPy's, in bytes
        strides, size = array.strides, array.dtype.itemsize
    elif callable(getattr(array, "stride", None)):  # torch's, in elements
        strides, size = array.stride(), 1
    else:
        return False
    extent = size  # from the first byte of the dimensions so far to the end of their last element
    for stride, count in sorted((abs(s), n) for s, n in zip(strides, array.shape, strict=True) if n > 1):
        if stride < extent:
            return 0 not in array.shape
        extent += stride * (count - 1)
    return False


def _pair(out: Any) -> tuple[Any, Any]:
    if not isinstance(out, tuple) or len(out) != 2:
        raise TypeError("out is not a tuple of two arrays, values and indices")
    if out[0] is None or out[1] is None:
        name = "values" if out[0] is None else "indices"
        raise TypeError(f"out: {name} are None; give both arrays, or indices_only=True and one")
    return out
