"""Arguments that several calls have, read and checked. Each message names its argument."""

import operator
import os
from functools import cache
from typing import Any

import numpy as np

THREADS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
_MOST_THREADS = 4096  # as the program; some ten thousand end in a fault of OpenMP's


def whole(name: str, value: Any) -> int:
    """The argument of that name as an int. Raises TypeError if it is no integer."""
    if type(value) is int:
        return value
    try:
        return operator.index(value)
    except TypeError:
        kind = type(value).__name__
        raise TypeError(f"{name} is a {kind}, but must be an integer") from None


def thread_count(threads: int | None) -> int:
    """The number of threads; None: one for each processor that the process may use."""
    if threads is None:
        return THREADS
    count = whole("threads", threads)
    if not 1 <= count <= _MOST_THREADS:
        raise ValueError(f"threads = {count}, but must be 1 to {_MOST_THREADS}")
    return count


def is_wide(index_dtype: Any) -> bool | None:
    """Whether indices are int64; None: as the library of the array likes it."""
    if index_dtype is None:
        return None
    name = str(index_dtype)
    name = name[6:] if name.startswith("torch.") else _dtype_name(index_dtype)
    if name not in ("int32", "int64"):
        raise ValueError(f"index_dtype is {index_dtype!r}, but must be int32 or int64")
    return name == "int64"


def _dtype_name(dtype: Any) -> str:
    try:
        return _name_of_known(dtype)
    except TypeError:  # no dtype, or one that cannot be hashed
        return str(dtype)


@cache
def _name_of_known(dtype: Any) -> str:
    return np.dtype(dtype).name
