"""The history of every algorithm, for its page: its level at each run of a device, and changes."""

from collections import defaultdict
from typing import Any

from plots.board.data import rounded
from plots.board.gather import Gathered
from plots.history.series import Past, Series
from plots.history.verdict import Verdict, judge, pasts_of

_ALPHA = 0.05  # as plots.history has them by default
_THRESHOLD = 0.02


def pasts(gathered: Gathered) -> dict[str, list[dict[str, Any]]]:
    """Return by algorithm a history for each device with two runs or more of it.

    A level is the time of a run over the time of the last one, of the cells that both have. What the
    machine did to all algorithms is taken off where that is known of two runs or more; else the series
    is raw and not tested.
    """
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    numbers = {id(whole.run): number for number, whole in enumerate(gathered.runs)}
    for past in pasts_of(gathered):
        told = {v.series.name: v for v in judge(past, _ALPHA, _THRESHOLD, cells=False)}
        for series in past.algorithms:
            found[series.name].append(_history(past, series, told.get(series.name), numbers))
    free = {(past["device"], name) for name, own in found.items() for past in own}
    for past in pasts_of(gathered, raw=True):
        for series in past.algorithms:
            if (past.device, series.name) not in free:
                found[series.name].append(_history(past, series, None, numbers) | {"tested": False})
    return found


def _history(
    past: Past, series: Series, verdict: Verdict | None, numbers: dict[int, int]
) -> dict[str, Any]:
    runs = [numbers[id(past.runs[run])] for run in series.runs]
    change = None
    if verdict:
        change = {
            "ratio": rounded(verdict.change.ratio, 4), "p": rounded(verdict.change.p, 2),
            "run": runs[verdict.change.at],
        }  # fmt: skip
    return {
        "device": past.device,
        "cells": series.cells,
        "runs": runs,
        "logs": [rounded(log, 4) for log in series.logs],
        "machine": past.machine is not None,
        "tested": True,
        "change": change,
    }
