"""Finds the records of an experiment.

The library is a tree `results/<machine>/<run>/`. An unreadable run is reported and skipped, so that
a damaged file costs only its own figures.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from plots.errors import Failure, PlotError
from plots.files import RUNS, holds
from plots.records import Record, Run, load, load_whole
from plots.reproduce.manifest import Experiment
from plots.reproduce.searches import Search, searches_of


@dataclass(frozen=True)
class StageRecord:
    """A cell with stages, of a run of k-NN searches: the median of each part of its time, in ns."""

    path: str
    name: str
    machine: str
    algorithm: str
    commit: str
    request: Mapping[str, object]
    stages: Mapping[str, float]


@dataclass(frozen=True)
class Source:
    """The records of one experiment on one machine."""

    machine: str  # the folder's name
    runs: tuple[Run, ...]
    records: tuple[Record, ...]
    stages: tuple[StageRecord, ...]
    is_slice: bool  # a slice of another run, not the experiment's own run
    searches: tuple[Search, ...] = ()

    def describe(self) -> str:
        """Return the path, for runs with the digest of the records."""
        parts = [f"{run.path}/{RUNS} (sha256 {run.digest})" for run in self.runs]
        found = dict.fromkeys(search.path for search in self.searches)
        return ", ".join([*parts, *(stage.path for stage in self.stages), *found])

    def folders(self) -> list[str]:
        """Return the paths that the document can link to."""
        paths = [run.path for run in self.runs] + [stage.path for stage in self.stages]
        return list(dict.fromkeys([*paths, *(search.folder for search in self.searches)]))


def _with_distances(record: Record) -> Record:
    """Return the record with the time of computing its rows added to its own; without a time, if it has none."""
    own = record.inputs.distances if record.inputs is not None else None
    return longer(record, own) if own is not None else replace(record, time=None)


def longer(record: Record, by: float) -> Record:
    """Return the record with a time that is longer by so many ns; without one, if it has none."""
    if record.time is None:
        return record
    time = record.time
    rounds = tuple(median + by for median in time.rounds)
    whole = replace(time, median=time.median + by, low=time.low + by, high=time.high + by, rounds=rounds)
    return replace(record, time=whole)


class Library:
    """All runs of a tree, or a single run; a run is read on first use."""

    def __init__(self, root: Path) -> None:
        """Find the runs under `root`: a tree of results, a machine's folder or a run."""
        if not root.is_dir():
            raise PlotError(Failure.INPUT, f"{root}: no such directory")
        self.warnings: list[str] = []  # torn tails
        self.failures: list[str] = []  # unreadable runs
        self._read: dict[Path, tuple[Run, tuple[Record, ...]] | None] = {}
        self._single = _is_run(root)
        self._folders = [root] if self._single else sorted(p for p in _folders(root) if _is_run(p))
        if not self._folders:
            message = f"{root}: holds no run: no folder with {RUNS}"
            raise PlotError(Failure.INPUT, message)

    def sources(self, experiment: Experiment) -> Iterator[Source]:
        """Yield the records of an experiment, one source a machine.

        A machine's source is its newest run of the experiment. A machine without one gives slices of its other
        runs. Several machines with the same model of device give one source (_newest).
        """
        for source in _newest(list(self._all(experiment))):
            if not experiment.with_distances:
                yield source
                continue
            yield replace(source, records=tuple(map(_with_distances, source.records)))

    def _all(self, experiment: Experiment) -> Iterator[Source]:
        names = (experiment.config, *experiment.records) if experiment.config else ()
        if experiment.stages_of or experiment.searches_of:
            names = ()  # these are read by their stages and traits alone
        for machine in sorted({folder.parent.name for folder in self._folders}):
            folders = [f for f in self._folders if f.parent.name == machine]
            own = [f for f in folders if self._name(f) in names]
            source = self._latest(machine, own)
            if source is None:
                slices = [
                    f for name in experiment.slices_of for f in folders if self._name(f) == name
                ]
                source = self._source(machine, slices, is_slice=True)
            found = [s for f in folders if self._name(f) in experiment.stages_of for s in self._stages(f)]
            indexed = [
                s for f in folders if f.name in experiment.searches_of for s in self._searches(f)
            ]
            if found or indexed:
                yield Source(machine, (), (), tuple(found), False, tuple(indexed))
            elif source is not None:
                yield source

    def _name(self, folder: Path) -> str:
        """Return a run's name: that of its folder; a single run, which may lie anywhere, says it."""
        if not self._single:
            return folder.name
        read = self._run(folder)
        return read[0].name if read else folder.name

    def _latest(self, machine: str, folders: list[Path]) -> Source | None:
        sources = [s for f in folders if (s := self._source(machine, [f], is_slice=False))]
        return max(sources, key=lambda s: s.runs[0].started, default=None)

    def _source(self, machine: str, folders: list[Path], *, is_slice: bool) -> Source | None:
        read = [found for folder in folders if (found := self._run(folder))]
        if not read:
            return None
        runs = tuple(run for run, _ in read)
        whole = tuple(r for _, rs in read for r in rs if not r.multiprocessors)
        return Source(machine, runs, whole, (), is_slice)

    def cells(self, name: str) -> list[Record]:
        """Return the cells of the newest runs called NAME, and NAME_<m>mp on m multiprocessors.

        Of several machines the newest run with each number of multiprocessors counts.
        """
        newest: dict[tuple[int, str], tuple[str, list[Record]]] = {}
        for folder in self._folders:
            if not re.fullmatch(rf"{re.escape(name)}(_\d+mp)?", folder.name):
                continue
            if (read := self._run(folder)) is None:
                continue
            for key in {(r.multiprocessors, r.executor) for r in read[1]}:
                own = [r for r in read[1] if (r.multiprocessors, r.executor) == key]
                found = (read[0].started, own)
                newest[key] = max(newest.get(key, ("", [])), found, key=lambda f: f[0])
        return [record for _, own in newest.values() for record in own]

    def _run(self, folder: Path) -> tuple[Run, tuple[Record, ...]] | None:
        if folder not in self._read:
            self._read[folder] = None
            try:
                loaded = load(folder, len(self._read))
                # The footers of figures then name the folder of their cells.
                named = replace(loaded.run, name=f"{folder} (sha256 {loaded.run.digest})")
                records = tuple(replace(record, run=named) for record in loaded.records)
                self._read[folder] = (loaded.run, records)
                self.warnings += loaded.warnings
            except PlotError as e:
                self.failures.append(str(e))
        return self._read[folder]

    def _searches(self, folder: Path) -> list[Search]:
        try:
            searches, told = searches_of(folder)
        except PlotError as e:
            if str(e) not in self.failures:
                self.failures.append(str(e))
            return []
        self.warnings += [warning for warning in told if warning not in self.warnings]
        return searches

    def _stages(self, folder: Path) -> Iterator[StageRecord]:
        try:
            whole = load_whole(folder)
            for cell in whole.cells:
                if cell["status"] == "ok" and cell.get("stages"):
                    yield _stage_record(cell, whole.run, folder)
        except (KeyError, TypeError, PlotError) as e:
            message = str(e) if isinstance(e, PlotError) else f"{folder}: has no stages: {e!r}"
            if message not in self.failures:
                self.failures.append(message)


