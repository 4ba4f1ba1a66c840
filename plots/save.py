"""Writes a drawing as NAME.png, NAME.pdf and NAME.csv.

Equal drawings give equal bytes, because no date, version or path is written. Each file is written
atomically. Pictures are committed, so they have a palette, which makes them smaller.
"""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL import Image, ImageChops
from PIL.PngImagePlugin import PngInfo

from plots.figures import Drawing
from plots.files import write_file

_FORMATS: dict[str, dict[str, Any]] = {
    "png": {"dpi": 150, "metadata": {"Software": None}},
    "pdf": {"metadata": {"Creator": None, "Producer": None, "CreationDate": None}},
}
_COLOURS = (32, 64, 128, 256)  # sizes of palettes
# A channel's largest error in a palette of fewer than 256 colours; at 16, gradients of heat maps
# have bands.
_CLOSE = 8
_SOURCE = {"png": "Source", "pdf": "Subject"}  # the formats' metadata fields for the source


def save(drawing: Drawing, directory: Path) -> list[Path]:
    """Write the three files and make the directory if needed; returns their paths."""
    paths = []
    for ending, data in encode(drawing).items():
        paths.append(directory / f"{drawing.name}.{ending}")
        write_file(paths[-1], data)
    return paths


def encode(
    drawing: Drawing, endings: Sequence[str] = ("png", "pdf", "csv"), *, palette: bool = True
) -> dict[str, bytes]:
    """Return the content of each file by its ending.

    `palette`: pictures have one, as committed ones do. To find it takes as long as to draw.
    """
    files = {e: points(drawing) if e == "csv" else _picture(drawing, e) for e in endings}
    if palette and "png" in files:
        files["png"] = _with_palette(files["png"])
    return files


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


def _with_palette(png: bytes) -> bytes:
    """Return the picture with a palette; its metadata and its resolution are kept.

    The palette covers the range of the colours and not their areas, so thin lines keep their
    colours and white stays white. A rendering without a palette then still agrees with it
    (`reproduce.check`).
    """
    picture = Image.open(io.BytesIO(png))
    text = PngInfo()
    for name, value in picture.info.items():
        if isinstance(value, str):
            text.add_text(name, value)
    coded = _coded(picture.convert("RGB"))
    buffer = io.BytesIO()
    coded.save(buffer, "PNG", optimize=True, pnginfo=text, dpi=picture.info["dpi"])
    return buffer.getvalue()


def _coded(true: Image.Image) -> Image.Image:
    """Return a picture with the smallest palette that keeps its colours close, else the largest."""
    for colours in _COLOURS:
        coded = true.quantize(
            colours, method=Image.Quantize.MAXCOVERAGE, kmeans=1, dither=Image.Dither.NONE
        )
        errors = ImageChops.difference(true, coded.convert("RGB")).getextrema()
        if max(largest for _, largest in errors) <= _CLOSE:
            break
    return coded
