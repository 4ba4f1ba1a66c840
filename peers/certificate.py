"""The proof of an answer, as harness/verify/certificate.hpp states it, for rows without NaN.

The k chosen elements of a row are its k best if they are k distinct places of the row, hold the
values found there, and if no element left out is better than the worst chosen one.
"""

import numpy as np


def disprove(
    rows: np.ndarray, values: np.ndarray, indices: np.ndarray, *, largest: bool
) -> str | None:
    """Return what is wrong with the first wrong row, or None. Shapes (Q, n), (Q, k), (Q, k)."""
    n = rows.shape[1]
    k = values.shape[1]
    for q in range(rows.shape[0]):
        row, chosen, places = rows[q], values[q], indices[q]
        if places.min() < 0 or places.max() >= n:
            return f"row {q}: an index is outside [0, {n})"
        if len(np.unique(places)) != k:
            return f"row {q}: an index occurs twice"
        if row[places].tobytes() != chosen.tobytes():
            return f"row {q}: a value is not the input's at its index"
        better = row > chosen.min() if largest else row < chosen.max()
        within = chosen > chosen.min() if largest else chosen < chosen.max()
        if np.count_nonzero(better) != np.count_nonzero(within):
            return f"row {q}: an element better than the worst chosen one is left out"
    return None
