"""The command line of modules that draw figures from directories of records."""

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from plots import style
from plots.errors import Failure, PlotError, exit_code
from plots.figures import Drawing
from plots.save import save

Search = TypeVar("Search")


def one_a_place(searches: Sequence[Any], draw: Callable[[str, Sequence[Any]], Drawing]) -> list[Drawing]:
    """Draw one figure for each GPU or processor, by the `place` of the searches."""
    places: dict[str, list[Any]] = defaultdict(list)
    for search in searches:
        places[search.place].append(search)
    return [draw(place, members) for place, members in sorted(places.items())]


def draw_command(
    parser: argparse.ArgumentParser,
    arguments: Sequence[str] | None,
    file: str,
    read: Callable[[Iterable[Path]], Sequence[Search]],
    draw: Callable[[Sequence[Search]], Sequence[Drawing]],
    nothing: str,
    table: Callable[[Sequence[Search]], str] | None = None,
) -> int:
    """Draw the records that `read` finds in the named directories; returns the exit code (README).

    Each directory holds `file`. `nothing` is the error message if there is no drawing. `table` is
    the text that is printed first.
    """
    parser.add_argument("runs", nargs="+", type=Path, metavar="DIR", help=f"has {file}")
    parser.add_argument("--out", type=Path, default=Path("out/figures"), metavar="DIR")
    options = parser.parse_args(arguments)

    def work() -> None:
        style.apply()
        found = read(options.runs)
        if table and found:
            print(table(found))
        drawings = draw(found)
        if not drawings:
            names = ", ".join(str(path) for path in options.runs)
            raise PlotError(Failure.INPUT, f"{names}: {nothing}")
        for drawing in drawings:
            for path in save(drawing, options.out):
                print(path, flush=True)

    return exit_code("plots", work)
