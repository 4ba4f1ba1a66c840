"""Compares the files made from the records with the committed ones.

Text and points must be equal byte by byte. Images may be rendered differently on another machine,
because of rounding, and committed ones have a palette. Their pixels are compared; a figure fails
if more than a few differ visibly.
"""

import io
from collections.abc import Mapping
from pathlib import Path

import numpy
from PIL import Image

from plots.words import amount_of

# Antialiasing may differ between machines; a moved marker or digit may not. A moved marker changes
# more than the share _FEW of a page's pixels, each by more than _VISIBLE.
_VISIBLE, _FEW = 48, 2e-5


def differences(expected: Mapping[Path, bytes], folder: Path, generated: set[str]) -> list[str]:
    """Return a line for each file that is missing, stale or left over; [] if all agree.

    `folder` holds the figures. This program owns the files whose names begin with an id of
    `generated`.
    """
    lines = []
    for path, data in sorted(expected.items()):
        try:
            found = path.read_bytes()
        except OSError as e:
            lines.append(f"{path}: missing: {e.strerror}")
            continue
        if found == data:
            continue
        if path.suffix == ".png":
            if why := _pixels_differ(data, found):
                lines.append(f"{path}: does not follow from the records: {why}")
        else:
            lines.append(f"{path}: does not follow from the records: {_first(data, found)}")
    for path in leftover(expected, folder, generated):
        lines.append(f"{path}: no record gives this figure any more")
    return lines


def leftover(expected: Mapping[Path, bytes], folder: Path, generated: set[str]) -> list[Path]:
    """Return the figures in a folder that this program made earlier but no longer makes."""
    kept = {path.with_suffix("") for path in expected}
    return [
        path
        for path in sorted(folder.glob("*"))
        if path.suffix in (".png", ".csv", ".pdf")
        and any(path.name.startswith(f"{name}-") for name in generated)
        and path.with_suffix("") not in kept
    ]


def _first(expected: bytes, found: bytes) -> str:
    """Return the first difference of two texts."""
    new, old = expected.decode().splitlines(), found.decode(errors="replace").splitlines()
    for number, (a, b) in enumerate(zip(new, old, strict=False), 1):
        if a != b:
            return f"line {number} would be {a[:120]!r}, it is {b[:120]!r}"
    return f"{amount_of(len(new), 'line')} instead of {len(old)}"


def _pixels_differ(expected: bytes, found: bytes) -> str:
    try:
        pictures = [Image.open(io.BytesIO(data)).convert("RGB") for data in (expected, found)]
    except (OSError, SyntaxError) as e:
        return f"no picture: {e}"
    if pictures[0].size != pictures[1].size:
        return f"{pictures[1].size} pixels instead of {pictures[0].size}"
    new, old = (numpy.asarray(picture, dtype=numpy.int16) for picture in pictures)
    share = float((numpy.abs(new - old).max(axis=2) > _VISIBLE).mean())
    return f"{share:.3%} of its pixels differ" if share > _FEW else ""
