"""The interval of a median, from order statistics, as harness/measure makes it."""

from collections.abc import Sequence


def interval(samples: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % interval of the median; of a few samples their extremes."""
    ordered, n = sorted(samples), len(samples)
    # The largest rank whose binomial tail is at most 2.5 %.
    tail, term, rank = 0.0, 0.5**n, 0
    while tail + term <= 0.025:
        tail += term
        term *= (n - rank) / (rank + 1)
        rank += 1
    return (ordered[rank - 1], ordered[n - rank]) if rank else (ordered[0], ordered[-1])
