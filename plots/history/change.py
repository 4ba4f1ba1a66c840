"""A test for a change of level in a series of runs, and its judgement over many series.

The statistic is the largest standardised rank sum (Wilcoxon) over all splits of the series into an
earlier and a later part. It needs no model of the noise: times have outliers and long tails. If nothing
changed, all orders of the runs are equally likely, so its distribution depends on the number of runs
alone. For up to eight runs it is counted over all orders, beyond it is drawn from random ones. A slow
drift shows as well as a step, because the later half of a drift ranks above the earlier half.

Reference: Pettitt, "A non-parametric approach to the change-point problem", Applied Statistics 28(2),
1979. The standardisation gives splits near the ends the same weight as those in the middle.
"""

import functools
import itertools
import math
import random
import statistics
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

LEAST_PART = 2  # runs on each side of a split: one odd run is no change
LEAST_RUNS = 2 * LEAST_PART
_EXACT = 8  # all orders of so many runs are counted
_DRAWS = 40_000  # random orders of longer series
_SEED = 20261125  # fixed, so that equal records give equal verdicts


@dataclass(frozen=True)
class Change:
    """The most likely change of a series, and how likely it is without one."""

    at: int  # the first run of the later level
    p: float  # probability of so large a statistic if nothing changed
    ratio: float  # the later level over the earlier one


def find(logs: Sequence[float]) -> Change | None:
    """Return the most likely change of a series of logarithms of times; None if it is too short."""
    if len(logs) < LEAST_RUNS:
        return None
    statistic, at = _largest(_ranks(logs))
    return Change(at, p_value(statistic, len(logs)), math.exp(_shift(logs[:at], logs[at:])))


def p_value(statistic: float, runs: int) -> float:
    """Return the probability of at least this statistic in that many runs without a change."""
    null = _null(runs)
    # A statistic is a sum of floats; equal ones may differ in their last bits.
    reached = len(null) - bisect_left(null, statistic - 1e-9)
    if runs <= _EXACT:
        return reached / len(null)
    return (reached + 1) / (len(null) + 1)


def least_p(runs: int) -> float:
    """Return the least p that so many runs can give: 1 if they are too few to test."""
    return p_value(_null(runs)[-1], runs) if runs >= LEAST_RUNS else 1.0


def rejected(p_values: Sequence[float], alpha: float) -> list[bool]:
    """Tell which series changed, if a share `alpha` of those told may be false (Benjamini-Hochberg)."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    told = 0
    for place, i in enumerate(order, 1):
        if p_values[i] <= alpha * place / len(p_values):
            told = place
    kept = set(order[:told])
    return [i in kept for i in range(len(p_values))]


def _shift(before: Sequence[float], after: Sequence[float]) -> float:
    """Return how much later values lie above earlier ones (Hodges-Lehmann)."""
    return statistics.median(b - a for a in before for b in after)


def _ranks(values: Sequence[float]) -> list[float]:
    """Return the ranks from 1; equal values share the mean of theirs."""
    order = sorted(range(len(values)), key=lambda i: values[i])
    ranks = [0.0] * len(values)
    for _, tied in itertools.groupby(enumerate(order, 1), key=lambda pair: values[pair[1]]):
        members = list(tied)
        mean = statistics.fmean(rank for rank, _ in members)
        for _, i in members:
            ranks[i] = mean
    return ranks


def _largest(ranks: Sequence[float]) -> tuple[float, int]:
    """Return the largest standardised rank sum over all splits, and its split."""
    total, largest, at = len(ranks), -1.0, LEAST_PART
    below = sum(ranks[: LEAST_PART - 1])
    for split in range(LEAST_PART, total - LEAST_PART + 1):
        below += ranks[split - 1]
        mean = split * (total + 1) / 2
        deviation = math.sqrt(split * (total - split) * (total + 1) / 12)
        found = abs(below - mean) / deviation
        if found > largest + 1e-12:
            largest, at = found, split
    return largest, at


@functools.cache
def _null(runs: int) -> list[float]:
    """Return the statistic of all orders, or of random ones, ascending."""
    ranks = list(range(1, runs + 1))
    if runs <= _EXACT:
        return sorted(_largest(order)[0] for order in itertools.permutations(ranks))
    chance = random.Random(_SEED + runs)
    found = []
    for _ in range(_DRAWS):
        chance.shuffle(ranks)
        found.append(_largest(ranks)[0])
    return sorted(found)
