"""What top_k must return, by a stable sort of the bits' keys."""

import numpy as np

UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def bits(a: np.ndarray) -> np.ndarray:
    return a.view(UNSIGNED[a.dtype.itemsize])


def keys(a: np.ndarray, mode: str) -> np.ndarray:
    """Unsigned integers of which the smallest are the best: IEEE 754's totalOrder, or integers'."""
    found = bits(a)
    sign = found.dtype.type(1 << (8 * a.dtype.itemsize - 1))
    if a.dtype.kind == "u":
        ordered = found
    elif a.dtype.kind == "i":
        ordered = found ^ sign
    else:
        ordered = np.where(found & sign, ~found, found | sign)
    return ordered if mode == "smallest" else ~ordered


def stable(a: np.ndarray, k: int, axis: int, mode: str) -> tuple[np.ndarray, np.ndarray]:
    """The unique answer: best first, equal ones by ascending index."""
    order = np.argsort(keys(a, mode), axis=axis, kind="stable")
    indices = np.take(order, range(k), axis=axis)
    return np.take_along_axis(a, indices, axis), indices


def check(a: np.ndarray, found, k: int, axis: int, mode: str, in_order: bool, is_stable: bool) -> None:
    """Raises AssertionError unless `found` is an answer of this contract."""
    values, indices = map(np.asarray, found)
    wanted, first = stable(a, k, axis, mode)
    assert values.shape == indices.shape == wanted.shape
    assert values.dtype == a.dtype
    assert (bits(np.take_along_axis(a, indices, axis)) == bits(values)).all()
    sorted_indices = np.sort(indices, axis=axis)
    assert (np.diff(sorted_indices, axis=axis) > 0).all(), "an element was selected twice"
    best = keys(values, mode)
    if not in_order:
        best = np.sort(best, axis=axis)
        first = np.sort(first, axis=axis)
        indices = sorted_indices
    assert (best == keys(wanted, mode)).all()
    if is_stable:
        assert (indices == first).all()