def _newest(sources: list[Source]) -> Iterator[Source]:
    """Yield the sources without runs, and of the others one for each model of device.

    An experiment's own run comes before slices of other runs, then the newest.
    """
    best: dict[str, Source] = {}
    for source in sources:
        if source.runs:
            device = source.runs[0].gpu or source.runs[0].cpu
            best[device] = max(best.get(device, source), source, key=_rank)
    yield from (s for s in sources if not s.runs or any(s is kept for kept in best.values()))


def _rank(source: Source) -> tuple[bool, str]:
    return (not source.is_slice, max(run.started for run in source.runs))


def _folders(root: Path) -> Iterator[Path]:
    for path in root.iterdir():
        if path.is_dir():
            yield path
            yield from (p for p in path.iterdir() if p.is_dir())


def _is_run(folder: Path) -> bool:
    return holds(folder, RUNS)


def _stage_record(cell: Mapping[str, Any], run: Run, folder: Path) -> StageRecord:
    return StageRecord(
        path=str(folder),
        name=str(cell["key"]),
        machine=run.gpu if cell["executor"] == "cuda" else run.cpu,
        algorithm=cell["algorithm"]["name"],
        commit=run.commit,
        request=cell["problem"] | {"source": cell["input"].get("name", "generated vectors")},
        stages={name: float(s["median"]) for name, s in cell["stages"].items() if s["of_time"]},
    )
