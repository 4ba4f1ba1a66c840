"""The command line: `python -m plots.reproduce`, which scripts/reproduce.sh calls."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from plots.errors import Failure, PlotError, exit_code
from plots.figures import Drawing
from plots.files import write_file
from plots.reproduce import causes, check, claims, document, figures, older, sweeps
from plots.reproduce.cells import Missing
from plots.reproduce.library import Library, Source
from plots.reproduce.manifest import Experiment, load
from plots.reproduce.work import read_work
from plots.save import encode
from plots.words import amount_of

_FOLDER = "reproduction"
_COMMITTED = ("png", "csv")  # PDFs are written but not committed


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise PlotError(Failure.USAGE, f"{message}; see scripts/reproduce.sh --help")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code (docs/reference/exit-codes.md), 1 where --check fails."""
    return exit_code(
        "reproduce",
        lambda: _run(_parser().parse_args(arguments)),
        "what is recorded is complete",
    )


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="scripts/reproduce.sh",
        description="Draw every figure and table of the three papers from records, and "
        "REPRODUCTION.md beside them.",
    )
    add = parser.add_argument
    add("ids", nargs="*", metavar="ID", help="only these experiments, such as K-fig4 (--list)")
    add("--from", dest="source", type=Path, default=None, metavar="DIR",
        help="a run, a machine's folder or a tree of them (default: results)")  # fmt: skip
    add("--out", type=Path, default=None, metavar="DIR",
        help="where REPRODUCTION.md and reproduction/ go (default: here; with --from or IDs "
        "out/reproduction)")  # fmt: skip
    add("--check", action="store_true", help="write nothing; fail where the files there differ")
    add("--list", action="store_true", help="list the experiments and what is recorded, and stop")
    add("--run", action="store_true",
        help="first run the sweeps that this machine has no record of")  # fmt: skip
    add("--plan", action="store_true", help="with --run, only say what would run and how long")
    add("--paper", default=None, metavar="KEYS", help="only of these papers, such as K,T,B")
    add("--machine", default=None, metavar="NAME", help="with --run, results/NAME gets the records")
    add("--into", type=Path, default=None, metavar="DIR", help="with --run, instead of --machine")
    add("--gpus", type=int, default=1, metavar="G",
        help="with --run, G sweeps at a time, each on its GPU and its share of the cores")  # fmt: skip
    add("--program", type=Path, default=Path("build/release/kselect"),
        help="with --run, this program instead of one that is built first")  # fmt: skip
    return parser


def _run(options: argparse.Namespace) -> int:
    everything = load()
    experiments = sweeps.named(everything, options.ids)
    if options.paper:
        experiments = sweeps.of_papers(experiments, options.paper)
    failures: list[str] = []
    if options.run:
        failures += _sweep(experiments, options)
        if options.plan:
            return 0
    library = Library(options.source or Path("results"))
    if options.list:
        _list(experiments, library)
        return 0
    partial = bool(options.ids or options.source or options.paper)
    out = options.out or (Path("out/reproduction") if partial else Path())
    endings = _COMMITTED if options.check else ("png", "pdf", "csv")
    outcomes, files = _draw(experiments, library, out, endings, palette=not options.check)
    _tell(outcomes, [*library.warnings, *library.failures, *failures])
    if not any(o.drawn for o in outcomes):
        raise PlotError(
            Failure.INPUT, f"{options.source or 'results'}: no experiment is recorded here"
        )
    generated = {e.id for e in experiments}
    if options.check:
        return _check(files, out, generated)
    for path in check.leftover(files, out / _FOLDER, generated):
        path.unlink()
    for path, data in files.items():
        write_file(path, data)
    names = sum(path.suffix == ".png" for path in files)
    print(f"{amount_of(names, 'figure')} in {out / _FOLDER}/, claims in {out / 'REPRODUCTION.md'}")
    return int(Failure.INPUT) if library.failures or failures else 0


