"""What tests of the reproduction share: the experiments, and a figure of one of them."""

import csv
import io
from pathlib import Path
from typing import Any

from plots.reproduce import figures, manifest
from plots.reproduce.library import Library
from plots.save import points

EXPERIMENTS = {e.id: e for e in manifest.load()}


def drawn(name: str, tree: Path, which: int = 0) -> Any:
    """Draw one figure of an experiment from the only source in a tree."""
    (source,) = Library(tree).sources(EXPERIMENTS[name])
    (drawing,) = figures.draw(EXPERIMENTS[name], EXPERIMENTS[name].figures[which], source)
    return drawing


def texts(drawing: Any) -> str:
    """Return everything written on a figure outside its axes."""
    return " ".join(" ".join(text.get_text().split()) for text in drawing.figure.texts)


def rows(drawing: Any) -> list[dict[str, str]]:
    """Return the CSV of a drawing as it would be written."""
    return list(csv.DictReader(io.StringIO(points(drawing).decode())))
