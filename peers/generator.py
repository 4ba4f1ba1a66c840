"""The rows of harness/workload/generator.hpp, distribution `uniform`, element for element.

Philox4x32-10 (Salmon et al. 2011) with the seed as key and (block of columns, row) as counter; an
element is the upper 24 (float32) or 53 (float64) bits of its random number, scaled to [0, 1).
"""

import numpy as np

_MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_WEYL = (0x9E3779B9, 0xBB67AE85)
_LOW = np.uint64(0xFFFFFFFF)
_WORD = np.uint64(32)


def philox4x32(counters: np.ndarray, key: int) -> np.ndarray:
    """Return 4 random words for each counter of 4 words; both arrays are (..., 4) of uint64."""
    words = [counters[..., i].copy() for i in range(4)]
    keys = [key & 0xFFFFFFFF, key >> 32 & 0xFFFFFFFF]
    for _ in range(10):
        first = words[0] * _MULTIPLIERS[0]
        second = words[2] * _MULTIPLIERS[1]
        words = [
            second >> _WORD ^ words[1] ^ np.uint64(keys[0]),
            second & _LOW,
            first >> _WORD ^ words[3] ^ np.uint64(keys[1]),
            first & _LOW,
        ]
        keys = [(k + w) & 0xFFFFFFFF for k, w in zip(keys, _WEYL, strict=True)]
    return np.stack(words, axis=-1)


def uniform_rows(first: int, count: int, n: int, seed: int, dtype: np.dtype) -> np.ndarray:
    """Return rows first to first + count - 1, shape (count, n)."""
    lanes = 16 // dtype.itemsize
    blocks = -(-n // lanes)
    counters = np.zeros((count, blocks, 4), np.uint64)
    columns = np.arange(blocks, dtype=np.uint64)
    rows = np.arange(first, first + count, dtype=np.uint64)[:, None]
    counters[..., 0] = columns & _LOW
    counters[..., 1] = columns >> _WORD
    counters[..., 2] = rows & _LOW
    counters[..., 3] = rows >> _WORD
    words = philox4x32(counters, seed)
    if dtype == np.float32:
        values = (words >> np.uint64(8)).astype(np.float32) * np.float32(2.0**-24)
    else:
        pairs = words.reshape(count, blocks, 2, 2)
        random = pairs[..., 1] << _WORD | pairs[..., 0]
        values = (random >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return values.reshape(count, blocks * lanes)[:, :n]
