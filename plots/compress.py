"""Compresses records before they are committed: `python -m plots.compress [--round] DIR [DIR ...]`.

Each .jsonl below the directories becomes .jsonl.gz, which the program and the figures also read.
Equal records give equal bytes, because neither name nor time is written. The plain file is deleted
after the compressed one was read back. `gunzip` restores it.

--round is for records of programs that did not round: times are rounded to 0.1 ns, as the program
now writes them, which takes four tenths of the bytes away. It takes compressed records, too. The
checksums are made again; the digest of the run changes.
"""

import argparse
import gzip
import json
import sys
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from plots.errors import Failure, PlotError, exit_code
from plots.files import packed, read_bytes, write_file
from plots.journal import decode, split

_TIMES = ("time", "stages", "inputs")


def _rounded(value: Any) -> Any:
    """Return a member of a record with its numbers rounded to a tenth."""
    if isinstance(value, float):
        return round(value, 1)
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    return value


def with_rounded_times(data: bytes, where: str) -> bytes:
    """Return a journal whose times are rounded to 0.1 ns; raises PlotError(INPUT)."""
    lines, torn = split(data, where)
    if torn:
        raise PlotError(Failure.INPUT, f"{where}: ends in the midst of a line; finish the run first")
    made = []
    for number, line in enumerate(lines, 1):
        record = decode(line, f"{where}:{number}")
        del record["crc32"]
        record |= {name: _rounded(record[name]) for name in _TIMES if name in record}
        text = json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode()
        made.append(text[:-1] + b',"crc32":"%08x"}\n' % zlib.crc32(text))
    return b"".join(made)


def round_times(path: Path) -> None:
    """Round the times of a file of records, compressed or not; raises PlotError."""
    data = with_rounded_times(read_bytes(path), str(path))
    plain = path.with_suffix("") if path.suffix == ".gz" else path
    write_file(plain, data)
    if path != plain:
        path.unlink()


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
    parser.add_argument("--round", action="store_true", help="round times to 0.1 ns")
    options = parser.parse_args(arguments)

    def work() -> None:
        for directory in options.runs:
            if not directory.is_dir():
                raise PlotError(Failure.INPUT, f"{directory}: no such directory")
            if options.round:
                for path in sorted(directory.rglob("*.jsonl*")):
                    round_times(path)
            for path in sorted(directory.rglob("*.jsonl")):
                print(compress(path), flush=True)

    return exit_code("plots", work)


if __name__ == "__main__":
    sys.exit(main())
