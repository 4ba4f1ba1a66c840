"""Reads run directories: `runs.jsonl`, one finished cell a line, and `meta.json`.

The file is append-only and each line ends in a checksum of itself. What an interrupted append left
behind at the end (a torn tail) is told and ignored; any other line that does not check is an error
with its number, because a figure drawn from damaged data looks like any other figure. What counts
as torn is the rule of the journal that writes the file.
"""

import hashlib
import json
import math
import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any, NoReturn

from plots.errors import Failure, PlotError

SCHEMA = 1
STATUSES = frozenset(
    (
        "ok",
        "wrong",
        "unsupported",
        "out_of_memory",
        "timeout",
        "error",
        "throttled",
        "implausible",
    )
)
_NEVER_IN_JSON = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\xc0\xc1\xf5-\xff]")
_CHECKSUM = re.compile(rb',"crc32":"([0-9a-f]{8})"}\Z')


@dataclass(frozen=True)
class Run:
    """Where records come from: one run directory's meta.json, as far as figures tell it."""

    number: int  # its place among the runs drawn together, from 1
    name: str
    cpu: str
    gpu: str  # "" where the run had none
    commit: str
    dirty: bool
    state: str  # "complete", "interrupted" or "running"
    multiprocessors: int = 0  # of the GPU; 0 where the run had none or does not say
    started: str = ""  # ISO 8601 in UTC; "" where the run does not say
    path: str = field(default="", compare=False)  # the directory, as it was given
    digest: str = field(default="", compare=False)  # of runs.jsonl: sha256, 16 digits


@dataclass(frozen=True)
class Timing:
    """A measured time of a whole problem (all Q rows), in nanoseconds."""

    clock: str
    median: float
    low: float  # the 95 % confidence interval of the median
    high: float
    rounds: tuple[float, ...] = ()  # median of each round that has one; () in old records


@dataclass(frozen=True)
class Floor:
    """The bytes that must move, and at what share of a measured ceiling a cell moved them."""

    bytes: int
    ceiling: str  # "read" or "cached_read"
    share: float


@dataclass(frozen=True)
class Record:
    """One cell: a problem, the algorithm that was to solve it, and how that ended."""

    run: Run
    key: str
    status: str
    reason: str
    n: int
    q: int
    k: int
    dtype: str
    index: str
    direction: str
    payload: str
    layout: str
    pitch: int
    seed: int
    workload: str  # the distribution, or the data set and its metric
    algorithm: str
    family: str
    source_hash: str
    executor: str
    threads: int
    time: Timing | None  # only where status is "ok"; not where there was nothing to time
    queue_updates: tuple[int, ...] = ()  # of each slot, all Q queues; () where not counted
    distribution: str = ""  # "" of a data set
    floor: Floor | None = None  # None in old records, too
    counters: Mapping[str, int] = field(default_factory=dict, hash=False)  # {} where not counted
    elapsed_s: float = 0.0

    @property
    def machine(self) -> str:
        """What executed the cell: the processor's or the GPU's model name."""
        on_gpu = self.executor == "cuda" and self.run.gpu
        return self.run.gpu if on_gpu else self.run.cpu


