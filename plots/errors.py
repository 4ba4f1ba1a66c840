"""Errors of the figures: a one-line message and a category, which decides the exit code."""

import os
import sys
from collections.abc import Callable
from enum import IntEnum


class Failure(IntEnum):
    """The exit codes; `kselect` uses the same ones."""

    USAGE = 2  # command line: an unknown figure or baseline
    INPUT = 3  # a run is missing, damaged, of an unknown schema, or has nothing to draw
    OUTPUT = 6  # a figure cannot be written
    INTERRUPTED = 130  # the user stopped it


def command_name(module: str) -> str:
    """Return how the user started a module: by `kselect`, which says so, or by Python."""
    return os.environ.get("KSELECT_COMMAND") or f"python -m {module}"


class PlotError(Exception):
    """Ends the program; the message is one line that names the file and says what is wrong."""

    def __init__(self, failure: Failure, message: str) -> None:
        """Keep the category beside the message."""
        super().__init__(message)
        self.failure = failure


def exit_code(name: str, work: Callable[[], int | None], after_interrupt: str = "") -> int:
    """Do a command's work; return its exit code: what `work` returns, or 0 for None.

    Errors go to stderr after the command's name. `after_interrupt` says what an interrupt leaves.
    """
    try:
        return work() or 0
    except PlotError as e:
        print(f"{name}: {e}", file=sys.stderr)
        return int(e.failure)
    except KeyboardInterrupt:
        left = f"; {after_interrupt}" if after_interrupt else ""
        print(f"{name}: interrupted{left}", file=sys.stderr)
        return int(Failure.INTERRUPTED)
    except BrokenPipeError:
        # The reader closed the pipe. Without this, Python would report the error again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return int(Failure.OUTPUT)
