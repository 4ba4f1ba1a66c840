"""The command line: `python -m plots.history RUN [RUN ...]`."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from plots.board.gather import gather
from plots.errors import Failure, PlotError, command_name, exit_code
from plots.history.change import least_p
from plots.history.series import Past
from plots.history.verdict import Verdict, judge, pasts_of
from plots.words import amount_of

SLOWER = 1  # exit code, as of `kselect compare` for a regression


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise PlotError(Failure.USAGE, f"{message}; see {command_name('plots.history')} --help")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns 1 if something became slower (docs/reference/exit-codes.md)."""
    parser = _Parser(
        prog=command_name("plots.history"),
        description="Find slow drifts over stored runs of one config: which algorithm changed, by how "
        "much, and since which commit.",
    )
    add = parser.add_argument
    add("runs", nargs="+", type=Path, metavar="RUN", help="run directories, or folders of them")
    add("--alpha", type=float, default=0.05, help="share of reported changes that may be false (%(default)s)")
    add("--threshold", type=_share, default=0.02, metavar="SHARE",
        help="smallest change that is reported: 2%% or 0.02 (default)")  # fmt: skip
    add("--cells", action="store_true", help="test each cell, too, not algorithms alone")
    add("--format", choices=("text", "markdown", "json"), default="text", help="default: %(default)s")

    def work() -> int:
        return _run(parser.parse_args(arguments))

    return exit_code("history", work)


def _share(text: str) -> float:
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not 0 <= value < 10:
        raise argparse.ArgumentTypeError(f"{text!r} is no share such as 2% or 0.02")
    return value


def _run(options: argparse.Namespace) -> int:
    if not 0 < options.alpha < 1:
        raise PlotError(Failure.USAGE, f"--alpha: {options.alpha} is not between 0 and 1")
    gathered = gather(options.runs)
    for trouble in [*gathered.warnings, *gathered.failures]:
        print(f"history: {trouble}", file=sys.stderr)
    pasts = [p for p in pasts_of(gathered) if p.algorithms]
    if not pasts:
        message = "no cell was measured in two runs on one device; give runs of one config"
        raise PlotError(Failure.INPUT, f"{', '.join(map(str, options.runs))}: {message}")
    found = [(p, judge(p, options.alpha, options.threshold, cells=options.cells)) for p in pasts]
    write = {"text": _text, "markdown": _markdown, "json": _json}[options.format]
    print(write(found, options.alpha))
    if gathered.failures:
        return int(Failure.INPUT)
    slower = any(v.slower for _, verdicts in found for v in verdicts)
    return SLOWER if slower else 0


def _sentence(verdict: Verdict) -> str:
    change = verdict.change
    what = "slower" if verdict.slower else "faster"
    cells = f" ({verdict.series.cells} cells)" if verdict.series.cells > 1 else ""
    return (
        f"{verdict.series.name}{cells} is {100 * abs(change.ratio - 1):.1f} % {what} since run {verdict.run}, "
        f"commit {verdict.commit[:9] or 'unknown'} (p = {change.p:.2g})"
    )


def _state(past_: Past, alpha: float) -> str:
    """Say what was tested, and whether so few runs could tell anything."""
    longest = max((len(s.runs) for s in past_.algorithms), default=0)
    tested = len(past_.algorithms) + (past_.machine is not None)
    text = f"{past_.device}: {amount_of(len(past_.runs), 'run')}, {tested} series"
    if past_.machine is None:
        text += "; without 5 cells of unchanged algorithms, a change of the machine counts as the algorithms'"
    if least_p(longest) > alpha / max(1, tested):
        text += (
            f"; {amount_of(longest, 'run')} are too few to tell a change of one series among {tested}: "
            f"the least p is {least_p(longest):.2g}"
        )
    return text


def _text(found: Sequence[tuple[Past, list[Verdict]]], alpha: float) -> str:
    lines = []
    for past_, verdicts in found:
        lines.append(_state(past_, alpha))
        lines += [f"  {_sentence(v)}" for v in verdicts] or ["  no change"]
    return "\n".join(lines)


def _markdown(found: Sequence[tuple[Past, list[Verdict]]], alpha: float) -> str:
    lines = ["### History", ""]
    for past_, verdicts in found:
        lines += [_state(past_, alpha), ""]
        lines += [f"- {_sentence(v)}" for v in verdicts] or ["- no change"]
        lines.append("")
    return "\n".join(lines).rstrip()


def _json(found: Sequence[tuple[Past, list[Verdict]]], alpha: float) -> str:
    return json.dumps([
        {
            "device": past_.device,
            "runs": len(past_.runs),
            "alpha": alpha,
            "changes": [
                {
                    "what": v.kind, "name": v.series.name, "cells": v.series.cells, "ratio": v.change.ratio,
                    "p": v.change.p, "run": v.run, "commit": v.commit,
                }
                for v in verdicts
            ],
        }
        for past_, verdicts in found
    ], indent=2)  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
