"""The data that every page of the site reads: what there is of devices, algorithms, problems and cells."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from plots.board.arena import Arena, Leaderboard, Placed, Problem, current, leaderboards, place
from plots.board.gather import Gathered
from plots.board.pack import pack
from plots.records import Whole

_DIGITS = 5  # significant digits of a time
_SHARE = 4


@dataclass
class Judged:
    """The records that a site shows, and their leaderboards."""

    gathered: Gathered
    placed: list[Placed]
    now: list[Placed]
    boards: list[Leaderboard]


def judge(gathered: Gathered) -> Judged:
    """Place, choose and score all records."""
    placed = place(gathered)
    now = current(placed)
    return Judged(gathered, placed, now, leaderboards(placed, now))


def board_data(
    judged: Judged, contracts: Mapping[str, Any], sources: Mapping[str, str], pasts: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the data; `sources` has a link for each file, `pasts` the history of each algorithm."""
    arenas = sorted({p.arena for p in judged.placed})
    problems = sorted({p.problem for p in judged.placed})
    algorithms = _algorithms(judged)
    for name, facts in algorithms.items():
        # A file may have moved since the record was made.
        facts["file"] = contracts.get(name, facts)["file"]
    tables = _Tables(
        {arena: i for i, arena in enumerate(arenas)},
        {problem: i for i, problem in enumerate(problems)},
        {name: i for i, name in enumerate(algorithms)},
    )
    return {
        "arenas": pack([vars(arena) for arena in arenas]),
        "problems": pack([vars(problem) for problem in problems]),
        "algorithms": [
            {
                "name": name, **facts, "link": sources.get(facts["file"]),
                "contract": contracts.get(name), "past": pasts.get(name, []),
            }
            for name, facts in algorithms.items()
        ],
        "runs": [_run(judged, number) for number in range(len(judged.gathered.runs))],
        "cells": pack([tables.cell(p) for p in judged.now]),
        "boards": [tables.board(board) for board in judged.boards],
        "warnings": judged.gathered.warnings + judged.gathered.failures,
    }  # fmt: skip


def _algorithms(judged: Judged) -> dict[str, dict[str, str]]:
    """Return family, source and file of each algorithm as its newest record has them, sorted by name."""
    found: dict[str, dict[str, str]] = {}
    for p in judged.placed:  # the oldest run first
        stated = judged.gathered.runs[p.run].cells[p.index]["algorithm"]
        found[p.record.algorithm] = {
            "family": p.record.family,
            "source": stated.get("source", ""),
            "file": stated.get("file", ""),
        }
    return dict(sorted(found.items()))


def _run(judged: Judged, number: int) -> dict[str, Any]:
    whole: Whole = judged.gathered.runs[number]
    cells = whole.records
    return {
        "name": judged.gathered.names[number],
        "started": whole.run.started,
        "commit": whole.run.commit,
        "dirty": whole.run.dirty,
        "state": whole.run.state,
        "devices": sorted({p.arena.device for p in judged.placed if p.run == number}),
        "cells": len(cells),
        "ok": sum(r.status == "ok" for r in cells),
        "about": str((whole.meta.get("config") or {}).get("description") or ""),
    }


@dataclass
class _Tables:
    """The places of arenas, problems and algorithms in their lists."""

    arenas: Mapping[Arena, int]
    problems: Mapping[Problem, int]
    algorithms: Mapping[str, int]

    def cell(self, p: Placed) -> dict[str, Any]:
        record, time = p.record, p.record.time
        return {
            "algorithm": self.algorithms[record.algorithm],
            "problem": self.problems[p.problem],
            "arena": self.arenas[p.arena],
            "status": record.status,
            "reason": record.reason,
            "run": p.run,
            "index": p.index,
            "median": time and rounded(time.median, _DIGITS),
            "low": time and rounded(time.low, _DIGITS),
            "high": time and rounded(time.high, _DIGITS),
            "share": None if p.share is None else rounded(p.share, _SHARE),
        }

    def board(self, board: Leaderboard) -> dict[str, Any]:
        rows = [
            {
                "algorithm": self.algorithms[s.algorithm],
                "solved": s.solved,
                "failed": s.failed,
                "shares": s.shares,
                "score": _optional(s.mean),
                "least": _optional(s.worst_share),
                "worst": None if s.worst is None else self._worst(s.worst),
                "wins": s.wins,
                "beside": _optional(s.beside),
            }
            for s in board.scores
        ]
        return {
            "arena": self.arenas[board.arena],
            "run": board.run,
            "group": board.group,
            "alone": board.alone,
            "grid": board.scores[0].grid if board.scores else 0,
            "scores": pack(rows),
        }

    def _worst(self, problem: Any) -> int:
        return self.problems[problem]


def _optional(value: float | None) -> float | int | None:
    return None if value is None else rounded(value, _SHARE)


def rounded(value: float, digits: int) -> float | int:
    """Return a number with so many significant digits; whole numbers as integers."""
    short = float(f"{value:.{digits}g}")
    return int(short) if short.is_integer() else short


def devices(arenas: Sequence[Arena]) -> list[str]:
    """Return the devices of arenas, sorted."""
    return sorted({arena.device for arena in arenas})