def _sweep(experiments: list[Experiment], options: argparse.Namespace) -> list[str]:
    machine = options.into or Path("results") / (options.machine or sweeps.machine_name())
    if not (options.ids or options.paper):  # the project's own figures are no experiment of a paper
        experiments = [e for e in experiments if e.paper.hardware]
    results, gpus = Path("results"), options.gpus
    planned = sweeps.announce(experiments, options.program, machine, results, gpus)
    return [] if options.plan else sweeps.run(planned, options.program, machine, gpus)


def _draw(
    experiments: Sequence[Experiment],
    library: Library,
    out: Path,
    endings: Sequence[str],
    *,
    palette: bool,
) -> tuple[list[document.Outcome], dict[Path, bytes]]:
    files: dict[Path, bytes] = {}
    work = read_work(Path("results/counters.json"))
    evidence = causes.Evidence(library, work, older.read())
    outcomes = []
    for experiment in experiments:
        drawn, tested = [], []
        for source in library.sources(experiment):
            made, missing = _figures(experiment, source)
            names = tuple(drawing.name for drawing in made)
            drawn.append(document.Drawn(source, names, missing, _older(source, evidence)))
            for drawing in made:
                for ending, data in encode(drawing, endings, palette=palette).items():
                    files[out / _FOLDER / f"{drawing.name}.{ending}"] = data
            tested += [claims.test(experiment, c, source, evidence) for c in experiment.claims]
        if not drawn:
            why = f"needs {experiment.needs}" if experiment.needs else "not yet recorded"
            tested = [claims.untested(experiment, claim, why) for claim in experiment.claims]
        outcomes.append(document.Outcome(experiment, tuple(drawn), tuple(tested)))
    files[out / "REPRODUCTION.md"] = document.write(outcomes, _FOLDER).encode()
    return outcomes, files


def _older(source: Source, evidence: causes.Evidence) -> tuple[str, ...]:
    """Return the reasons of a source's runs in the list of older records."""
    listed = [(run.path, run.digest) for run in source.runs]
    listed += [(search.folder, search.digest) for search in source.searches]
    found = (evidence.older.reason(*one) for one in dict.fromkeys(listed))
    return tuple(dict.fromkeys(reason for reason in found if reason))


def _figures(experiment: Experiment, source: Source) -> tuple[list[Drawing], tuple[str, ...]]:
    """Draw the figures that the source has cells for; returns them, and why others are missing."""
    drawings: list[Drawing] = []
    missing: list[str] = []
    for figure in experiment.figures:
        try:
            drawings += figures.draw(experiment, figure, source)
        except Missing as why:
            missing.append(f"{figure.name or 'the figure'}: {why}")
    return drawings, tuple(missing)


def _tell(outcomes: Sequence[document.Outcome], troubles: Sequence[str]) -> None:
    for trouble in troubles:
        print(f"reproduce: {trouble}", file=sys.stderr)
    for outcome in outcomes:
        name = outcome.experiment.id
        if not outcome.drawn:
            why = document.not_recorded(outcome.experiment)
            print(f"reproduce: {name}: not yet recorded: {why}", file=sys.stderr)
        for drawn in outcome.drawn:
            for reason in drawn.missing:
                where = ", ".join(run.path for run in drawn.source.runs) or drawn.source.machine
                print(f"reproduce: {name}: {where}: {reason}", file=sys.stderr)


def _list(experiments: Sequence[Experiment], library: Library) -> None:
    for e in experiments:
        found = [f"{s.machine}{' (slice)' if s.is_slice else ''}" for s in library.sources(e)]
        state = ", ".join(found) or f"not yet recorded: {document.not_recorded(e)}"
        print(f"{e.id:<16} {e.title}: {state}")


def _check(files: dict[Path, bytes], out: Path, generated: set[str]) -> int:
    lines = check.differences(files, out / _FOLDER, generated)
    for line in lines:
        print(f"reproduce: {line}", file=sys.stderr)
    if lines:
        print("reproduce: run scripts/reproduce.sh and commit what it writes", file=sys.stderr)
        return 1
    print(f"{len(files)} files follow from the records")
    return 0


if __name__ == "__main__":
    sys.exit(main())
