"""Writes a drawing as NAME.png, NAME.pdf and NAME.csv.

Equal drawings give equal bytes: no date, no version, no path is written. Each file appears whole or
not at all.
"""

import csv
import io
import os
from pathlib import Path
from typing import Any

from plots.errors import Failure, PlotError
from plots.figures import Drawing

_FORMATS: dict[str, dict[str, Any]] = {
    "png": {"dpi": 150, "metadata": {"Software": None}},
    "pdf": {"metadata": {"Creator": None, "Producer": None, "CreationDate": None}},
}
_SOURCE = {"png": "Source", "pdf": "Subject"}  # the names that the formats have for it


def save(drawing: Drawing, directory: Path) -> list[Path]:
    """Write the three files, making the directory where needed; returns their paths."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        paths = []
        for ending, data in encode(drawing).items():
            paths.append(directory / f"{drawing.name}.{ending}")
            _replace(paths[-1], data)
        return paths
    except OSError as e:
        message = f"{e.filename or directory}: cannot be written: {e.strerror}"
        raise PlotError(Failure.OUTPUT, message) from e


def write_file(path: Path, data: bytes) -> None:
    """Write a whole file or leave the old one, making its folder; raises PlotError(OUTPUT)."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace(path, data)
    except OSError as e:
        message = f"{e.filename or path}: cannot be written: {e.strerror}"
        raise PlotError(Failure.OUTPUT, message) from e


def encode(drawing: Drawing) -> dict[str, bytes]:
    """Return the content of each file by its ending."""
    files = {}
    for ending, settings in _FORMATS.items():
        buffer = io.BytesIO()
        named = {_SOURCE[ending]: drawing.source} if drawing.source else {}
        settings = settings | {"metadata": settings["metadata"] | named}
        drawing.figure.savefig(buffer, format=ending, **settings)
        files[ending] = buffer.getvalue()
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(drawing.rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(drawing.rows)
    files["csv"] = text.getvalue().encode("utf-8")
    return files


def _replace(path: Path, data: bytes) -> None:
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    try:
        unfinished.write_bytes(data)
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
