"""The command line: `python -m plots.board RESULTS [RESULTS ...] --out DIR`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from plots.board import contracts, sources
from plots.board.data import judge
from plots.board.gather import gather
from plots.board.pack import pack
from plots.board.pasts import pasts
from plots.board.searches import searches
from plots.board.site import site
from plots.errors import Failure, PlotError, command_name, exit_code
from plots.files import write_file

_MARK = ".kselect-board"  # the site's list of its own files, in its folder


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise PlotError(Failure.USAGE, f"{message}; see {command_name('plots.board')} --help")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code (docs/reference/exit-codes.md)."""
    parser = _Parser(
        prog=command_name("plots.board"),
        description="Make a static site of all recorded runs: which algorithm for which problem, maps, "
        "curves, leaderboard, a page for each algorithm and cell.",
    )
    add = parser.add_argument
    add("runs", nargs="+", type=Path, metavar="RUNS", help="run directories, or folders of them")
    add("--out", type=Path, default=Path("out/board"), metavar="DIR", help="the site (default: %(default)s)")
    add("--program", type=Path, metavar="FILE",
        help="kselect, whose list says what algorithms promise (default: one that is built here)")  # fmt: skip
    add("--source", metavar="URL",
        help="where source files are, such as https://HOST/OWNER/kselect/blob/COMMIT (default: copies in "
        "the site)")  # fmt: skip
    return exit_code("board", lambda: _run(parser.parse_args(arguments)))


def _run(options: argparse.Namespace) -> int:
    _refuse_foreign(options.out)
    gathered = gather(options.runs)
    program = options.program or contracts.default_program()
    promised = contracts.contracts(program) if program else {}
    if not program:
        print("board: no kselect program here, so pages have no contracts; name one (--program)", file=sys.stderr)
    judged = judge(gathered)
    if not judged.now:
        raise PlotError(Failure.INPUT, f"{options.runs[0]}: no cell of these runs was timed or failed on a device")
    written = [p["algorithm"].get("file", "") for run in gathered.runs for p in run.cells]
    written += [promise["file"] for promise in promised.values()]
    links, copies = _sources(written, options.source)
    found = searches(options.runs)
    verdicts, troubles = _papers(options.runs)
    troubles = [*gathered.failures, *found.failures, *troubles]
    tables = [t | {"rows": pack([dict(enumerate(row)) for row in t["rows"]])} for t in found.tables]
    more = {"searches": pack(tables) if tables else None, "papers": verdicts}
    files = site(judged, promised, links, pasts(gathered), more) | copies
    for trouble in dict.fromkeys([*gathered.warnings, *troubles]):
        print(f"board: {trouble}", file=sys.stderr)
    _write(options.out, files)
    print(options.out / "index.html")
    return int(Failure.INPUT) if troubles else 0


def _sources(files: Sequence[str], address: str | None) -> tuple[dict[str, str], dict[str, bytes]]:
    return (sources.linked(files, address), {}) if address else sources.copied(files)


def _papers(roots: Sequence[Path]) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the papers' verdicts; none where the experiments are not installed."""
    try:
        from plots.board.papers import papers  # noqa: PLC0415
    except ModuleNotFoundError as e:
        if e.name and e.name.startswith("plots.reproduce"):
            return [], []
        raise
    return papers(roots)


def _refuse_foreign(out: Path) -> None:
    """Refuse a folder that has files and is no site of ours; nothing in it is to be lost."""
    if out.exists() and not out.is_dir():
        raise PlotError(Failure.OUTPUT, f"{out}: is a file; name a folder for the site")
    if out.is_dir() and any(out.iterdir()) and not (out / _MARK).is_file():
        raise PlotError(Failure.OUTPUT, f"{out}: has files and is no board; name an empty or a new folder")


def _write(out: Path, files: dict[str, bytes]) -> None:
    mark = out / _MARK
    before = mark.read_text().splitlines() if mark.is_file() else []
    # The list first: a site that was interrupted is still known as one.
    write_file(mark, "\n".join(sorted({*before, *files})).encode() + b"\n")
    for path, data in files.items():
        write_file(out / path, data)
    for path in set(before) - set(files):
        if (out / path).resolve().is_relative_to(out.resolve()):
            (out / path).unlink(missing_ok=True)
    write_file(mark, "\n".join(sorted(files)).encode() + b"\n")


if __name__ == "__main__":
    sys.exit(main())
