"""Reads run directories: `runs.jsonl` (or .gz), one finished cell a line, and `meta.json`.

A damaged line is an error with its number (`journal`).
"""

import hashlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from plots.cell_record import STATUSES, Floor, Inputs, Record, Run, Stage, Timing
from plots.errors import Failure, PlotError
from plots.files import RUNS, read_bytes, stored
from plots.journal import decode, split

@dataclass(frozen=True)
class Loaded:
    """A run's counting records in file order, and warnings about the run."""

    run: Run
    records: tuple[Record, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Whole:
    """A run with all members of meta.json and of each counting record."""

    run: Run
    meta: dict[str, Any]
    cells: tuple[dict[str, Any], ...]
    records: tuple[Record, ...]  # the cells, parsed, in the same order
    warnings: tuple[str, ...]


def load(directory: Path, number: int = 1) -> Loaded:
    """Read one run directory; raises PlotError(INPUT) if it is missing or damaged."""
    run, _, counting, warnings = _read(directory, number)
    return Loaded(run, tuple(record for record, _ in counting), warnings)


def load_whole(directory: Path) -> Whole:
    """Read one run directory with all members of its records; checked as by `load`."""
    run, meta, counting, warnings = _read(directory, 1)
    records, cells = zip(*counting, strict=True) if counting else ((), ())
    return Whole(run, meta, cells, records, warnings)


def tasks_of(directory: Path) -> frozenset[str]:
    """Return the tasks of a run's cells, such as "index"; "select" where none is said; none of no run."""
    try:
        meta = decode(read_bytes(directory / "meta.json"), str(directory / "meta.json"))
    except PlotError:
        return frozenset()
    config = meta.get("config")
    parts = config.get("parts", [config]) if isinstance(config, dict) else [{}]
    return frozenset(str(part.get("task", "select")) for part in parts)


# Records with all members of their cells, in file order.
_Cells = list[tuple[Record, dict[str, Any]]]

# What was read last, by path and content. Commands and tests read a run many times; parsing is most of the time.
_MOST_KEPT = 1 << 16  # cells
_kept: dict[tuple[str, str, str], tuple[Run, dict[str, Any], _Cells, tuple[str, ...]]] = {}


def _read(directory: Path, number: int) -> tuple[Run, dict[str, Any], _Cells, tuple[str, ...]]:
    if not directory.is_dir():
        raise PlotError(Failure.INPUT, f"{directory}: no such run directory")
    where = str(directory / "meta.json")
    described = read_bytes(directory / "meta.json")
    meta = decode(described, where)
    path = stored(directory, RUNS)
    data = read_bytes(path)
    key = (str(path), hashlib.sha256(described).hexdigest(), hashlib.sha256(data).hexdigest())
    if key not in _kept:
        run = replace(_run_of(meta, where, number, str(directory)), digest=key[2][:16])
        _keep(key, (run, meta, *_cells(data, run, path)))
    run, meta, cells, warnings = _kept[key]
    if run.number != number:
        run = replace(run, number=number)
        cells = [(replace(record, run=run), value) for record, value in cells]
    return run, meta, cells, warnings


def _keep(key: tuple[str, str, str], read: tuple[Run, dict[str, Any], _Cells, tuple[str, ...]]) -> None:
    """Remember a run; the oldest are forgotten where there would be too many cells."""
    _kept[key] = read
    while len(_kept) > 1 and sum(len(cells) for _, _, cells, _ in _kept.values()) > _MOST_KEPT:
        del _kept[next(iter(_kept))]


def _cells(data: bytes, run: Run, path: Path) -> tuple[_Cells, tuple[str, ...]]:
    lines, torn = split(data, str(path))
    values = [decode(line, f"{path}:{i}") for i, line in enumerate(lines, 1)]
    records = [_parse(value, run, f"{path}:{i}") for i, value in enumerate(values, 1)]
    told = f"{path}:{len(lines) + 1}: ignored an unfinished line ({torn} bytes)"
    return _counting(zip(records, values, strict=True)), (told,) if torn else ()


def _counting(
    records: Iterable[tuple[Record, dict[str, Any]]],
) -> list[tuple[Record, dict[str, Any]]]:
    """Keep one record for each key: the last with status ok, else the last."""
    chosen: dict[str, tuple[Record, dict[str, Any]]] = {}
    for record, value in records:
        earlier = chosen.get(record.key)
        if earlier is None or record.time is not None or earlier[0].time is None:
            chosen[record.key] = record, value
    return list(chosen.values())


def _member(value: dict[str, Any], path: str, kind: type, where: str) -> Any:
    """Return the member at a dotted path; it must be of the type `kind`."""
    found: Any = value
    try:
        for name in path.split("."):
            found = found[name]
    except (KeyError, TypeError):  # TypeError: what is no object has no members
        raise PlotError(Failure.INPUT, f"{where}: {path!r} is missing") from None
    # Not isinstance, to which a bool is an int; in JSON it is not.
    if type(found) is not kind:
        raise PlotError(Failure.INPUT, f"{where}: {path!r} is {found!r}, not a {kind.__name__}")
    return found


def _run_of(meta: dict[str, Any], where: str, number: int, directory: str) -> Run:
    # null: the run did not look for a GPU.
    gpus = [] if meta.get("gpu", 0) is None else _member(meta, "gpu", list, where)
    gpu = "" if not gpus else _member({"gpu": gpus[0]}, "gpu.name", str, where)
    multiprocessors = int(gpus[0].get("multiprocessors") or 0) if gpus else 0
    if gpus and meta.get("multiprocessors") is not None:
        # measure.multiprocessors: figures treat a part of a GPU as another machine.
        multiprocessors = _member(meta, "multiprocessors.used", int, where)
        whole = _member(meta, "multiprocessors.of", int, where)
        gpu += f", {multiprocessors} of {whole} multiprocessors"
    return Run(
        number=number,
        name=_member(meta, "run", str, where),
        cpu=_member(meta, "host.cpu", str, where),
        gpu=gpu,
        commit=_member(meta, "git.commit", str, where),
        dirty=_member(meta, "git.dirty", bool, where),
        state=_member(meta, "state", str, where),
        multiprocessors=multiprocessors,
        started=str(meta.get("started") or ""),
        path=directory,
    )


def _parse(value: dict[str, Any], run: Run, where: str) -> Record:
    status = _member(value, "status", str, where)
    if status not in STATUSES:
        raise PlotError(Failure.INPUT, f"{where}: status {status!r} is not known")
    return Record(
        run=run,
        key=_member(value, "key", str, where),
        status=status,
        reason=_member(value, "reason", str, where),
        **_problem(value, where),
        workload=_workload(value, where),
        algorithm=_member(value, "algorithm.name", str, where),
        family=_member(value, "algorithm.family", str, where),
        source_hash=_member(value, "algorithm.source_hash", str, where),
        executor=_member(value, "executor", str, where),
        threads=_member(value, "threads", int, where),
        time=_timing(value, where),
        queue_updates=_queue_updates(value, where),
        floor=_floor(value, where),
        counters=_counters(value, where),
        elapsed_s=_number(value.get("elapsed_s", 0), "elapsed_s", where),
        inputs=_inputs(value, where),
        multiprocessors=_confined(value, where),
        stages=_stages(value, where),
    )


def _stages(value: dict[str, Any], where: str) -> tuple[Stage, ...]:
    stages = value.get("stages") or {}
    return tuple(
        Stage(
            name,
            _number(_member(value, f"stages.{name}", dict, where).get("median"), name, where),
            _member(value, f"stages.{name}.of_time", bool, where),
        )
        for name in stages
    )


def _problem(value: dict[str, Any], where: str) -> dict[str, Any]:
    """Return the members of a Record that its problem holds."""

    def size(name: str) -> int:
        number = _member(value, f"problem.{name}", int, where)
        if number < 0:
            message = f"{where}: 'problem.{name}' is {number}, which is negative"
            raise PlotError(Failure.INPUT, message)
        return int(number)

    names = ("dtype", "index", "direction", "payload", "layout", "distribution")
    found = {name: _member(value, f"problem.{name}", str, where) for name in names}
    if _member(value, "input.kind", str, where) != "generated":
        found["distribution"] = ""
    found |= {name: str(value["problem"].get(name, "")) for name in ("lengths", "mask")}
    whole = {name: _member(value, f"problem.{name}", int, where) for name in ("pitch", "seed")}
    return {**found, **whole, **{name: size(name) for name in ("n", "q", "k")}}


def _confined(value: dict[str, Any], where: str) -> int:
    """Return how many multiprocessors a cell was confined to, or 0."""
    if value.get("multiprocessors") is None:
        return 0
    return _member(value, "multiprocessors.used", int, where)


# The members of every problem. A task adds settings of its own.
_USUAL = frozenset(
    "n q k dtype index direction payload layout pitch distribution seed".split()
)


def settings(value: Mapping[str, Any]) -> str:
    """Return what a task adds to a record's problem: ", dimension = 128"; "" for a selection."""
    own = {name: part for name, part in value["problem"].items() if name not in _USUAL}
    return "".join(
        f", {name} = {value:g}" if isinstance(value, float) else f", {name} = {value}"
        for name, value in own.items()
    )


def _workload(value: dict[str, Any], where: str) -> str:
    return _rows(value, where) + settings(value)


def _rows(value: dict[str, Any], where: str) -> str:
    if _member(value, "input.kind", str, where) == "generated":
        distribution = _member(value, "problem.distribution", str, where)
        if "vectors" not in value["input"]:
            return distribution
        dimension = _member(value, "input.vectors.dimension", int, where)
        metric = _member(value, "input.vectors.metric", str, where)
        return f"{distribution} vectors, d = {dimension} ({metric})"
    # A data set may be named by its path; figures show only the file's name.
    name = PurePosixPath(_member(value, "input.name", str, where)).name
    if value["input"]["kind"] == "rows" or "task" in value:
        return name
    return f"{name} ({_member(value, 'input.metric', str, where)})"


def _queue_updates(value: dict[str, Any], where: str) -> tuple[int, ...]:
    if "queue_updates" not in (value.get("places") or {}):
        return ()
    counts = _member(value, "places.queue_updates", list, where)
    if not all(type(count) is int and count >= 0 for count in counts):
        raise PlotError(Failure.INPUT, f"{where}: 'places.queue_updates' holds what is no count")
    return tuple(counts)


def _counters(value: dict[str, Any], where: str) -> dict[str, int]:
    counters = value.get("counters") or {}
    if not isinstance(counters, dict) or not all(type(c) is int for c in counters.values()):
        raise PlotError(Failure.INPUT, f"{where}: 'counters' holds what is no count")
    return counters


def _inputs(value: dict[str, Any], where: str) -> Inputs | None:
    if value.get("inputs") is None:
        return None

    def stage(name: str) -> float | None:
        if name not in value["inputs"]:
            return None
        found = _member(value, f"inputs.{name}", dict, where)
        return _number(found.get("median"), f"inputs.{name}.median", where)

    return Inputs(
        copies=_member(value, "inputs.copies", int, where),
        fresh=_member(value, "inputs.fresh", bool, where),
        distances=stage("distances"),
        to_host=stage("to_host"),
    )


def _floor(value: dict[str, Any], where: str) -> Floor | None:
    if value.get("floor") is None:
        return None
    return Floor(
        bytes=_member(value, "floor.bytes", int, where),
        ceiling=_member(value, "floor.ceiling", str, where),
        share=_number(value["floor"].get("share"), "floor.share", where),
    )


def _number(value: object, path: str, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise PlotError(Failure.INPUT, f"{where}: {path!r} is {value!r}, not a number")
    return float(value)


def _timing(value: dict[str, Any], where: str) -> Timing | None:
    time = value.get("time")
    if time is None:
        return None
    if value["status"] != "ok":
        message = f"{where}: status {value['status']!r} has a time; only ok cells have one"
        raise PlotError(Failure.INPUT, message)
    if _member(value, "time.unit", str, where) != "ns":
        raise PlotError(Failure.INPUT, f"{where}: time.unit is {time['unit']!r}, not 'ns'")

    bounds = time.get("ci95")
    if not isinstance(bounds, list) or len(bounds) != 2:
        raise PlotError(Failure.INPUT, f"{where}: 'time.ci95' is {bounds!r}, not two numbers")
    numbers = [time.get("median"), *bounds]
    for number in numbers:
        is_number = isinstance(number, int | float) and not isinstance(number, bool)
        if not is_number or not math.isfinite(number) or number <= 0:
            message = f"{where}: time has {number!r} where a positive number of ns is due"
            raise PlotError(Failure.INPUT, message)
    median, low, high = (float(number) for number in numbers)
    if not low <= median <= high:
        message = f"{where}: the interval time.ci95 does not hold time.median"
        raise PlotError(Failure.INPUT, message)
    rounds = tuple(
        _number(round_, "time.rounds", where)
        for round_ in time.get("rounds") or ()
        if round_ is not None
    )
    return Timing(_member(value, "time.clock", str, where), median, low, high, rounds)
