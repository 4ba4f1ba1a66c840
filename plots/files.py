"""Reads files of records, compressed or not, and writes files atomically."""

import gzip
import os
import zlib
from pathlib import Path

from plots.errors import Failure, PlotError

RUNS = "runs.jsonl"  # the journal of a run
_PACKED = ".gz"


def packed(path: Path) -> Path:
    """Return the name of the compressed file."""
    return path.with_name(path.name + _PACKED)


def holds(directory: Path, file: str) -> bool:
    """Tell whether a directory has a file of records, compressed or not."""
    return (directory / file).is_file() or packed(directory / file).is_file()


def stored(directory: Path, file: str) -> Path:
    """Return the path of a file of records: the compressed one if it exists.

    Raises PlotError(INPUT) if both exist, since they may differ.
    """
    plain = directory / file
    compressed = packed(plain)
    if not compressed.is_file():
        return plain
    if plain.is_file():
        message = (
            f"{directory}: has both {file} and {compressed.name}; remove the one that is not meant"
        )
        raise PlotError(Failure.INPUT, message)
    return compressed


def read_bytes(path: Path) -> bytes:
    """Return a file's content, decompressed if needed; raises PlotError(INPUT)."""
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if path.suffix == _PACKED else data
    except (EOFError, zlib.error, gzip.BadGzipFile) as e:
        message = f"{path}: is damaged or truncated gzip: {e}; fetch it again"
        raise PlotError(Failure.INPUT, message) from e
    except OSError as e:
        raise PlotError(Failure.INPUT, f"{path}: cannot be read: {e.strerror}") from e


def begins_with(directory: Path, file: str, text: bytes) -> bool:
    """Tell whether `text` is near a file's beginning; False if the file is not readable."""
    begin = 200  # bytes: the first members of a record say its kind
    try:
        path = stored(directory, file)
        with gzip.open(path) if path.suffix == _PACKED else path.open("rb") as content:
            return text in content.read(begin)
    except (OSError, EOFError, zlib.error, PlotError):
        return False


def write_file(path: Path, data: bytes) -> None:
    """Write a file atomically and make its folder; raises PlotError(OUTPUT)."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace(path, data)
    except OSError as e:
        message = f"{e.filename or path}: cannot be written: {e.strerror}"
        raise PlotError(Failure.OUTPUT, message) from e


def _replace(path: Path, data: bytes) -> None:
    place = Path(os.path.realpath(path))  # a link stays, and the file that it names is replaced
    unfinished = place.with_name(f".{place.name}.{os.getpid()}.unfinished")
    try:
        unfinished.write_bytes(data)
        unfinished.replace(place)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
