"""Writes files whole or not at all."""

import os
from pathlib import Path

from plots.errors import Failure, PlotError


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
