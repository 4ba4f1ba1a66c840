"""Arrays in host memory of a library with DLPack and the array API, seen as NumPy's."""

from typing import Any

import numpy as np

from kselect._numpy import (  # noqa: F401
    DEFAULT_WIDE,
    dense_copy,
    empty,
    empty_indices,
    exported,
    is_dense,
    may_overlap,
    moved,
    refuse_out,
    type_name,
)

_CPU = 1  # DLPack's kDLCPU


def check(a: Any) -> bool:
    if a.__dlpack_device__()[0] != _CPU:
        raise TypeError("a is not in host memory; on a GPU, pass an array of torch's or CuPy's")
    return False


def prepared(a: Any) -> Any:
    return np.from_dlpack(a)


def as_numpy(a: Any) -> Any:
    check(a)
    return prepared(a)


def returned(values: Any, indices: Any, a: Any, axis: int, ragged: Any = None) -> tuple[Any, Any]:
    from_dlpack = a.__array_namespace__().from_dlpack
    return from_dlpack(values), from_dlpack(indices)
