"""The command line: `python -m plots.report RUN_DIR [--out FILE]`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from plots.errors import Failure, PlotError, command_name, exit_code
from plots.files import write_file
from plots.names import known
from plots.records import load_whole
from plots.report.build import build
from plots.report.kinds import other_kind


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise PlotError(Failure.USAGE, f"{message}; see {command_name('plots.report')} --help")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code (docs/reference/exit-codes.md)."""
    parser = _Parser(
        prog=command_name("plots.report"),
        description="Write a run as one HTML file: the answer, table, plots, environment, config.",
    )
    parser.add_argument("run", type=Path, metavar="RUN_DIR", help="has runs.jsonl and meta.json")
    parser.add_argument(
        "--out", type=Path, default=None, metavar="FILE", help="default: RUN_DIR/report.html"
    )
    parser.add_argument(
        "--baseline", metavar="ALGORITHM", help="what the headline compares with (as plots)"
    )

    def work() -> None:
        options = parser.parse_args(arguments)
        if other := other_kind(options.run):
            raise PlotError(Failure.INPUT, other)
        run = load_whole(options.run)
        for warning in run.warnings:
            print(f"report: {warning}", file=sys.stderr)
        if not run.cells:
            raise PlotError(Failure.INPUT, f"{options.run}: no finished cell to report")
        out = options.out or options.run / "report.html"
        names = {record.algorithm for record in run.records}
        if options.baseline is not None:
            known(options.baseline, names, "algorithm")
        write_file(out, build(run, options.baseline).encode())
        print(out)

    return exit_code("report", work)


if __name__ == "__main__":
    sys.exit(main())
