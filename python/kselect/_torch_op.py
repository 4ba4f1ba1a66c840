"""`torch.ops.kselect.top_k`: torch.compile, fake tensors and autograd see through it."""

from typing import Any, Optional

import torch

from kselect import _flags


@torch.library.custom_op("kselect::top_k", mutates_args=())
def top_k(
    a: torch.Tensor, k: int, axis: int, flags: int, wide: bool, threads: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Select as `kselect.top_k` does. `flags`: LARGEST, SORTED, STABLE, NAN_LAST of _flags.py."""
    from kselect import _call, _torch

    call = _call.Call(_torch, a.detach(), k, axis, flags, wide, None, threads)
    return tuple(call.run(None))


@top_k.register_fake
def _(a: Any, k: Any, axis: int, flags: int, wide: bool, threads: int) -> tuple[Any, Any]:
    axis %= a.dim()
    shape = list(a.shape)
    torch._check(k >= 1, lambda: f"k = {k}, but must be at least 1")
    torch._check(k <= shape[axis], lambda: f"k = {k}, but must be at most {shape[axis]}")
    del shape[axis]
    values = a.new_empty((*shape, k))
    indices = a.new_empty((*shape, k), dtype=torch.int64 if wide else torch.int32)
    return values.movedim(-1, axis), indices.movedim(-1, axis)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Any, Any]) -> None:
    a, _, axis, *_ = inputs
    ctx.axis, ctx.shape = axis % a.dim(), a.shape
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(output[1])


def _scatter(ctx: Any, of_values: Any, of_indices: Any) -> tuple[Any, ...]:
    """The gradient of a selected element is its value's, that of any other is 0."""
    (indices,) = ctx.saved_tensors
    gradient = of_values.new_zeros(ctx.shape).scatter(ctx.axis, indices.long(), of_values)
    return gradient, None, None, None, None, None


top_k.register_autograd(_scatter, setup_context=_keep)


def _ragged_fake(
    a: Any, k: Any, axis: int, wide: bool, lengths: Any, starts: Any, offsets: Any, mask: Any
) -> tuple[Any, Any]:
    dtype = torch.int64 if wide else torch.int32
    torch._check(k >= 1, lambda: f"k = {k}, but must be at least 1")
    if offsets is not None:
        shape = (offsets.shape[0] - 1, k)
        return a.new_empty(shape), a.new_empty(shape, dtype=dtype)
    axis %= a.dim()
    if lengths is None and starts is None and mask is None:
        torch._check(k <= a.shape[axis], lambda: f"k = {k}, but must be at most {a.shape[axis]}")
    shape = (*a.shape[:axis], *a.shape[axis + 1 :], k)
    return (
        a.new_empty(shape).movedim(-1, axis),
        a.new_empty(shape, dtype=dtype).movedim(-1, axis),
    )


@torch.library.custom_op("kselect::top_k_of_ragged", mutates_args=())
def top_k_of_ragged(
    a: torch.Tensor,
    k: int,
    axis: int,
    flags: int,
    wide: bool,
    threads: int,
    lengths: Optional[torch.Tensor],  # noqa: UP045 (torch reads the annotation)
    starts: Optional[torch.Tensor],  # noqa: UP045
    offsets: Optional[torch.Tensor],  # noqa: UP045
    mask: Optional[torch.Tensor],  # noqa: UP045
    max_length: int,
    fill: int,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Select from rows of lengths of their own, or under a mask. max_length: 0 stands for none."""
    from kselect import _call, _ragged, _torch

    given = _ragged.given(lengths, starts, offsets, mask, fill, max_length or None)
    call = _call.Call(_torch, a.detach(), k, axis, flags, wide, None, threads, given=given)
    return tuple(call.run(None))


@top_k_of_ragged.register_fake
def _(
    a: Any, k: Any, axis: int, flags: int, wide: bool, threads: int,
    lengths: Any, starts: Any, offsets: Any, mask: Any, max_length: int, fill: int,
) -> tuple[Any, Any]:  # fmt: skip
    return _ragged_fake(a, k, axis, wide, lengths, starts, offsets, mask)


def _keep_ragged(ctx: Any, inputs: tuple[Any, ...], output: tuple[Any, Any]) -> None:
    a, _, axis, _, _, _, lengths, starts, offsets, mask, max_length, fill = inputs
    ctx.axis, ctx.shape, ctx.most, ctx.fill = axis % a.dim(), tuple(a.shape), max_length, fill
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(output[1], lengths, starts, offsets, mask)


def _scatter_ragged(ctx: Any, of_values: Any, of_indices: Any) -> tuple[Any, ...]:
    from kselect import _torch_ragged

    indices, lengths, starts, offsets, mask = ctx.saved_tensors
    if offsets is None:
        indices, of_values = indices.movedim(ctx.axis, -1), of_values.movedim(ctx.axis, -1)
    length = ctx.shape[ctx.axis]
    most = ctx.most or length
    admitted = None if mask is None else lambda: _torch_ragged.admitted(mask, ctx.shape, ctx.axis)
    at, is_element = _torch_ragged.positions(
        indices, length, lengths, starts, offsets, most, ctx.fill, admitted
    )
    gradient = _torch_ragged.scattered(of_values, ctx.shape, ctx.axis, at, is_element)
    return (gradient, *[None] * 11)


top_k_of_ragged.register_autograd(_scatter_ragged, setup_context=_keep_ragged)


@torch.library.custom_op("kselect::top_k_indices", mutates_args=())
def top_k_indices(
    a: torch.Tensor,
    k: int,
    axis: int,
    flags: int,
    wide: bool,
    threads: int,
    lengths: Optional[torch.Tensor],  # noqa: UP045
    starts: Optional[torch.Tensor],  # noqa: UP045
    offsets: Optional[torch.Tensor],  # noqa: UP045
    mask: Optional[torch.Tensor],  # noqa: UP045
    max_length: int,
    fill: int,
) -> torch.Tensor:
    """The indices alone, of rows of the axis' length or of lengths of their own."""
    from kselect import _call, _ragged, _torch

    given = _ragged.given(lengths, starts, offsets, mask, fill, max_length or None)
    call = _call.Call(
        _torch, a.detach(), k, axis, flags, wide, None, threads, given=given, has_values=False
    )
    return call.run(None)


@top_k_indices.register_fake
def _(
    a: Any, k: Any, axis: int, flags: int, wide: bool, threads: int,
    lengths: Any, starts: Any, offsets: Any, mask: Any, max_length: int, fill: int,
) -> Any:  # fmt: skip
    return _ragged_fake(a, k, axis, wide, lengths, starts, offsets, mask)[1]


def select(
    a: Any,
    k: int,
    axis: int | None,
    flags: int,
    wide: bool | None,
    out: Any,
    threads: int,
    given: Any,
    has_values: bool,
) -> Any:
    """`kselect.top_k` by the operators. `out` is the caller's or None, `given` is _ragged.Given."""
    shape = a.shape
    if axis is None:
        a, axis = a.reshape(-1), 0
    elif not -a.dim() <= axis < a.dim():
        raise ValueError(f"axis: axis {axis} is out of bounds for array of dimension {a.dim()}")
    out = out if has_values or out is None else (out,)
    if wide is None:
        wide = out is None or out[-1].dtype == torch.int64
    common = a, k, axis, flags & _KNOWN, wide, threads
    if given is None and has_values:
        answer = top_k(*common)
    else:
        operator = top_k_of_ragged if has_values else top_k_indices
        answer = operator(*common, *_tensors(given, a, shape))
    if out is None:
        return answer
    for target, found in zip(out, answer if has_values else (answer,), strict=True):
        target.copy_(found)
    return out if has_values else out[0]


_KNOWN = _flags.LARGEST | _flags.SORTED | _flags.STABLE | _flags.NAN_LAST


def _tensors(given: Any, a: Any, shape: Any) -> tuple[Any, ...]:
    """lengths, starts, offsets, mask, max_length and fill as the operators take them.

    shape: of the caller's tensor, of which `a` may be all axes as one.
    """
    if given is None:
        return None, None, None, None, 0, -1
    arrays: tuple[Any, ...] = (given.lengths, given.starts, given.offsets, given.mask)
    if a.is_cpu:
        arrays = tuple(None if one is None else torch.as_tensor(one) for one in arrays)
    *numbers, mask = arrays
    if isinstance(mask, torch.Tensor) and a.dim() == 1 and mask.shape == shape:
        mask = mask.reshape(-1)
    return (*numbers, mask, given.max_length or 0, given.fill)
