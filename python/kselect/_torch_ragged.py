"""Where the elements of ragged rows' answers are, for gradients of torch's tensors."""

from typing import Any

import numpy as np
import torch

from kselect import _ragged


def positions(
    indices: Any, axis_length: int, lengths: Any, starts: Any, offsets: Any, most: int, fill: int,
    admitted: Any = None,
) -> tuple[Any, Any]:  # fmt: skip
    """Where along the axis each index points, and whether it stands for an element: [..., k].

    An index that stands for none is the fill, and points to 0. The others are tensors where
    `indices` are, or None. admitted(): whether each element of the axis may be selected, [length] or
    [..., length]; None: all may be.
    """
    if offsets is not None:
        starts, lengths = offsets[:-1], offsets.diff()
    begin = torch.zeros_like(indices[..., 0]) if starts is None else starts
    if fill < 0:  # no element has that index
        is_element = indices != fill
    else:
        found = (axis_length - begin if lengths is None else lengths).clamp(0, most)
        if admitted is not None:
            found = _count(admitted(), begin.long(), found)
        places = torch.arange(indices.shape[-1], device=indices.device)
        is_element = places < found.unsqueeze(-1)
    at = torch.where(is_element, indices.long() + begin.long().unsqueeze(-1), 0)
    return at, is_element


def _count(admitted: Any, begin: Any, length: Any) -> Any:
    """How many elements of each row are admitted."""
    last = admitted.shape[-1]
    before = torch.nn.functional.pad(admitted.cumsum(-1), (1, 0))
    ends = begin.clamp(0, last), (begin + length).clamp(0, last)
    if before.dim() == 1:
        first, end = (before[one] for one in ends)
    else:
        first, end = (before.gather(-1, one.unsqueeze(-1)).squeeze(-1) for one in ends)
    return end - first


def unpacked(bits: Any, things: int) -> Any:
    """Bits of uint8, uint32 or int32 as 0 and 1, one for each thing of the last dimension."""
    if bits.dtype is not torch.uint8:
        bits = bits.view(torch.int32)
    places = torch.arange(8 * bits.element_size(), dtype=bits.dtype, device=bits.device)
    return ((bits.unsqueeze(-1) >> places) & 1).flatten(-2)[..., :things]


def _words_there(mask: Any, a: Any) -> Any:
    if isinstance(mask, np.ndarray):
        mask = torch.from_numpy(mask.view(np.int32).copy())
    return mask.to(a.device)


def admitted(mask: Any, shape: Any, axis: int) -> Any:
    """What `admitted` of `positions` returns, from the mask of a tensor of this shape; the axis is last then."""
    if mask.dtype is not torch.bool:
        return unpacked(mask, shape[axis])
    return mask if mask.dim() == 1 else mask.movedim(axis, -1)


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
        ragged.fill,
        None if ragged.mask is None else lambda: unpacked(_words_there(ragged.mask, a), length),
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
