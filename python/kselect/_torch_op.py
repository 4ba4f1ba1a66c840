"""`torch.ops.kselect.top_k`: torch.compile, fake tensors and autograd see through it."""

from typing import Any

import torch

from kselect import _flags


@torch.library.custom_op("kselect::top_k", mutates_args=())
def top_k(
    a: torch.Tensor, k: int, axis: int, flags: int, wide: bool, threads: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Select as `kselect.top_k` does. `flags`: LARGEST, SORTED and STABLE of _flags.py."""
    from kselect import _top_k, _torch

    call = _top_k.Call(_torch, a.detach(), k, axis, flags, wide, None, threads)
    return tuple(call.run(None, _torch.check(a)))


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


def select(
    a: Any, k: int, axis: int | None, flags: int, wide: bool | None, out: Any, threads: int
) -> Any:
    """`kselect.top_k` by the operator. `out` is the caller's or None."""
    if axis is None:
        a, axis = a.reshape(-1), 0
    elif not -a.dim() <= axis < a.dim():
        raise ValueError(f"axis: axis {axis} is out of bounds for array of dimension {a.dim()}")
    if wide is None:
        wide = out is None or out[1].dtype == torch.int64
    answer = top_k(
        a, k, axis, flags & (_flags.LARGEST | _flags.SORTED | _flags.STABLE), wide, threads
    )
    if out is None:
        return answer
    for target, found in zip(out, answer, strict=True):
        target.copy_(found)
    return out
