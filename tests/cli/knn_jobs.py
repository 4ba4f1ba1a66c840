"""What the tests of long k-NN jobs share: data, commands, and processes that are watched."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import first_in_time

MPIRUN = shutil.which("mpirun")


def make_vectors(path, count, dimension, seed=0):
    """Random vectors of small integers, so that distances tie; a piece at a time."""
    rng = np.random.default_rng(seed)
    out = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(count, dimension))
    for first in range(0, count, 1 << 14):
        out[first:first + (1 << 14)] = rng.integers(0, 50, out[first:first + (1 << 14)].shape)
    out.flush()


def graph_of(base, k=5, algorithm="cpu/heap"):
    """Arguments of the k-NN graph of a file."""
    return ["knn", "--base", base, "--self", "--exclude-self", "--k", str(k), "--algorithm",
            algorithm]


def outputs(name):
    """Arguments that name the files NAME.i.npy and NAME.d.npy."""
    return ["--indices", f"{name}.i.npy", "--distances", f"{name}.d.npy"]


def make_graph(at, binary, count):
    """A base file of `count` vectors and its graph, found by one process in memory: whole.*.npy."""
    make_vectors(at / "base.npy", count, 96)
    subprocess.run([binary, *graph_of("base.npy"), *outputs("whole")], cwd=at, check=True,
                   capture_output=True)
    return at


@pytest.fixture
def here(data, tmp_path):
    """The files of the module's `data` in the test's own directory."""
    for path in data.iterdir():
        os.link(path, tmp_path / path.name)
    return tmp_path


def same(directory, a, b):
    """Whether the answers of two names are equal byte by byte."""
    return all((directory / f"{a}.{part}.npy").read_bytes()
               == (directory / f"{b}.{part}.npy").read_bytes() for part in "id")


def finished_tiles(directory, name):
    """How many tiles the job's journal has."""
    try:  # a job that ends removes its journal
        journal = (directory / f"{name}.i.npy.job" / "runs.jsonl").read_bytes()
    except FileNotFoundError:
        return 0
    return max(0, journal.count(b"\n") - 1)


def wait_for_tiles(directory, name, count, job, limit_s=120):
    """Until the job has so many finished tiles; whether it got there before its end."""
    deadline = time.monotonic() + limit_s
    while finished_tiles(directory, name) < count:
        if job.poll() is not None:
            return False
        assert time.monotonic() < deadline
        time.sleep(0.005)
    return True


def disturbed(start, directory, name, count, disturb):
    """The ended job that was disturbed when it had so many tiles, of those that `start()` starts."""
    def attempt():
        job = start()
        if not wait_for_tiles(directory, name, count, job):
            return None
        disturb(job)
        return job if ends_with_failure(job, directory, name) else None

    return first_in_time(attempt)


def ends_with_failure(job, directory, name):
    """Waits for the end. A rank stopped after all tiles were done never ends; that is no failure."""
    try:
        return job.wait(timeout=120) != 0
    except subprocess.TimeoutExpired:
        if finished_tiles(directory, name) > 0:
            raise
        return False


def sanitized(binary):
    """Whether the program was built with sanitizers, under which memory is no measure."""
    done = subprocess.run([binary, "doctor"], capture_output=True, text=True, check=False)
    return "address" in done.stdout


def resident_mib(binary):
    """What the program has in memory before it does anything: with cuBLAS, hundreds of MiB."""
    process = subprocess.Popen([binary, "--version"], stdout=subprocess.DEVNULL)
    _, _, usage = os.wait4(process.pid, 0)
    return usage.ru_maxrss // 1024 + 1


def clean_environment():
    """Without what a sanitizer would say of the MPI library, or mpirun of the user."""
    return os.environ | {"ASAN_OPTIONS": "detect_leaks=0", "OMPI_ALLOW_RUN_AS_ROOT": "1",
                         "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMP_NUM_THREADS": "1"}


def has_mpi(binary):
    """Whether `knn --mpi` can be tried here."""
    return MPIRUN is not None and (Path(binary).parent / "kselect_mpi.so").exists()


def over(ranks, *arguments):
    """The command that starts so many ranks of the same arguments."""
    return [MPIRUN, "--oversubscribe", "--bind-to", "none", "-n", ranks, *arguments]


def ranks_in(way, ranks, binary, *arguments):
    """The command that starts so many ranks: "mpi", processes, or "threads" of one process."""
    if way == "mpi":
        return over(ranks, binary, *arguments, "--mpi")
    return [binary, *arguments, "--ranks", ranks]


def ranks_of(job):
    """The process ids of the ranks under mpirun, by rank."""
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(job.pid)], capture_output=True,
                            text=True, check=False).stdout
    return sorted(int(pid) for pid in listed.split())


def peak_memory_kib(pid):
    """What the process has held at most so far; 0 when it is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return max((int(line.split()[1]) for line in lines if line.startswith("VmHWM")), default=0)


def peak_memory_until_end(job, processes):
    """The largest peak of all processes that `processes()` lists, in KiB; waits for the job."""
    peak = 0
    while job.poll() is None:
        peak = max([peak, *map(peak_memory_kib, processes())])
        time.sleep(0.002)
    return peak


@pytest.fixture
def popen():
    """Starts processes in sessions of their own, and leaves none behind."""
    started = []

    def start(arguments, **options):
        job = subprocess.Popen([str(a) for a in arguments], text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, start_new_session=True, **options)
        started.append(job)
        return job

    yield start
    for job in started:
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)
        job.communicate()


def alive(pid):
    """Whether the process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def await_end(job, pids, limit_s):
    """The seconds until mpirun and all ranks are gone."""
    begin = time.monotonic()
    job.wait(timeout=limit_s)
    while any(alive(pid) for pid in pids):
        assert time.monotonic() - begin < limit_s, "ranks are left behind"
        time.sleep(0.02)
    return time.monotonic() - begin
