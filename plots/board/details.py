"""The data of one run, which a page loads when a cell is opened: environment, config, samples, proofs."""

from collections.abc import Mapping
from typing import Any

from plots.board.pack import pack
from plots.records import Whole
from plots.report.data import cell_data

_PART = 1e4  # samples are stored in such parts of their median
_TIME = ("clock", "cache", "median", "min", "max", "ci95", "stop", "round_sizes", "wall", "batch")


def run_data(run: Whole, name: str) -> dict[str, Any]:
    """Return what pages show of a run; its cells are in the run's order."""
    return {
        "name": name,
        "meta": run.meta,
        "digest": run.run.digest,
        "warnings": list(run.warnings),
        "cells": pack([_cell(value) for value in run.cells]),
    }


def _cell(value: Mapping[str, Any]) -> dict[str, Any]:
    found = cell_data(value)
    time = found.pop("time")
    found.pop("elapsed")
    if "stages" in found:  # pages show no rounds of a stage
        found["stages"] = {
            name: {key: fact for key, fact in stage.items() if key != "rounds"} for name, stage in found["stages"].items()
        }
    kept = {f"time_{name}": time and time.get(name) for name in _TIME}
    samples = time and [round(_PART * (s / time["median"] - 1)) for s in time["samples"]]
    return {**found, **kept, "time_samples": samples}
