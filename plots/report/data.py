"""Picks the data of a run that the report shows, in the form that its scripts read."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import PurePosixPath
from typing import Any

from plots.answer import headline
from plots.records import Record, Whole, settings

_SHORT = "%.6g"  # the significant digits of a sample; the clock's resolution is coarser
_PROBLEM = ("n", "q", "k", "dtype", "payload", "direction", "layout", "distribution", "seed")


def page_data(run: Whole, baseline: str | None) -> dict[str, Any]:
    """Return the page's data: the answer, the run's meta.json, and its cells."""
    return {
        "answer": asdict(headline(run.records, baseline)),
        "run": run.run.name,
        "digest": run.run.digest,
        "warnings": list(run.warnings),
        "meta": run.meta,
        "cells": [cell_data(value) | {"device": record.machine} for value, record in _pairs(run)],
    }


def _pairs(run: Whole) -> Iterator[tuple[dict[str, Any], Record]]:
    return zip(run.cells, run.records, strict=True)


def cell_data(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a page shows of a record."""
    problem, algorithm = value["problem"], value["algorithm"]
    return {
        "key": value["key"],
        "status": value["status"],
        "reason": value["reason"],
        **{name: problem[name] for name in _PROBLEM},
        "input": _input(value),
        "algorithm": algorithm["name"],
        "family": algorithm["family"],
        "source": algorithm.get("source", ""),
        "file": algorithm.get("file", ""),
        "executor": value["executor"],
        "threads": value["threads"],
        "time": _time(value["time"]),
        "floor": value.get("floor"),
        "counters": value.get("counters"),
        **{name: value[name] for name in ("task", "stages", "counts") if name in value},
        "workspace": value.get("workspace_bytes"),
        "verify": value.get("verify"),
        "started": value.get("started", ""),
        "elapsed": value.get("elapsed_s"),
    }


def _input(value: Mapping[str, Any]) -> str:
    """Return the name of the input: a distribution, vectors, or a data set without its folder."""
    return _rows(value) + settings(value)


def _rows(value: Mapping[str, Any]) -> str:
    given = value["input"]
    if given["kind"] == "rows" or (given["kind"] == "dataset" and "task" in value):
        return PurePosixPath(given["name"]).name
    if given["kind"] != "generated":
        return f"{PurePosixPath(given['name']).name} ({given['metric']})"
    distribution = str(value["problem"]["distribution"])
    if "vectors" not in given:
        return distribution
    vectors = given["vectors"]
    return f"{distribution} vectors, d = {vectors['dimension']} ({vectors['metric']})"


def _time(time: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if time is None:
        return None
    kept = ("clock", "cache", "median", "q1", "q3", "min", "max", "ci95", "stop", "round_sizes")
    sides = {name: time.get(name) for name in ("wall", "batch")}
    return {
        **{name: _short(time[name]) for name in kept if name in time},
        "rounds": _short(time.get("rounds") or []),
        "samples": _short(time.get("samples") or []),
        **{name: side and _short(side["median"]) for name, side in sides.items()},
    }


def _short(value: Any) -> Any:
    """Round numbers to their significant digits."""
    if type(value) is float:  # samples are most of a page's data
        short = float(_SHORT % value)
        return int(short) if short.is_integer() else short
    return [_short(v) for v in value] if isinstance(value, list) else value


def script_text(data: Mapping[str, Any]) -> str:
    """Return JSON that is safe inside a script element, whatever its strings hold."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return (
        text.replace("&", "\\u0026")
        .replace("<", "\\u003c")
        .replace(">", "\\u003e")
        .replace("\u2028", "\\u2028")
        .replace("\u2029", "\\u2029")
    )
