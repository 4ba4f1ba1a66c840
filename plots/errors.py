"""How the figures fail: a one-line message and the category that decides the exit code."""

from enum import IntEnum


class Failure(IntEnum):
    """The exit codes, with the meaning they have in `kselect`."""

    USAGE = 2  # command line: an unknown figure or baseline
    INPUT = 3  # a run is missing, damaged, of an unknown schema, or has nothing to draw
    OUTPUT = 6  # a figure cannot be written


class PlotError(Exception):
    """Ends the program; the message is one line that names the file and says what is wrong."""

    def __init__(self, failure: Failure, message: str) -> None:
        """Keep the category beside the message."""
        super().__init__(message)
        self.failure = failure
