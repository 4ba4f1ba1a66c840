"""Makes cells of k-NN searches by libraries (task `knn`), as `kselect knn --record` makes them of its own."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from peers import recorded
from plots.intervals import interval


@dataclass(frozen=True)
class Asked:
    """What all arms of a search are asked, as their cells state it."""

    problem: Mapping[str, Any]
    input: Mapping[str, Any]
    threads: int  # of the host
    started: datetime = field(default_factory=lambda: datetime.now(UTC))


def facts_of(name: str, source: str, executor: str, file: str) -> recorded.Facts:
    """Return the facts of a library whose calls the host's clock times until they are waited for."""
    return recorded.Facts(
        name=name, family="library k-NN", source=source, file=file, executor=executor,
        clock="steady", cache="warm", gap_hidden=False,
    )  # fmt: skip


def cell(
    facts: recorded.Facts, asked: Asked, outcome: tuple[str, str, list[float]], settings: Mapping[str, str], *calls: str
) -> dict[str, Any]:
    """Return an arm's cell of a search, not proven; the outcome is status, reason and samples in ns.

    `calls` are files beside the facts' own that time the arm.
    """
    made = recorded.cell(facts, dict(asked.problem), outcome, *calls)
    made["algorithm"]["settings"] = dict(settings)
    made["key"] = recorded.key_of(made["problem"], made["algorithm"], asked.input, facts.executor, asked.threads)
    elapsed = (datetime.now(UTC) - asked.started).total_seconds()
    return made | {
        "input": asked.input, "threads": asked.threads, "verify": proof("", 0, 0), "started": recorded.at(asked.started),
        "elapsed_s": elapsed, "task": "knn", "stages": {}, "counts": {},
    }  # fmt: skip


def proof(method: str, rows: int, answers: int) -> dict[str, Any]:
    """Return what is proven of the last answers."""
    return {"method": method, "rows": rows, "answers": answers, "before": False, "after": answers > 0}


def judged(timed: dict[str, Any], exact: int, checked: int) -> dict[str, Any]:
    """Return a timed cell with its exact rows, of those that were compared with all float64 distances.

    An answer with another row is wrong, and then what it took is no time of the search, but the stage `search`.
    """
    timed["counts"] |= {"rows_checked": float(checked), "rows_exact": float(exact)}
    if exact == checked:
        return timed
    if timed["time"] is not None:
        took = {name: timed["time"][name] for name in ("unit", "median", "ci95", "rounds")}
        timed["stages"]["search"] = took | {"of_time": False}
    return timed | {"status": "wrong", "reason": f"{exact} of {checked} checked rows are exact", "time": None}


def judged_rival(timed: dict[str, Any], exact: int, checked: int) -> dict[str, Any]:
    """Return a library's timed cell, of whose answer nothing else is known."""
    method = f"all float64 distances of {checked} queries"
    return judged(timed | {"verify": proof(method, exact, int(exact == checked))}, exact, checked)


def beside(samples: Sequence[float]) -> dict[str, Any]:
    """Return a stage that is no part of the time, from its rounds in ns."""
    return {"unit": "ns", "of_time": False, "median": statistics.median(samples),
            "ci95": list(interval(samples)), "rounds": list(samples)}  # fmt: skip
