"""PyTorch's tensors, by DLPack (_libraries.py says what each function does)."""

import warnings
from contextlib import nullcontext
from functools import cache
from typing import Any

import numpy as np
import torch
from torch.utils.dlpack import to_dlpack

from kselect import _flags, _libraries, _masks, _select
from kselect._arguments import THREADS
from kselect._call import TopK

DEFAULT_WIDE = True
# Whether the extension reads and makes tensors by functions of C, as it can with torch 2.10 and newer.
READS_TENSORS = _select.open_torch(
    torch.Tensor,
    getattr(torch.Tensor, "__dlpack_c_exchange_api__", None),
    torch.int32,
    torch.int64,
    TopK,
    THREADS,
)


def kept_call(
    a: Any, k: int, flags: int, threads: int, out: tuple[Any, Any], workspace: Any, ragged: dict[str, Any]
) -> Any:
    """What the extension keeps of such calls, for `_select.run_kept`; None: they take a longer way."""
    if not READS_TENSORS:
        return None
    mask = ragged.get("mask")
    if isinstance(mask, np.ndarray):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The given NumPy array is not writable")
            mask = torch.from_numpy(mask.view(np.int32))  # which is only read
    return _select.keep_call(
        a,
        k,
        "largest" if flags & _flags.LARGEST else "smallest",
        flags & _flags.SORTED,
        "last" if flags & _flags.NAN_LAST else "total_order",
        flags & _flags.STABLE,
        False,
        ragged.get("lengths"),
        ragged.get("starts"),
        ragged.get("offsets"),
        mask,
        ragged.get("max_length"),
        ragged.get("fill", -1),
        tuple(out),
        None,
        threads,
        workspace,
    )


def wants_operator(a: Any) -> bool:
    """Whether code is being compiled, or `a` stands for a tensor: a fake or another subclass."""
    if torch.compiler.is_compiling():
        return True
    return isinstance(a, torch.Tensor) and (type(a) not in _WITH_MEMORY or a.is_meta)


_WITH_MEMORY = (torch.Tensor, torch.nn.Parameter)
_PLAIN = frozenset(
    (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int32, torch.int8, torch.uint8)
)


def of_plain_rows(a: Any, k: Any, flags: int, threads: int) -> Any:
    """The most frequent call by the shortest way; None if it is another call or a wrong one."""
    if type(a) is not torch.Tensor or a.dtype not in _PLAIN or type(k) is not int:
        return None
    if a.requires_grad or a.layout is not torch.strided or a.is_neg():
        return None
    shape: tuple[int, ...] = tuple(a.shape)
    if not shape or 0 in shape or not 1 <= k <= shape[-1]:
        return None
    axis, shape = len(shape) - 1, (*shape[:-1], k)
    flags |= _flags.WIDE_INDICES
    rows, workspace, stream = to_dlpack(a), None, 0
    if a.is_cuda:
        if flags & _flags.NAN_LAST:
            return None
        needed = _select.workspace_bytes(rows, k, axis, flags, threads, True)
        if needed is None:
            return None
        if needed:
            workspace = to_dlpack(torch.empty(needed, dtype=torch.uint8, device=a.device))
        stream = _raw_stream(a.device.index)
    elif not a.is_cpu:
        return None
    values, indices = a.new_empty(shape), a.new_empty(shape, dtype=torch.int64)
    outputs = to_dlpack(values), to_dlpack(indices)
    if _select.top_k(rows, k, axis, flags, *outputs, workspace, threads, stream):
        return values, indices
    return None


def _raw_stream_by_object(gpu: int) -> int:
    return torch.cuda.current_stream(gpu).cuda_stream


# What torch's own compiler calls: the number without an object.
_raw_stream = getattr(torch._C, "_cuda_getCurrentRawStream", _raw_stream_by_object)


def by_operator(*arguments: Any) -> Any:
    from kselect import _torch_op

    return _torch_op.select(*arguments)


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


