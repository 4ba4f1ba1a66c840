"""Masks: which elements may be selected, or which vectors found, as words of 32 bits.

A mask is given as booleans, or as bits, the lowest first: in bytes, as
`numpy.packbits(mask, axis=-1, bitorder="little")` has them, or in words of 32.
"""

from typing import Any

import numpy as np

from kselect import _libraries

# Its product with 8 bytes of 0 or 1, the first the lowest, has them as the bits of the highest byte.
GATHER = 0x0102040810204080

_BITS = {"bool": 1, "uint8": 8, "int32": 32, "uint32": 32}


def bits_of(name: str, dtype: str) -> int:
    """How many things each element of a mask stands for. `name`: of the argument, for messages."""
    if dtype not in _BITS:
        raise TypeError(
            f"{name} has dtype {dtype}; pass booleans, or bits of uint8, uint32 or int32"
        )
    return _BITS[dtype]


def words_in(things: int) -> int:
    """The words of a mask over so many things."""
    return (things + 31) // 32


def check_filter(shape: tuple[int, ...], name: str, corpus: int, queries: int) -> None:
    """Raise if a filter of a search (kselect._knn) has a wrong shape or dtype."""
    bits = bits_of("filter", name)
    width = (corpus + bits - 1) // bits
    if shape not in ((width,), (queries, width)):
        raise ValueError(
            f"filter has shape {shape} and dtype {name}, but must have ({width},) or "
            f"({queries}, {width}) for {corpus} vectors and {queries} queries"
        )


def in_host_memory(name: str, given: Any) -> np.ndarray:
    """A mask of any library as NumPy's. Raises TypeError if it is on a GPU."""
    library, given = _libraries.of(given, name)
    if not hasattr(library, "as_numpy"):
        raise TypeError(f"{name} is on a GPU; pass it in host memory")
    try:
        return library.as_numpy(given)
    except TypeError as error:
        raise TypeError(f"{name}{str(error).removeprefix('a')}") from None


def packed(mask: np.ndarray, things: int) -> np.ndarray:
    """Words of uint32, dense, with as many dimensions, from a mask over things in its last one.

    Words that are dense are not copied.
    """
    if mask.dtype.itemsize == 4:
        return np.require(mask, requirements=["C", "A"]).reshape(mask.shape).view(np.uint32)
    bits = mask if mask.dtype == np.uint8 else np.packbits(mask, axis=-1, bitorder="little")
    words = np.zeros((*mask.shape[:-1], words_in(things) * 4), np.uint8)
    words[..., : bits.shape[-1]] = bits
    return words.view("<u4").astype(np.uint32, copy=False)


def _on_gpu(given: Any, library: Any, a: Any) -> Any:
    if _libraries.of(given, "mask")[0] is not library:
        raise TypeError(f"mask is a {type(given).__name__}, not a {type(a).__name__} like a")
    if library.place(given) != library.place(a):
        raise ValueError(f"mask is on {library.place(given)}, but a on {library.place(a)}")
    library.check(given)
    return library.prepared(given)


def of_rows(
    given: Any, library: Any, a: Any, axis: int, caller_shape: tuple[int, ...], on_gpu: bool
) -> Any:
    """The mask of `a` along an axis as words where `a` is: [words], or [..., words] of each row.

    caller_shape: of the caller's array, of which `a` may be all axes as one.
    """
    if on_gpu:
        mask = _on_gpu(given, library, a)
    else:
        library, mask = _libraries.of(in_host_memory("mask", given))
    name, shape, whole = library.type_name(mask), tuple(mask.shape), tuple(a.shape)
    bits, length = bits_of("mask", name), whole[axis]
    width = (length + bits - 1) // bits
    rows = whole[:axis] + whole[axis + 1 :]
    wanted = whole if bits == 1 else (*rows, width)
    if shape == (width,):
        pass
    elif bits == 1 and shape == whole:
        mask = library.moved(mask, axis, len(whole) - 1)
    elif bits == 1 and len(whole) == 1 and shape == caller_shape:
        mask = mask.reshape(-1)
    elif shape != wanted:
        either = f"({width},)" + ("" if wanted == (width,) else f" or {wanted}")
        raise ValueError(f"mask has shape {shape} and dtype {name}, but must have {either}")
    return library.mask_words(mask, length) if on_gpu else packed(mask, length)
