"""Groups records into slices: a slice holds the cells of one figure.

The cells of a slice have equal executor, machine, workload, types, direction and payload. Panels
differ in k, and n is the x axis; either Q or the product n * Q is fixed. Cells may differ in
layout, because each algorithm chooses its layout.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath

from plots.records import Record, Run
from plots.words import amount_of

Group = tuple[str, str, str, str, str, str, str]  # a slice without its fixed Q or n * Q


@dataclass(frozen=True, order=True)
class Slice:
    """The properties that the cells of one figure share."""

    executor: str
    machine: str
    workload: str
    dtype: str
    index: str  # "" if the payload has no indices
    direction: str
    payload: str
    fixed: str  # "Q" or "n·Q"; "" if neither is fixed
    value: int

    def without_fixed(self) -> "Slice":
        """Return the properties that slices of other Q share."""
        return replace(self, fixed="", value=0)

    def on_workload(self, workload: str) -> "Slice":
        """Return the same properties with another workload."""
        return replace(self, workload=workload)

    def title(self) -> str:
        """Return one line for the head of a figure."""
        values = f"{self.dtype} {self.payload.replace('_', ' ')}"
        if self.index not in ("", "int32"):
            values += f" ({self.index})"
        workload = self.workload.replace("$", r"\$")
        fixed = f"{self.fixed} = {integer(self.value)}  |  " if self.fixed else ""
        return f"{values}, {self.direction}  |  {workload}  |  {fixed}{self.executor}"

    def slug(self) -> str:
        """Return a part of a file name that is unique among the slices of a machine."""
        fixed = {"Q": f"q{self.value}", "n·Q": f"nq{self.value}", "": ""}[self.fixed]
        words = (self.executor, self.workload, self.dtype, self.index, self.direction, self.payload)
        return "-".join(_file_name(word) for word in (*words, fixed) if word)


def cut(records: Iterable[Record]) -> dict[Slice, list[Record]]:
    """Return the slices in order; a record is in exactly one, or in none if nothing was timed."""
    groups: dict[Group, list[Record]] = defaultdict(list)
    for record in records:
        if record.time is not None or record.status != "ok":
            groups[_group(record)].append(record)
    slices: dict[Slice, list[Record]] = defaultdict(list)
    for group, members in groups.items():
        lengths_of_q: dict[int, set[int]] = defaultdict(set)
        lengths_of_product: dict[int, set[int]] = defaultdict(set)
        for record in members:
            lengths_of_q[record.q].add(record.n)
            lengths_of_product[record.n * record.q].add(record.n)
        for record in members:
            # A sweep at a fixed product n * Q has one n for each Q; a sweep at a fixed Q has many.
            # So a cell belongs to the slice in which it has more neighbours along n.
            product = record.n * record.q
            if len(lengths_of_product[product]) > len(lengths_of_q[record.q]):
                slices[Slice(*group, "n·Q", product)].append(record)
            else:
                slices[Slice(*group, "Q", record.q)].append(record)
    return dict(sorted(slices.items()))


def cut_counted(records: Iterable[Record]) -> dict[Slice, list[Record]]:
    """Return the slices of the records with counted queue updates, each at one Q, in order."""
    slices: dict[Slice, list[Record]] = defaultdict(list)
    for record in records:
        if record.queue_updates:
            slices[of_counted(record)].append(record)
    return dict(sorted(slices.items()))


def of_counted(record: Record) -> Slice:
    """Return the slice at the record's Q, of records that have counts instead of times."""
    return Slice(*_group(record), "Q", record.q)


def names(prefix: str, slices: Iterable[Slice]) -> dict[Slice, str]:
    """Return a unique file name (without ending) for each slice."""
    slices = list(slices)
    machines = {s.executor: {t.machine for t in slices if t.executor == s.executor} for s in slices}
    return {
        s: f"{prefix}-{s.slug()}"
        + (f"-{_file_name(s.machine)}" if len(machines[s.executor]) > 1 else "")
        for s in slices
    }


def series(records: Iterable[Record]) -> dict[str, list[Record]]:
    """Sort a slice's records into lines: label -> records by (k, n).

    The label is the algorithm's name. If several records of one cell share a name (two layouts,
    seeds or runs), the traits that distinguish them are appended.
    """
    by_algorithm: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        by_algorithm[record.algorithm].append(record)
    result: dict[str, list[Record]] = defaultdict(list)
    for algorithm, members in sorted(by_algorithm.items()):
        for record, qualifier in zip(members, _qualifiers(members), strict=True):
            result[f"{algorithm} [{qualifier}]" if qualifier else algorithm].append(record)

    def place(found: tuple[str, list[Record]]) -> tuple[str, int, str]:
        label, members = found
        return members[0].algorithm, members[0].run.number, label

    return {
        label: sorted(members, key=lambda r: (r.k, r.n, r.q))
        for label, members in sorted(result.items(), key=place)
    }


def run_names(runs: Iterable[Run]) -> dict[Run, str]:
    """Return a name for each run: its folder's, its own, or its own and its number."""
    runs = list(runs)
    for name in (lambda run: PurePath(run.path).name, lambda run: run.name):
        named = {run: name(run) for run in runs}
        if all(named.values()) and len(set(named.values())) == len(runs):
            return named
    return {run: f"{run.number} {run.name}" for run in runs}


def integer(value: int) -> str:
    """Return powers of two from 16 on as math text such as `2^10`, else the plain number."""
    if value >= 16 and value & (value - 1) == 0:
        return f"$2^{{{value.bit_length() - 1}}}$"
    return str(value)


def _group(record: Record) -> Group:
    index = record.index if "indices" in record.payload else ""
    return (
        record.executor,
        record.machine,
        record.workload,
        record.dtype,
        index,
        record.direction,
        record.payload,
    )


def _qualifiers(members: list[Record]) -> list[str]:
    """Return for each record the fewest traits that distinguish the records of each cell."""
    runs = run_names({r.run for r in members})
    traits: list[Mapping[str, str]] = [
        {
            "layout": r.layout.replace("_", " "),
            "pitch": f"pitch {r.pitch}",
            "threads": amount_of(r.threads, "thread"),
            "seed": f"seed {r.seed}",
            "run": f"run {runs[r.run]}",
            "source": f"source {r.source_hash[:6]}",
            "key": f"key {r.key[:8]}",
        }
        for r in members
    ]
    used: list[str] = []

    def labels() -> list[str]:
        return [", ".join(t[name] for name in used) for t in traits]

    def distinct(labelled: list[str]) -> int:
        return len({(r.n, r.q, r.k, label) for r, label in zip(members, labelled, strict=True)})

    for name in traits[0]:
        before = distinct(labels())
        if before == len(members):
            break
        used.append(name)
        if distinct(labels()) == before:
            used.pop()
    return labels()


def _file_name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.]+", "-", text).strip("-")