def as_numpy(a: Any) -> Any:
    if check(a):
        raise TypeError("a is on a GPU, but the others are in host memory; pass a.cpu()")
    a = prepared(a)
    return (a.float() if a.dtype is torch.bfloat16 else a).numpy()


def exported(a: Any) -> Any:
    # As bytes: not every version of torch exports 8-bit floats.
    return to_dlpack(a.view(torch.uint8) if _name(a.dtype) in _FLOAT8 else a)


_FLOAT8 = ("float8_e4m3fn", "float8_e5m2")


def empty(shape: tuple[int, ...], a: Any) -> Any:
    return torch.empty(shape, dtype=a.dtype, device=a.device)


def empty_indices(shape: tuple[int, ...], wide: bool, a: Any) -> Any:
    return torch.empty(shape, dtype=torch.int64 if wide else torch.int32, device=a.device)


def empty_bytes(count: int, a: Any) -> Any:
    return torch.empty(count, dtype=torch.uint8, device=a.device)


def place(a: Any) -> Any:
    return a.device


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


def returned(values: Any, indices: Any, a: Any, axis: int, ragged: Any = None) -> tuple[Any, Any]:
    if isinstance(values, np.ndarray):  # distances, which have no gradient
        return torch.from_numpy(values), torch.from_numpy(indices)
    if values is not indices and _is_differentiated(a):
        if ragged is not None:
            from kselect import _torch_ragged

            return _torch_ragged.gathered(values, indices, a, axis, ragged), indices
        # All axes may have been one.
        rows = a.reshape(*values.shape[:axis], -1, *values.shape[axis + 1 :])
        values = rows.gather(axis, indices.long())  # the same numbers; their gradient is a scatter
    return values, indices


def current_stream(a: Any) -> int:
    return _raw_stream(a.device.index)


def within(stream: Any, a: Any, *others: Any) -> Any:
    handle = _libraries.stream_handle(stream)
    before = torch.cuda.current_stream(a.device)
    if handle == before.cuda_stream:
        return nullcontext()
    if handle == 0:
        inside = torch.cuda.default_stream(a.device)
    else:
        inside = torch.cuda.ExternalStream(handle, device=a.device)
    inside.wait_stream(before)
    for one in (a, *others):
        one.record_stream(inside)
    return torch.cuda.stream(inside)


def float_rows(a: Any) -> Any:
    """Dense, of float32, where `a` is."""
    return prepared(a).to(torch.float32).contiguous()


def mark(a: Any) -> Any:
    return torch.cuda.current_stream(a.device).record_event()


def wait(event: Any, a: Any) -> None:
    torch.cuda.current_stream(a.device).wait_event(event)


def narrowed(indices: Any) -> Any:
    return indices.to(torch.int32)


def filter_words(given: Any, corpus: int, queries: int, a: Any) -> Any:
    """A filter (kselect._knn) as words of 32 bits, where `a` is."""
    mask = torch.as_tensor(given, device=a.device)
    _masks.check_filter(tuple(mask.shape), type_name(mask), corpus, queries)
    return mask_words(mask, corpus)


def mask_words(mask: Any, things: int) -> Any:
    bits = _masks.bits_of("mask", type_name(mask))
    if bits == 32:
        return mask.contiguous().view(torch.int32)
    if mask.numel() == 0:  # its bytes cannot be viewed as words
        return mask.new_zeros((*mask.shape[:-1], _masks.words_in(things)), dtype=torch.int32)
    whole = (*mask.shape[:-1], _masks.words_in(things) * 32 // bits)
    if bits == 1:
        mask = mask.view(torch.uint8).ne(0)  # a byte may have another bit set; and it is aligned
    if bits == 8 or mask.shape != whole or not mask.is_contiguous():
        padded = mask.new_zeros(whole)
        padded[..., : mask.shape[-1]] = mask
        mask = padded
    if bits == 1:
        gathered = mask.view(torch.int64) * _masks.GATHER
        mask = gathered.view(torch.uint8)[..., 7::8].contiguous()
    return mask.view(torch.int32)
