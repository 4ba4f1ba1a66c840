"""Writes a drawing as NAME.png, NAME.pdf and NAME.csv.

Equal drawings give equal bytes: no date, no version, no path is written. Each file appears whole or
not at all.
"""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from plots.figures import Drawing
from plots.files import write_file

_FORMATS: dict[str, dict[str, Any]] = {
    "png": {"dpi": 150, "metadata": {"Software": None}},
    "pdf": {"metadata": {"Creator": None, "Producer": None, "CreationDate": None}},
}
_SOURCE = {"png": "Source", "pdf": "Subject"}  # the names that the formats have for it


def save(drawing: Drawing, directory: Path) -> list[Path]:
    """Write the three files, making the directory where needed; returns their paths."""
    paths = []
    for ending, data in encode(drawing).items():
        paths.append(directory / f"{drawing.name}.{ending}")
        write_file(paths[-1], data)
    return paths


def encode(drawing: Drawing, endings: Sequence[str] = ("png", "pdf", "csv")) -> dict[str, bytes]:
    """Return the content of each file by its ending."""
    return {e: points(drawing) if e == "csv" else _picture(drawing, e) for e in endings}


def points(drawing: Drawing) -> bytes:
    """Return the CSV of a drawing."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(drawing.rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(drawing.rows)
    return text.getvalue().encode("utf-8")


def _picture(drawing: Drawing, ending: str) -> bytes:
    buffer = io.BytesIO()
    settings = _FORMATS[ending]
    named = {_SOURCE[ending]: drawing.source} if drawing.source else {}
    settings = settings | {"metadata": settings["metadata"] | named}
    drawing.figure.savefig(buffer, format=ending, **settings)
    return buffer.getvalue()
