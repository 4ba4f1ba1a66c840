"""Runs sweeps on several GPUs at a time: one sweep a GPU, each on its own share of the processor's cores."""

import heapq
import os
import subprocess
import sys
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from plots.errors import Failure, PlotError


@dataclass(frozen=True)
class Job:
    """A command, the name before each line that it prints, and the seconds that it may take."""

    name: str
    command: Sequence[str]
    seconds: float


@dataclass
class Share:
    """A GPU and the cores of the processor that go with it."""

    gpu: str  # as CUDA_VISIBLE_DEVICES names it
    cores: set[int]


def shares(count: int) -> list[Share]:
    """Divide the machine into `count` GPUs with as many cores each; raises PlotError(USAGE).

    GPUs that CUDA_VISIBLE_DEVICES hides are left out, and cores that the process may not use.
    """
    gpus = _visible()
    if not 1 <= count <= len(gpus):
        none = "CUDA_VISIBLE_DEVICES hides all" if hidden() is not None else "nvidia-smi shows none"
        there = f"this machine shows {len(gpus)}" if gpus else none
        raise PlotError(Failure.USAGE, f"--gpus {count}: {there}")
    cores = sorted(os.sched_getaffinity(0))
    each = max(1, len(cores) // count)
    firsts = [number * each % len(cores) for number in range(count)]
    return [Share(gpus[i], set(cores[at : at + each])) for i, at in enumerate(firsts)]


def hidden() -> str | None:
    """Return the GPUs that CUDA_VISIBLE_DEVICES leaves, or None if it hides none."""
    return os.environ.get("CUDA_VISIBLE_DEVICES")


def _visible() -> list[str]:
    left = hidden()
    if left is not None:
        return [name for name in left.split(",") if name]
    try:
        done = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return []
    found = [line for line in done.stdout.splitlines() if line.startswith("GPU ")]
    return [str(number) for number in range(len(found))]


def time_of(seconds: Iterable[float], places: int) -> float:
    """Return the time until so many places have done jobs of these times, the longest first."""
    busy_until = [0.0] * places
    for one in sorted(seconds, reverse=True):
        heapq.heapreplace(busy_until, busy_until[0] + one)
    return max(busy_until)


def run(jobs: Sequence[Job], places: Sequence[Share]) -> dict[str, int]:
    """Run the jobs, the longest first; returns each one's exit code by its name.

    Ctrl-C reaches the jobs from the terminal. Those that run end as they do by themselves, no other begins, and
    KeyboardInterrupt follows.
    """
    waiting = sorted(jobs, key=lambda job: job.seconds)
    codes: dict[str, int] = {}
    failed: list[OSError] = []
    threads = [threading.Thread(target=_work, args=(waiting, p, codes, failed)) for p in places]
    for thread in threads:
        thread.start()
    interrupted = False
    for thread in threads:
        while thread.is_alive():
            try:
                thread.join()
            except KeyboardInterrupt:
                interrupted = True
                waiting.clear()
    if interrupted or 130 in codes.values():
        raise KeyboardInterrupt
    if failed:
        raise failed[0]
    return codes


def _work(
    waiting: list[Job], place: Share, codes: dict[str, int], failed: list[OSError]
) -> None:
    os.sched_setaffinity(0, place.cores)  # of this thread, and so of what it starts
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": place.gpu}
    while True:
        try:
            job = waiting.pop()
        except IndexError:
            return
        try:
            codes[job.name] = _follow(job, environment)
        except OSError as e:  # no such program, or nobody reads what is printed
            failed.append(e)
        if failed or codes[job.name] == 130:
            waiting.clear()


def _follow(job: Job, environment: dict[str, str]) -> int:
    """Run a job and print its lines with its name before them."""
    with subprocess.Popen(
        job.command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        for line in process.stdout or ():
            sys.stdout.write(f"{job.name}: {line}")
            sys.stdout.flush()
    return process.returncode
