"""Compresses records before they are committed: `python -m plots.compress DIR [DIR ...]`.

Each .jsonl below the directories becomes .jsonl.gz, which the program and the figures also read.
Equal records give equal bytes, because neither name nor time is written. The plain file is deleted
after the compressed one was read back. `gunzip` restores it.
"""

import argparse
import gzip
import sys
from collections.abc import Sequence
from pathlib import Path

from plots.errors import Failure, PlotError, exit_code
from plots.files import packed, read_bytes, write_file


def compress(path: Path) -> Path:
    """Replace a file by its compressed form and return the new path; raises PlotError."""
    made = packed(path)
    if made.exists():
        message = f"{path.parent}: has {made.name}, too; remove the one that is not meant"
        raise PlotError(Failure.INPUT, message)
    data = read_bytes(path)
    write_file(made, gzip.compress(data, compresslevel=9, mtime=0))
    if read_bytes(made) != data:
        raise PlotError(Failure.OUTPUT, f"{made}: does not hold what was written; check the disk")
    path.unlink()
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code (docs/reference/exit-codes.md)."""
    parser = argparse.ArgumentParser(
        prog="python -m plots.compress", description="Compress records to be committed."
    )
    parser.add_argument("runs", nargs="+", type=Path, metavar="DIR", help="has .jsonl files")
    options = parser.parse_args(arguments)

    def work() -> None:
        for directory in options.runs:
            if not directory.is_dir():
                raise PlotError(Failure.INPUT, f"{directory}: no such directory")
            for path in sorted(directory.rglob("*.jsonl")):
                print(compress(path), flush=True)

    return exit_code("plots", work)


if __name__ == "__main__":
    sys.exit(main())
