"""The command line: `python -m plots RUN_DIR [RUN_DIR ...]`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from plots import index_page, slices, style
from plots.choice import MOST, choose
from plots.errors import Failure, PlotError, command_name, exit_code
from plots.figures import KEY_COLUMNS, Drawing, FigureKind, Options, registry
from plots.files import write_file
from plots.names import known
from plots.records import Record, load
from plots.report.kinds import other_kind
from plots.save import save
from plots.words import amount_of


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise PlotError(Failure.USAGE, f"{message}; see {command_name('plots')} --help")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code (docs/reference/exit-codes.md)."""
    return exit_code("plots", lambda: _run(_parser().parse_args(arguments)))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog=command_name("plots"), description="Draw figures from recorded runs.")
    parser.add_argument(
        "runs", nargs="*", type=Path, metavar="RUN_DIR", help="has runs.jsonl and meta.json"
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("out/figures"),
        metavar="DIR",
        help="where index.html and each figure's PNG, PDF and CSV go (default: %(default)s)",
    )
    parser.add_argument(
        "--figure", action="append", metavar="NAME", help="draw this figure only; may be repeated"
    )
    parser.add_argument(
        "--baseline",
        metavar="ALGORITHM",
        help="what speed-ups compare with (default: the first by name of the family nth_element; "
        "without one, of those that are ok in the most cells the slowest)",
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help=f"draw all figures; by default, without --figure, the {MOST} that say most",
    )
    parser.add_argument("--list", action="store_true", help="list the figures and stop")
    return parser


def _run(options: argparse.Namespace) -> None:
    kinds = registry()
    if options.list:
        for kind in kinds.values():
            print(f"{kind.name:<12} {kind.description}")
        return
    if not options.runs:
        message = f"no run directory given; see {command_name('plots')} --help"
        raise PlotError(Failure.USAGE, message)
    wanted = [_choose(name, kinds) for name in options.figure or kinds]
    for directory in options.runs:
        if other := other_kind(directory):
            raise PlotError(Failure.INPUT, other)
    records = _load_all(options.runs)
    if options.baseline is not None:
        known(options.baseline, {r.algorithm for r in records}, "algorithm")

    style.apply()
    by_kind: dict[str, list[Drawing]] = {}
    for kind in dict.fromkeys(wanted):
        by_kind[kind.name] = kind.draw(records, Options(baseline=options.baseline))
        _tell_undrawn(kind, by_kind[kind.name], records)
    every = [drawing for drawings in by_kind.values() for drawing in drawings]
    if not every:
        names = ", ".join(str(path) for path in options.runs)
        raise PlotError(Failure.INPUT, f"{names}: nothing to draw")
    chosen = every if options.all or options.figure else choose(by_kind)
    for drawing in chosen:
        save(drawing, options.out)
    left_out = [drawing for drawing in every if drawing not in chosen]
    of_drawing = {d.name: kinds[name] for name, drawings in by_kind.items() for d in drawings}
    runs = list(slices.run_names(dict.fromkeys(record.run for record in records)).values())
    index = options.out / index_page.NAME
    write_file(index, index_page.page(runs, chosen, left_out, of_drawing).encode())
    print(index, flush=True)
    if left_out:
        told = f"drawn: {len(chosen)} of {amount_of(len(every), 'figure')}; --all draws the rest"
        print(f"plots: {told}", file=sys.stderr)


def _tell_undrawn(kind: FigureKind, drawings: list[Drawing], records: list[Record]) -> None:
    drawn = {row.get(column) for d in drawings for row in d.rows for column in KEY_COLUMNS}
    undrawn = sum(record.key not in drawn for record in records if kind.suits(record))
    if undrawn:
        message = f"{undrawn} of {amount_of(len(records), 'cell')} are in no figure; this kind is: {kind.description}"
        print(f"plots: {kind.name}: {message}", file=sys.stderr)


def _load_all(directories: Sequence[Path]) -> list[Record]:
    records: list[Record] = []
    for number, directory in enumerate(directories, 1):
        loaded = load(directory, number)
        for warning in loaded.warnings:
            print(f"plots: {warning}", file=sys.stderr)
        records += loaded.records
    if not any(record.time or record.queue_updates or record.counters for record in records):
        names = ", ".join(str(path) for path in directories)
        message = f"{names}: no cell is ok and timed or counted, so there is nothing to draw"
        raise PlotError(Failure.INPUT, message)
    return records


def _choose(name: str, kinds: dict[str, FigureKind]) -> FigureKind:
    known(name, kinds, "figure")
    return kinds[name]


if __name__ == "__main__":
    sys.exit(main())
