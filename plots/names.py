"""Checks names that users give, and names the nearest."""

import difflib
from collections.abc import Collection

from plots.errors import Failure, PlotError


def known(name: str, names: Collection[str], what: str) -> None:
    """Raise PlotError(USAGE) if `name` is none of the names of a `what`."""
    if name in names:
        return
    nearest = difflib.get_close_matches(name, sorted(names), n=1, cutoff=0)
    hint = f"; the nearest is {nearest[0]!r}" if nearest else ""
    raise PlotError(Failure.USAGE, f"no {what} is called {name!r}{hint}")
