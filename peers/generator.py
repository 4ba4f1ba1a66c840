"""The rows of harness/workload/generator.hpp, distribution `uniform`, element for element.

Philox4x32-10 (Salmon et al. 2011) with the seed as key and (block of columns, row) as counter; an
element is the upper 24 (float32) or 53 (float64) bits of its random number, scaled to [0, 1).

Operators do it, on numpy's arrays and on torch's tensors alike. torch has no unsigned 64-bit
arithmetic, so numbers are signed: products wrap, and what is shifted right is masked.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)
_LOW = 0xFFFFFFFF
_MANTISSA = (1 << 53) - 1


@dataclass(frozen=True)
class Arrays:
    """What of a library of arrays the generator needs that is no operator."""

    arange: Callable[[int, int], Any]  # int64, from the first up to, not including, the second
    stack: Callable[[Sequence[Any]], Any]  # along a new last axis
    cast: Callable[[Any, str], Any]  # to "float32" or "float64"


NUMPY = Arrays(
    arange=lambda first, end: np.arange(first, end, dtype=np.int64),
    stack=lambda parts: np.stack(parts, axis=-1),
    cast=lambda array, dtype: array.astype(dtype),
)


def philox4x32(words: Sequence[Any], key: int) -> list[Any]:
    """Return 4 arrays of random words for 4 arrays of counters' words, int64 each."""
    keys = [key & _LOW, key >> 32 & _LOW]
    for _ in range(10):
        first = words[0] * _MULTIPLIERS[0]
        second = words[2] * _MULTIPLIERS[1]
        words = [
            (second >> 32 & _LOW) ^ words[1] ^ keys[0],
            second & _LOW,
            (first >> 32 & _LOW) ^ words[3] ^ keys[1],
            first & _LOW,
        ]
        keys = [(k + w) & _LOW for k, w in zip(keys, _WEYL, strict=True)]
    return list(words)


def uniform_rows(
    first: int, count: int, n: int, seed: int, dtype: str, arrays: Arrays = NUMPY
) -> Any:
    """Return rows first to first + count - 1, shape (count, n)."""
    lanes = 4 if dtype == "float32" else 2
    blocks = -(-n // lanes)
    columns = arrays.arange(0, blocks)[None, :]
    rows = arrays.arange(first, first + count)[:, None]
    words = philox4x32([columns & _LOW, columns >> 32, rows & _LOW, rows >> 32], seed)
    if dtype == "float32":
        values = arrays.cast(arrays.stack([word >> 8 for word in words]), dtype) * 2.0**-24
    else:
        pairs = [words[1] << 32 | words[0], words[3] << 32 | words[2]]
        mantissas = arrays.stack([pair >> 11 & _MANTISSA for pair in pairs])
        values = arrays.cast(mantissas, dtype) * 2.0**-53
    return values.reshape(count, blocks * lanes)[:, :n]
