"""Errors of the figures: a one-line message and a category, which decides the exit code."""

import sys
from collections.abc import Callable
from enum import IntEnum


class Failure(IntEnum):
    """The exit codes; `kselect` uses the same ones."""

    USAGE = 2  # command line: an unknown figure or baseline
    INPUT = 3  # a run is missing, damaged, of an unknown schema, or has nothing to draw
    OUTPUT = 6  # a figure cannot be written


class PlotError(Exception):
    """Ends the program; the message is one line that names the file and says what is wrong."""

    def __init__(self, failure: Failure, message: str) -> None:
        """Keep the category beside the message."""
        super().__init__(message)
        self.failure = failure


def exit_code(name: str, work: Callable[[], None]) -> int:
    """Do a command's work; return its exit code. Errors go to stderr after its name."""
    try:
        work()
    except PlotError as e:
        print(f"{name}: {e}", file=sys.stderr)
        return int(e.failure)
    return 0
