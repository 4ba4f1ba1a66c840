"""Reads records of one line each, and writes files whole or not at all."""

import json
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from plots.errors import Failure, PlotError

Parsed = TypeVar("Parsed")


def read_lines(
    directories: Iterable[Path], file: str, parse: Callable[[Any], Parsed], what: str
) -> Iterator[Parsed]:
    """Yield `parse` of every line of DIR/file; raises PlotError where one is no `what`."""
    for directory in directories:
        path = directory / file
        try:
            lines = path.read_text().splitlines()
        except (OSError, UnicodeDecodeError) as e:
            raise PlotError(Failure.INPUT, f"{path}: cannot be read: {e}") from e
        for number, line in enumerate(lines, 1):
            try:
                found = parse(json.loads(line))
            except (ValueError, KeyError, IndexError, TypeError, ZeroDivisionError) as e:
                message = f"{path}:{number}: is no {what}: {e!r}"
                raise PlotError(Failure.INPUT, message) from e
            yield found


def write_file(path: Path, data: bytes) -> None:
    """Write a whole file or leave the old one, making its folder; raises PlotError(OUTPUT)."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace(path, data)
    except OSError as e:
        message = f"{e.filename or path}: cannot be written: {e.strerror}"
        raise PlotError(Failure.OUTPUT, message) from e


def _replace(path: Path, data: bytes) -> None:
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    try:
        unfinished.write_bytes(data)
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
