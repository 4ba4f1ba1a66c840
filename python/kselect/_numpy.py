"""NumPy's arrays, by the buffer protocol (_libraries.py says what each function does)."""

from functools import cache
from typing import Any

import numpy as np

DEFAULT_WIDE = True


def check(a: Any) -> bool:
    if isinstance(a, np.ma.MaskedArray):
        raise TypeError("a is a masked array, whose mask would be lost; pass a.filled(...)")
    return False


@cache
def _name(dtype: np.dtype) -> str:
    return dtype.name


def type_name(a: Any) -> str:
    return _name(a.dtype)


def prepared(a: Any) -> Any:
    return a if a.dtype.isnative else a.astype(a.dtype.newbyteorder("="))


def as_numpy(a: Any) -> Any:
    check(a)
    return prepared(a)


# NumPy's buffers have no such types; ml_dtypes adds them to its arrays.
_EXPORTED = {"bfloat16": np.uint16, "float8_e4m3fn": np.uint8, "float8_e5m2": np.uint8}


def exported(a: Any) -> Any:
    bits = _EXPORTED.get(type_name(a))
    return a if bits is None else a.view(bits)


def empty(shape: tuple[int, ...], a: Any) -> Any:
    return np.empty(shape, a.dtype.newbyteorder("="))


def empty_indices(shape: tuple[int, ...], wide: bool, a: Any) -> Any:
    return np.empty(shape, np.int64 if wide else np.int32)


def empty_bytes(count: int, a: Any) -> Any:
    return np.empty(count, np.uint8)


def place(a: Any) -> Any:
    return "the host"


moved = np.moveaxis


def dense_copy(a: Any) -> Any:
    return np.array(a, order="C", copy=True, subok=False)


def is_dense(a: Any) -> bool:
    return a.flags.c_contiguous and a.flags.aligned and a.flags.writeable and a.dtype.isnative


may_overlap = np.may_share_memory


def refuse_out(a: Any) -> None:
    pass


def returned(values: Any, indices: Any, a: Any, axis: int, ragged: Any = None) -> tuple[Any, Any]:
    return values, indices
