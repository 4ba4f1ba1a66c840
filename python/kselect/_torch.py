"""PyTorch's tensors, by DLPack (_libraries.py says what each function does)."""

from contextlib import nullcontext
from functools import cache
from typing import Any

import torch
from torch.utils.dlpack import to_dlpack

from kselect import _libraries

DEFAULT_WIDE = True


def check(a: Any) -> bool:
    if a.layout is not torch.strided:
        raise TypeError(f"a has layout {a.layout}; dense tensors are supported")
    kind = a.device.type
    if kind not in ("cpu", "cuda"):
        raise TypeError(f"a is on device {a.device}; cpu and cuda are supported")
    return kind == "cuda"


@cache
def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def type_name(a: Any) -> str:
    return _name(a.dtype)


def prepared(a: Any) -> Any:
    return a.detach().resolve_neg()


exported = to_dlpack


def empty(shape: tuple[int, ...], a: Any) -> Any:
    return torch.empty(shape, dtype=a.dtype, device=a.device)


def empty_indices(shape: tuple[int, ...], wide: bool, a: Any) -> Any:
    return torch.empty(shape, dtype=torch.int64 if wide else torch.int32, device=a.device)


def empty_bytes(count: int, a: Any) -> Any:
    return torch.empty(count, dtype=torch.uint8, device=a.device)


moved = torch.movedim


def dense_copy(a: Any) -> Any:
    return a.clone(memory_format=torch.contiguous_format)


def is_dense(a: Any) -> bool:
    return a.is_contiguous()


def may_overlap(a: Any, other: Any) -> bool:
    return a.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()


def _is_differentiated(a: Any) -> bool:
    return a.requires_grad and torch.is_grad_enabled()


def refuse_out(a: Any) -> None:
    if _is_differentiated(a):
        raise ValueError("out has no gradient, but a requires it; use torch.no_grad()")


def returned(values: Any, indices: Any, a: Any, axis: int) -> tuple[Any, Any]:
    if _is_differentiated(a):
        # All axes may have been one.
        rows = a.reshape(*values.shape[:axis], -1, *values.shape[axis + 1 :])
        values = rows.gather(axis, indices.long())  # the same numbers; their gradient is a scatter
    return values, indices


def current_stream(a: Any) -> int:
    return torch.cuda.current_stream(a.device).cuda_stream


def within(stream: Any, a: Any) -> Any:
    handle = _libraries.stream_handle(stream)
    before = torch.cuda.current_stream(a.device)
    if handle == before.cuda_stream:
        return nullcontext()
    if handle == 0:
        inside = torch.cuda.default_stream(a.device)
    else:
        inside = torch.cuda.ExternalStream(handle, device=a.device)
    inside.wait_stream(before)
    a.record_stream(inside)
    return torch.cuda.stream(inside)
