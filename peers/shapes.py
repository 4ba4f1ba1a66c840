"""Reads the problems of a config with shapes (configs/goal.json) without the kselect program.

It reads only a part of the config language: `shapes` of plain numbers, one or several values of
dtype and direction, uniform rows. Everything else is refused, because a different reading than
kselect's would give a different problem under the same name.
"""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from plots.errors import Failure, PlotError

_AXES = frozenset(("shapes", "dtype", "direction", "payload", "distribution"))
_ALONE = {"payload": "values_and_indices", "distribution": "uniform"}


def listed(config: Path) -> list[Any]:
    """Return the problems of a config, with the members that describe a problem in a record."""

    def refuse(what: str) -> PlotError:
        return PlotError(Failure.INPUT, f"{config}: {what}; give a finished run of it instead")

    value = json.loads(config.read_text())
    axes = {k: v for k, v in value.get("axes", {}).items() if k != "_note"}
    if "shapes" not in axes:
        raise refuse("lists no shapes")
    if unknown := sorted(axes.keys() - _AXES):
        raise refuse(f"axes.{unknown[0]} is not read here")
    if "constraints" in value or "input" in value or "exclude" in value:
        raise refuse("its constraints, exclusions and inputs are not read here")
    for name, only in _ALONE.items():
        if _several(axes.get(name, only)) != [only]:
            raise refuse(f"axes.{name} is not {only} alone")
    shapes = axes["shapes"]
    if not all(isinstance(size, int) for shape in shapes for size in shape):
        raise refuse("its shapes are not all plain numbers")
    return [
        SimpleNamespace(
            n=n, q=q, k=k, dtype=dtype, direction=direction, workload="uniform",
            payload="values_and_indices", seed=value.get("seed", 42), lengths="", mask="",
        )
        for dtype in _several(axes.get("dtype", "float32"))
        for n, q, k in shapes
        for direction in _several(axes.get("direction", "smallest"))
    ]  # fmt: skip


def _several(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
