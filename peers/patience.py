"""A limit for each call of a rival: one that hangs costs itself a problem, and the run goes on in a new process."""

import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

LATE = "it gave no answer within "


@dataclass(frozen=True)
class Patience:
    """How long a call may take, and what records a rival whose call took longer."""

    seconds: float
    give_up: Callable[[str, str], None]  # the rival's name, the reason

    @contextmanager
    def limit(self, rival: str, folder: Path) -> Iterator[None]:
        """Let what is within the block take so long. After that this process starts anew, with the same command line.

        `folder` has what only this process needs, and is removed then.

        A thread watches: the caller may wait in the driver, where no signal and no exception of Python's reaches it.
        """
        watch = threading.Timer(self.seconds, self._start_anew, [rival, folder])
        watch.daemon = True
        watch.start()
        try:
            yield
        finally:
            watch.cancel()

    def _start_anew(self, rival: str, folder: Path) -> None:
        reason = f"{LATE}{self.seconds:g} s"
        self.give_up(rival, reason)
        shutil.rmtree(folder, ignore_errors=True)
        print(f"peers.rivals: {rival}: {reason}; going on in a new process", file=sys.stderr, flush=True)
        os.execv(sys.executable, sys.orig_argv)
