"""A process that was forked, as by multiprocessing or a data loader, selects and searches."""

import os
import signal
import threading
import time

import numpy as np
import pytest

import kselect

ROWS = np.random.default_rng(1).random((64, 500), np.float32)
CORPUS = kselect.Corpus(ROWS, threads=3)


def answers():
    found = kselect.top_k(ROWS, 7, threads=3).indices, CORPUS.search(ROWS[:9], 3).indices
    return [one.tolist() for one in found]


def forked(work, limit_s=60):
    """The exit code of `work()` in a forked process; fails if that process hangs."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = work()
        finally:
            os._exit(code)
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return pytest.fail("the forked process hangs")


def test_a_forked_process_selects_as_its_parent():
    before = answers()  # with threads, which a fork does not copy
    assert forked(lambda: 0 if answers() == before else 1) == 0
    assert answers() == before


def test_a_fork_while_another_thread_selects():
    before, stop = answers(), threading.Event()

    def select():
        while not stop.is_set():
            kselect.top_k(ROWS, 7, threads=3)

    other = threading.Thread(target=select)
    other.start()
    try:
        assert [forked(lambda: 0 if answers() == before else 1) for _ in range(3)] == [0, 0, 0]
    finally:
        stop.set()
        other.join()
