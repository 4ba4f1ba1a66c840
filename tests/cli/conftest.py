"""The program as a user runs it: KSELECT_BINARY is the executable under test."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def binary() -> str:
    """Path of the kselect executable."""
    return os.environ["KSELECT_BINARY"]


@pytest.fixture
def kselect(binary, tmp_path):
    """Runs kselect in an empty directory; returns the finished process with text output."""

    def run(*arguments, check: int | None = 0, timeout: float = 120):
        done = subprocess.run(
            [binary, *map(str, arguments)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        if check is not None:
            assert done.returncode == check, done.stdout + done.stderr
        return done

    return run


def one_line(text: str) -> str:
    """The only line of an error; fails if there are more."""
    lines = text.splitlines()
    assert len(lines) == 1, text
    return lines[0]
