"""The figures: every module of this package is one and is found automatically.

A figure module defines NAME, DESCRIPTION (one line) and `draw(records, options)`, which returns one
Drawing for each suitable slice, possibly none. A module that draws counted work instead of times
sets OF_COUNTS = True. A module for certain records may define `suits(record)`; other records are
then not reported as left out.
"""

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from matplotlib.figure import Figure

from plots.records import Record

# The CSV columns that hold keys of records.
KEY_COLUMNS = ("key", "baseline_key")


@dataclass(frozen=True)
class Options:
    """The options of the command line that figures use."""

    baseline: str | None = None  # the algorithm to compare with; None: the figure's default


class Drawing(NamedTuple):
    """A finished figure, its file name without ending, and the rows of its CSV."""

    name: str
    figure: Figure
    rows: list[dict[str, object]]  # at least one; all with the same keys in the same order
    source: str = ""  # its record, written into the files' metadata; "" writes nothing


@dataclass(frozen=True)
class FigureKind:
    """A registered figure module."""

    name: str
    description: str
    draw: Callable[[Sequence[Record], Options], list[Drawing]]
    of_counts: bool = False
    about: Callable[[Record], bool] | None = None

    def suits(self, record: Record) -> bool:
        """Tell whether this kind of figure can show the cell."""
        if self.about is not None:
            return self.about(record)
        counted = bool(record.queue_updates)
        if self.of_counts:
            return counted
        return record.time is not None or not (counted or record.counters)


def registry() -> dict[str, FigureKind]:
    """Import every module of this package; returns the figures sorted by name."""
    kinds = {}
    for found in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{found.name}")
        kinds[module.NAME] = FigureKind(
            module.NAME,
            module.DESCRIPTION,
            module.draw,
            getattr(module, "OF_COUNTS", False),
            getattr(module, "suits", None),
        )
    return dict(sorted(kinds.items()))
