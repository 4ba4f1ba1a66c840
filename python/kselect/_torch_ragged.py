"""Where the elements of ragged rows' answers are, for gradients of torch's tensors."""

from typing import Any

import torch

from kselect import _ragged


def positions(
    indices: Any, axis_length: int, lengths: Any, starts: Any, offsets: Any, most: int
) -> tuple[Any, Any]:
    """Where along the axis each index points, and whether it stands for an element: [..., k].

    An index that stands for none points to 0. The others are tensors where `indices` are, or None.
    """
    if offsets is not None:
        starts, lengths = offsets[:-1], offsets.diff()
    begin = torch.zeros_like(indices[..., 0]) if starts is None else starts
    found = (axis_length - begin if lengths is None else lengths).clamp(0, most)
    places = torch.arange(indices.shape[-1], device=indices.device)
    is_element = places < found.unsqueeze(-1)
    at = torch.where(is_element, indices.long() + begin.long().unsqueeze(-1), 0)
    return at, is_element


def gathered(values: Any, indices: Any, a: Any, axis: int, ragged: _ragged.Rows) -> Any:
    """The values once more, with their gradient. `axis` is not negative."""

    def where_a_is(numbers: Any) -> Any:
        return None if numbers is None else torch.as_tensor(numbers, device=a.device)

    axis_last = a.reshape(-1) if ragged.offsets is not None else _flat_or_moved(a, values, axis)
    length = axis_last.shape[-1]
    if length == 0:
        return values
    last = indices if ragged.offsets is not None else indices.movedim(axis, -1)
    at, is_element = positions(
        last,
        length,
        where_a_is(ragged.lengths),
        where_a_is(ragged.starts),
        where_a_is(ragged.offsets),
        ragged.most,
    )
    found = axis_last[at] if ragged.offsets is not None else axis_last.gather(-1, at)
    if ragged.offsets is None:
        found, is_element = found.movedim(-1, axis), is_element.movedim(-1, axis)
    return torch.where(is_element, found, values)


def _flat_or_moved(a: Any, values: Any, axis: int) -> Any:
    """With the axis last; all axes may have been one."""
    return a.reshape(-1) if a.dim() != values.dim() else a.movedim(axis, -1)


def scattered(of_values: Any, shape: Any, axis: int, at: Any, is_element: Any) -> Any:
    """The gradient of `a` of this shape from that of the values, whose axis is last, as in `at`."""
    rows = shape[:axis] + shape[axis + 1 :]
    gradient = of_values.new_zeros((*rows, shape[axis]))
    given = torch.where(is_element, of_values, 0)
    if at.dim() != gradient.dim():  # segments
        return gradient.scatter_add(0, at.reshape(-1), given.reshape(-1))
    return gradient.scatter_add(-1, at, given).movedim(-1, axis)
