"""Long searches show how far they are, and end as `run` does when they are asked to."""

import contextlib
import os
import pty
import re
import signal
import subprocess

import numpy as np
import pytest
from knn_jobs import disturbed, finished_tiles, graph_of, here, make_graph, outputs, popen, ranks_in, same

__all__ = ["here", "popen"]  # fixtures


@pytest.fixture(scope="module")
def data(binary, tmp_path_factory):
    return make_graph(tmp_path_factory.mktemp("progress"), binary, 7000)


@pytest.fixture(scope="module")
def slow(binary, tmp_path_factory):
    """An index, and a search in it that takes minutes."""
    at = tmp_path_factory.mktemp("slow")
    random = np.random.default_rng(1)
    np.save(at / "base.npy", random.normal(size=(40000, 256)).astype(np.float32))
    subprocess.run([binary, "index", "build", "--metric", "euclidean", "--objects", "base.npy",
                    "--kind", "none", "--index", "all.kidx"], cwd=at, check=True,
                   capture_output=True)
    return at, [binary, "index", "knn", "all.kidx", "base.npy", "--k", "3", "--executor", "cpu",
                "--threads", "1", "--indices", "found.npy"]


def said_in_log(job):
    """The first message of progress."""
    return next(line for line in job.stderr if "left" in line)


def said_at_the_end(job):
    """The error of a job that has ended. Only messages of progress may stand before it: the job reports until it
    has taken the signal."""
    *before, last = job.stderr.read().splitlines()
    assert all(re.fullmatch(r"\d+ of \d+ .*, .* left", line) for line in before), before
    return last


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_index_search_writes_nothing(slow, popen, sign):
    at, command = slow
    (at / "found.npy").write_bytes(b"older")
    job = popen(command, cwd=at)
    done, every = map(int, re.match(r"(\d+) of (\d+) queries searched, .* left$",
                                    said_in_log(job)).groups())
    assert 0 < done < every == 40000
    job.send_signal(sign)
    assert job.wait(timeout=120) == 130
    last = said_at_the_end(job)
    assert last.startswith("kselect: interrupted: ") and last.endswith("; nothing was written")
    assert (at / "found.npy").read_bytes() == b"older"


def test_a_terminal_shows_a_bar_and_the_time_left(slow):
    at, command = slow
    ours, theirs = pty.openpty()
    job = subprocess.Popen(command, cwd=at, stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    shown = ""
    try:
        while not re.search(r"\[#*\.+\] \d+/40000 queries searched  .* left", shown):
            shown += os.read(ours, 4096).decode()
        job.send_signal(signal.SIGINT)
        with contextlib.suppress(OSError):  # what a terminal says when its last writer has ended
            while more := os.read(ours, 4096).decode():
                shown += more
        assert job.wait(timeout=120) == 130
    finally:
        os.close(ours)
        job.kill()
    assert "\r\033[Kkselect: interrupted" in shown, "the bar is cleared before the message"


def test_a_stopped_build_writes_no_index(slow, popen):
    at, command = slow
    job = popen([str(part) for part in (command[0], "index", "build", "--metric", "euclidean", "base.npy", "new.kidx",
                 "--kind", "list_of_clusters", "--cluster-size", "1", "--executor", "cpu", "--threads", "1")],
                cwd=at)
    done, every = map(int, re.match(r"(\d+) of (\d+) objects indexed, .* left$", said_in_log(job)).groups())
    assert 0 < done < every == 40000
    job.send_signal(signal.SIGINT)
    assert job.wait(timeout=120) == 130
    assert said_at_the_end(job).endswith("; no index was written")
    assert not (at / "new.kidx").exists()


def test_a_proof_can_be_stopped(binary, tmp_path, popen):
    """With radius 0 a pivot rules out all but the object itself; the proof looks at every one."""
    random = np.random.default_rng(2)
    np.save(tmp_path / "base.npy", random.normal(size=(30000, 32)).astype(np.float32))
    subprocess.run([binary, "index", "build", "--metric", "euclidean", "--objects", "base.npy",
                    "--kind", "sss", "--pivots", "1", "--index", "one.kidx"], cwd=tmp_path,
                   check=True, capture_output=True)
    one = {min(os.sched_getaffinity(0))}
    job = popen([binary, "index", "range", "one.kidx", "base.npy", "--radius", "0", "--executor",
                 "cpu"], cwd=tmp_path, preexec_fn=lambda: os.sched_setaffinity(0, one))
    while "proven" not in said_in_log(job):
        pass
    job.send_signal(signal.SIGINT)
    assert job.wait(timeout=120) == 130
    assert "queries proven; nothing was written" in said_at_the_end(job)


def test_a_stopped_search_in_memory_writes_nothing(binary, tmp_path, popen):
    random = np.random.default_rng(1)
    np.save(tmp_path / "base.npy", random.normal(size=(100000, 256)).astype(np.float32))
    job = popen([binary, *graph_of("base.npy"), *outputs("found"), "--executor", "cpu",
                 "--threads", "1"], cwd=tmp_path)
    assert " of 100000 queries searched" in said_in_log(job)
    job.send_signal(signal.SIGTERM)
    assert job.wait(timeout=240) == 130
    last = said_at_the_end(job)
    assert "interrupted" in last and "nothing was written" in last and "--resume" in last
    assert [path.name for path in tmp_path.iterdir()] == ["base.npy"]


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_stopped_search_in_tiles_goes_on(kselect, here, binary, popen, ranks):
    command = ranks_in("threads", ranks, binary, *graph_of("base.npy"), *outputs("tiles"),
                       "--memory-limit", 1000, "--query-tile", 256)

    def start():
        job = popen(command, cwd=here)
        assert "28 tiles of 256 queries" in job.stderr.readline()
        return job

    job = disturbed(start, here, "tiles", 1, lambda job: job.send_signal(signal.SIGINT))
    assert job.returncode == 130
    last = said_at_the_end(job)
    done = int(re.search(r"interrupted: (\d+) of 7000 queries are done; the same command with "
                         r"--resume goes on$", last)[1])
    assert done == 256 * finished_tiles(here, "tiles"), "what is said is what is kept"
    said = kselect(*map(str, command[1:]), "--resume").stderr
    assert f"{done} done before" in said
    assert same(here, "tiles", "whole")
