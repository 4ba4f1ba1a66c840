"""Which library an array is of. Nothing imports a library that the caller has not imported.

Each library has a module here with these functions:

    DEFAULT_WIDE                     whether indices are int64 if the caller does not say
    check(a) -> bool                 whether `a` is on a GPU; raises TypeError if that is no use
    type_name(a) -> str              its dtype, as in TYPES
    prepared(a)                      `a` as exported() takes it
    exported(a)                      an object with the buffer protocol, or a DLPack capsule
    empty(shape, a)                  an array of the dtype of `a`, where `a` is
    empty_indices(shape, wide, a)    one of int32 or, if wide, of int64
    moved(a, source, target)         a view with an axis elsewhere
    dense_copy(a)                    a row-major copy without gaps
    is_dense(a) -> bool              whether the extension can write it as it is
    may_overlap(a, other) -> bool
    refuse_out(a)                    raises if the caller cannot have outputs of its own
    place(a)                         its device, to be compared
    returned(values, indices, a, axis, ragged=None)
                                     the answer as arrays of the caller's library; `ragged` is
                                     _ragged.Rows; indices may stand for values

if its arrays can be in host memory

    as_numpy(a)                      `a` as NumPy's, not copied if possible; raises TypeError

and if its arrays can be on a GPU or a plan's

    empty_bytes(count, a)            uint8, where `a` is
    current_stream(a) -> int         the cudaStream_t that the library works on
    within(stream, a, *others)       a context in which that is the library's stream; it waits for
                                     what made `a` and the others

and if the extension can keep calls of a plan (_plan.py)

    kept_call(a, k, flags, threads, out, workspace, ragged)

if its arrays can be on a GPU

    mask_words(mask, things)         a mask over things in the last dimension as words, int32
                                     (_masks.py); it does not wait for the GPU

and if its vectors can be searched on a GPU (_knn_gpu.py)

    float_rows(a)                    `a` as dense rows of float32
    mark(a), wait(mark, a)           an event on the current stream; that stream waits for it
    narrowed(indices)                int64 as int32
    filter_words(given, corpus, queries, a)
                                     a filter as words of 32 bits
"""

import importlib
from functools import cache
from typing import Any

import numpy as np

from kselect import _numpy

_INTEGERS = ("int32", "uint32", "int8", "uint8")
TYPES = ("float16", "bfloat16", "float32", "float64", *_INTEGERS, "float8_e4m3fn", "float8_e5m2")


def has_nan(name: str) -> bool:
    """Whether the dtype of this name has NaN."""
    return name not in _INTEGERS


def filling(name: str, largest: bool) -> float:
    """The value that stands where a row has no more elements: the worst that is no NaN."""
    if name in _INTEGERS:
        return int(np.iinfo(name).min if largest else np.iinfo(name).max)
    most = 448.0 if name == "float8_e4m3fn" else np.inf  # it has no infinity
    return -most if largest else most


def stream_handle(stream: Any) -> int:
    """The cudaStream_t of an integer, of torch's and CuPy's streams, and by `__cuda_stream__`."""
    if isinstance(stream, int):
        return stream
    if hasattr(stream, "cuda_stream"):
        return int(stream.cuda_stream)
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    if hasattr(stream, "ptr"):
        return int(stream.ptr)
    raise TypeError(f"stream is a {type(stream).__name__}, which has no handle of a CUDA stream")


@cache
def _module_of(kind: type) -> Any:
    """The module for arrays of this type; None if the type says nothing."""
    if issubclass(kind, np.ndarray):
        return _numpy
    for base in kind.__mro__:
        name = base.__module__.partition(".")[0].removesuffix("lib")
        if name in ("torch", "cupy", "jax"):
            return importlib.import_module(f"kselect._{name}")
    return None


def of(a: Any, name: str = "a") -> tuple[Any, Any]:
    """The module of the library of `a`, and `a`. Nested sequences become NumPy's arrays.

    name: of the argument, for messages.
    """
    kind: Any = type(a)
    module = _module_of(kind)
    if module is not None:
        return module, a
    if hasattr(a, "__dlpack__") and hasattr(a, "__array_namespace__"):
        return importlib.import_module("kselect._any"), a
    try:
        return _numpy, np.asarray(a)
    except ValueError as error:
        raise ValueError(f"{name} cannot be made an array: {error}") from None
