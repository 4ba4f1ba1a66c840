"""Writes a drawing as NAME.png, NAME.pdf and NAME.csv.

Equal drawings give equal bytes: no date, no version, no path is written. Each file appears whole or
not at all.
"""

import csv
import io
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
