"""CuPy's arrays, by DLPack (_libraries.py says what each function does)."""

from contextlib import nullcontext
from typing import Any

import cupy

from kselect import _libraries, _masks, _numpy

DEFAULT_WIDE = True


def check(a: Any) -> bool:
    return True


type_name = _numpy.type_name


def prepared(a: Any) -> Any:
    return a


def exported(a: Any) -> Any:
    return a.__dlpack__(stream=-1)  # -1: the work is enqueued on the stream that CuPy works on


def _empty(shape: Any, dtype: Any, a: Any) -> Any:
    with cupy.cuda.Device(a.device.id):
        return cupy.empty(shape, dtype)


def empty(shape: tuple[int, ...], a: Any) -> Any:
    return _empty(shape, a.dtype, a)


def empty_indices(shape: tuple[int, ...], wide: bool, a: Any) -> Any:
    return _empty(shape, cupy.int64 if wide else cupy.int32, a)


def empty_bytes(count: int, a: Any) -> Any:
    return _empty(count, cupy.uint8, a)


def place(a: Any) -> Any:
    return a.device


moved = cupy.moveaxis


def dense_copy(a: Any) -> Any:
    return a.copy(order="C")


def is_dense(a: Any) -> bool:
    return a.flags.c_contiguous


may_overlap = cupy.may_share_memory


def refuse_out(a: Any) -> None:
    pass


def returned(values: Any, indices: Any, a: Any, axis: int, ragged: Any = None) -> tuple[Any, Any]:
    return values, indices


def current_stream(a: Any) -> int:
    return cupy.cuda.get_current_stream(a.device.id).ptr


def within(stream: Any, a: Any, *others: Any) -> Any:
    handle = _libraries.stream_handle(stream)
    before = cupy.cuda.get_current_stream(a.device.id)
    if handle == before.ptr:
        return nullcontext()
    inside = cupy.cuda.ExternalStream(handle, a.device.id)
    inside.wait_event(before.record())
    return inside


def float_rows(a: Any) -> Any:
    """Dense, of float32, where `a` is."""
    return cupy.ascontiguousarray(a, dtype=cupy.float32)


def mark(a: Any) -> Any:
    return cupy.cuda.get_current_stream(a.device.id).record()


def wait(event: Any, a: Any) -> None:
    cupy.cuda.get_current_stream(a.device.id).wait_event(event)


def narrowed(indices: Any) -> Any:
    return indices.astype(cupy.int32)


def filter_words(given: Any, corpus: int, queries: int, a: Any) -> Any:
    """A filter (kselect._knn) as words of 32 bits, where `a` is."""
    mask = cupy.asarray(given)
    _masks.check_filter(mask.shape, type_name(mask), corpus, queries)
    return mask_words(mask, corpus)


def mask_words(mask: Any, things: int) -> Any:
    bits = _masks.bits_of("mask", type_name(mask))
    with cupy.cuda.Device(mask.device.id):
        if bits == 32:
            return cupy.ascontiguousarray(mask).reshape(mask.shape).view(cupy.int32)
        if mask.size == 0:
            return cupy.zeros((*mask.shape[:-1], _masks.words_in(things)), cupy.int32)
        if bits == 1:
            mask = mask.view(cupy.uint8) != 0  # a byte may have another bit set
        padded = cupy.zeros((*mask.shape[:-1], _masks.words_in(things) * 32 // bits), mask.dtype)
        padded[..., : mask.shape[-1]] = mask
        if bits == 1:
            gathered = padded.view(cupy.int64) * _masks.GATHER
            padded = cupy.ascontiguousarray(gathered.view(cupy.uint8)[..., 7::8])
        return padded.view(cupy.int32)