@dataclass(frozen=True)
class Loaded:
    """A run's counting records in file order, and what the reader should be told about it."""

    run: Run
    records: tuple[Record, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Whole:
    """A run as it was written: meta.json, and each counting record with all its members."""

    run: Run
    meta: dict[str, Any]
    cells: tuple[dict[str, Any], ...]
    warnings: tuple[str, ...]


def load(directory: Path, number: int = 1) -> Loaded:
    """Read one run directory; raises PlotError(INPUT) where it is missing or damaged."""
    run, _, counting, warnings = _read(directory, number)
    return Loaded(run, tuple(record for record, _ in counting), warnings)


def load_whole(directory: Path) -> Whole:
    """Read one run directory, checked as by `load`, with everything that its records hold."""
    run, meta, counting, warnings = _read(directory, 1)
    return Whole(run, meta, tuple(value for _, value in counting), warnings)


def _read(
    directory: Path, number: int
) -> tuple[Run, dict[str, Any], list[tuple[Record, dict[str, Any]]], tuple[str, ...]]:
    if not directory.is_dir():
        raise PlotError(Failure.INPUT, f"{directory}: no such run directory")
    where = str(directory / "meta.json")
    meta = _decode(_read_bytes(directory / "meta.json"), where)
    run = _run_of(meta, where, number, str(directory))
    path = directory / "runs.jsonl"
    data = _read_bytes(path)
    run = replace(run, digest=hashlib.sha256(data).hexdigest()[:16])
    lines, torn = _split(data, str(path))
    values = [_decode(line, f"{path}:{i}") for i, line in enumerate(lines, 1)]
    records = [_parse(value, run, f"{path}:{i}") for i, value in enumerate(values, 1)]
    warnings = []
    if torn:
        warnings.append(f"{path}:{len(lines) + 1}: ignored an unfinished line ({torn} bytes)")
    return run, meta, _counting(zip(records, values, strict=True)), tuple(warnings)


def read_journal(path: Path) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """Return the objects of a journal, whatever they record, and what to tell about the file."""
    lines, torn = _split(_read_bytes(path), str(path))
    objects = [_decode(line, f"{path}:{i}") for i, line in enumerate(lines, 1)]
    told = f"{path}:{len(lines) + 1}: ignored an unfinished line ({torn} bytes)"
    return objects, (told,) if torn else ()


def _counting(
    records: Iterable[tuple[Record, dict[str, Any]]],
) -> list[tuple[Record, dict[str, Any]]]:
    """Of the records with one key the last ok one counts, else the last."""
    chosen: dict[str, tuple[Record, dict[str, Any]]] = {}
    for record, value in records:
        earlier = chosen.get(record.key)
        if earlier is None or record.time is not None or earlier[0].time is None:
            chosen[record.key] = record, value
    return list(chosen.values())


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as e:
        raise PlotError(Failure.INPUT, f"{path}: cannot be read: {e.strerror}") from e


def _split(data: bytes, where: str) -> tuple[list[bytes], int]:
    """Return the valid lines and the length of the torn tail."""
    lines: list[bytes] = []
    rest = data
    while rest:
        line, newline, after = rest.partition(b"\n")
        if not newline or not _is_intact(line):
            if not _is_torn(rest):
                message = (
                    f"{where}:{len(lines) + 1}: the checksum does not match; restore the file, or "
                    "delete the line to measure its cell again"
                )
                raise PlotError(Failure.INPUT, message)
            break
        lines.append(line)
        rest = after
    return lines, len(rest)


def _is_torn(rest: bytes) -> bool:
    """Tell whether `rest`, which begins with an invalid line, is what an interrupted append left.

    That is one line, or bytes that no JSON text holds (power failures leave zeros).
    """
    _, newline, after = rest.partition(b"\n")
    if not newline or not after:
        return True
    if any(_is_intact(line) for line in after.split(b"\n")[:-1]):
        return False
    return _NEVER_IN_JSON.search(rest) is not None


def _is_intact(line: bytes) -> bool:
    found = _CHECKSUM.search(line)
    if found is None:
        return False
    return zlib.crc32(line[: found.start()] + b"}") == int(found[1], 16)


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _decode(text: bytes, where: str) -> dict[str, Any]:
    try:
        value = json.loads(text.decode("utf-8"), parse_constant=_reject_constant)
    except ValueError as e:
        raise PlotError(Failure.INPUT, f"{where}: not JSON: {e}") from e
    if not isinstance(value, dict):
        raise PlotError(Failure.INPUT, f"{where}: not a JSON object")
    schema = value.get("schema")
    if type(schema) is not int or schema != SCHEMA:  # neither true nor 1.0
        message = f"{where}: schema {schema!r} is not known, this reads {SCHEMA}"
        raise PlotError(Failure.INPUT, message)
    return value


def _member(value: dict[str, Any], path: str, kind: type, where: str) -> Any:
    """Return the member at a dotted path, checked to be of the JSON type that Python names."""
    found: Any = value
    for name in path.split("."):
        if not isinstance(found, dict) or name not in found:
            raise PlotError(Failure.INPUT, f"{where}: {path!r} is missing")
        found = found[name]
    # bool is an int to isinstance, but not in JSON.
    if not isinstance(found, kind) or (isinstance(found, bool) and kind is not bool):
        raise PlotError(Failure.INPUT, f"{where}: {path!r} is {found!r}, not a {kind.__name__}")
    return found


def _run_of(meta: dict[str, Any], where: str, number: int, directory: str) -> Run:
    # A run that never looked for a GPU says null.
    gpus = [] if meta.get("gpu", 0) is None else _member(meta, "gpu", list, where)
    return Run(
        number=number,
        name=_member(meta, "run", str, where),
        cpu=_member(meta, "host.cpu", str, where),
        gpu="" if not gpus else _member({"gpu": gpus[0]}, "gpu.name", str, where),
        commit=_member(meta, "git.commit", str, where),
        dirty=_member(meta, "git.dirty", bool, where),
        state=_member(meta, "state", str, where),
        multiprocessors=int(gpus[0].get("multiprocessors") or 0) if gpus else 0,
        started=str(meta.get("started") or ""),
        path=directory,
    )


def _parse(value: dict[str, Any], run: Run, where: str) -> Record:
    def text(path: str) -> str:
        return _member(value, path, str, where)

    def size(path: str) -> int:
        number = _member(value, path, int, where)
        if number < 0:
            raise PlotError(Failure.INPUT, f"{where}: {path!r} is {number}, which is negative")
        return number

    if text("status") not in STATUSES:
        raise PlotError(Failure.INPUT, f"{where}: status {text('status')!r} is not known")
    return Record(
        run=run,
        key=text("key"),
        status=text("status"),
        reason=text("reason"),
        n=size("problem.n"),
        q=size("problem.q"),
        k=size("problem.k"),
        dtype=text("problem.dtype"),
        index=text("problem.index"),
        direction=text("problem.direction"),
        payload=text("problem.payload"),
        layout=text("problem.layout"),
        pitch=_member(value, "problem.pitch", int, where),
        seed=_member(value, "problem.seed", int, where),
        workload=_workload(value, where),
        algorithm=text("algorithm.name"),
        family=text("algorithm.family"),
        source_hash=text("algorithm.source_hash"),
        executor=text("executor"),
        threads=_member(value, "threads", int, where),
        time=_timing(value, where),
        queue_updates=_queue_updates(value, where),
        distribution=text("problem.distribution") if text("input.kind") == "generated" else "",
        floor=_floor(value, where),
        counters=_counters(value, where),
        elapsed_s=_number(value.get("elapsed_s", 0), "elapsed_s", where),
    )


def _workload(value: dict[str, Any], where: str) -> str:
    if _member(value, "input.kind", str, where) == "generated":
        distribution = _member(value, "problem.distribution", str, where)
        if "vectors" not in value["input"]:
            return distribution
        dimension = _member(value, "input.vectors.dimension", int, where)
        metric = _member(value, "input.vectors.metric", str, where)
        return f"{distribution} vectors, d = {dimension} ({metric})"
    # A data set may be named by its path; where it lay does not belong into a figure.
    name = PurePosixPath(_member(value, "input.name", str, where)).name
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
