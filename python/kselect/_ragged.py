"""Rows of lengths of their own: `lengths`, `starts`, `offsets`, `mask`, `fill`, `max_length` of `top_k`."""

from typing import Any, NamedTuple

import numpy as np

from kselect import _libraries, _masks
from kselect._arguments import whole

_MOST_INT32 = (1 << 31) - 1


class Given(NamedTuple):
    """The caller's arguments. One of the arrays is not None."""

    lengths: Any
    starts: Any
    offsets: Any
    mask: Any
    fill: int
    max_length: int | None

    def arrays(self, library: Any, a: Any) -> list[Any]:
        """The arrays of the library of `a` that are where it is."""
        given = (self.lengths, self.starts, self.offsets, self.mask)
        return [one for one in given if isinstance(one, type(a)) and library.place(one) == library.place(a)]

    def shape(self, axis_shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the rows, whose axis of `a` is gone."""
        if self.offsets is None:
            return axis_shape
        shape = tuple(_libraries.of(self.offsets, "offsets")[1].shape)
        if len(shape) != 1 or shape[0] == 0:
            raise ValueError(f"offsets has shape {shape}, but must have one dimension, of Q + 1")
        return (shape[0] - 1,)


def given(
    lengths: Any, starts: Any, offsets: Any, mask: Any, fill: Any, max_length: Any
) -> Given | None:
    """The arguments; None if each row is the whole axis. Raises if they do not agree."""
    if offsets is not None and (lengths is not None or starts is not None):
        raise ValueError("offsets are given, so neither lengths nor starts may be")
    if max_length is not None:
        max_length = whole("max_length", max_length)
        if max_length < 1:
            raise ValueError(f"max_length = {max_length}, but must be at least 1")
        if lengths is None and offsets is None:
            raise ValueError("max_length is given, but neither lengths nor offsets are")
    fill = whole("fill", fill)
    if not -(1 << 63) <= fill < 1 << 63:
        raise ValueError(f"fill = {fill}, but must fit into 64 bits")
    if lengths is None and starts is None and offsets is None and mask is None:
        return None
    return Given(lengths, starts, offsets, mask, fill, max_length)


def _in_host_memory(name: str, numbers: Any) -> np.ndarray:
    library, numbers = _libraries.of(numbers, name)
    if not hasattr(library, "as_numpy") or library.check(numbers):
        raise TypeError(f"{name} is on a GPU, but a is in host memory")
    numbers = library.as_numpy(numbers)
    if numbers.dtype.kind not in "iu" or numbers.dtype == np.uint64:
        if numbers.size:
            raise TypeError(f"{name} has dtype {numbers.dtype.name}; pass int32 or int64")
    if numbers.dtype != np.int32:
        numbers = numbers.astype(np.int64, copy=False)
    return np.require(numbers, requirements=["C", "A"]).reshape(numbers.shape)


def _on_gpu(name: str, numbers: Any, library: Any, a: Any) -> Any:
    if _libraries.of(numbers, name)[0] is not library:
        raise TypeError(f"{name} is a {type(numbers).__name__}, not a {type(a).__name__} like a")
    if library.place(numbers) != library.place(a):
        raise ValueError(f"{name} is on {library.place(numbers)}, but a on {library.place(a)}")
    dtype = library.type_name(numbers)
    if dtype not in ("int32", "int64"):
        raise TypeError(f"{name} has dtype {dtype}; pass int32 or int64")
    return numbers if library.is_dense(numbers) else library.dense_copy(numbers)


class Rows:
    """The arguments for one array: checked, and as the extension takes them.

    lengths, starts: the shape of the rows; offsets: Q + 1; each None or of int32 or int64, dense,
    where `a` is. mask: words of 32 bits there, [words] or [..., words]; or None. most: the most
    elements that a row has.
    """

    def __init__(
        self, given: Given, library: Any, a: Any, rows: tuple[int, ...], axis: int,
        caller_shape: tuple[int, ...], on_gpu: bool,
    ) -> None:  # fmt: skip
        """`rows`: their shape. caller_shape: of the array of which `a` may be all axes as one."""
        self.given, self.fill = given, given.fill
        axis_length = a.shape[axis]
        wanted = {"lengths": rows, "starts": rows, "offsets": (*rows[:-1], (rows or (0,))[-1] + 1)}
        numbers: dict[str, Any] = {}
        for name, shape in wanted.items():
            array = getattr(given, name)
            if array is not None:
                read = _on_gpu(name, array, library, a) if on_gpu else _in_host_memory(name, array)
                if tuple(read.shape) != shape:
                    raise ValueError(f"{name} has shape {tuple(read.shape)}, not {shape}")
                numbers[name] = read
        self.lengths, self.starts = numbers.get("lengths"), numbers.get("starts")
        self.offsets = numbers.get("offsets")
        self.most = min(axis_length, given.max_length or axis_length)
        if self.offsets is not None and given.max_length is None and not on_gpu:
            self.most = int(np.diff(self.offsets).max(initial=0))
        self.most = max(1, self.most)
        self.mask: Any = None
        if given.mask is not None:
            self.mask = _masks.of_rows(given.mask, library, a, axis, caller_shape, on_gpu)
        if axis_length == 0 and not on_gpu and any(one.any() for one in numbers.values()):
            raise ValueError(f"{next(iter(numbers))} has numbers other than 0, but a is empty")

    def arrays(self) -> list[Any]:
        """Those that are given."""
        arrays = self.lengths, self.starts, self.offsets, self.mask
        return [one for one in arrays if one is not None]

    def exported(self, library: Any, on_gpu: bool) -> tuple[Any, ...]:
        """The extension's last arguments."""
        arrays: tuple[Any, ...] = (self.lengths, self.starts, self.offsets, self.mask)
        if on_gpu:
            arrays = tuple(one if one is None else library.exported(one) for one in arrays)
        return (*arrays, self.fill, self.most)
