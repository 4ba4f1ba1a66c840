"""The program as a user runs it: KSELECT_BINARY is the executable under test."""

import json
import os
import subprocess
import time
from pathlib import Path

import jsonschema
import pytest
from journal import read_records, write_records

__all__ = ["write_records"]  # for tests

# Every sweep measures the memory's ceilings first, of a large block for half a second: nine tenths of a short sweep's
# time. A small block has the same steps. The tests of ceilings unset it ("").
os.environ.setdefault("KSELECT_TEST_CEILING_MIB", "1")

ROOT = Path(__file__).resolve().parents[2]
RECORD_SCHEMA = json.loads((ROOT / "results" / "record.schema.json").read_text())
RECORD = jsonschema.Draft202012Validator(RECORD_SCHEMA)

# A sweep of a few milliseconds.
SMALL = {
    "schema": "kselect-config/1",
    "name": "small",
    "seed": 1,
    "axes": {"n": [256, 1024], "q": [8], "k": [4, 16]},
    "algorithms": ["cpu/heap", "cpu/sort"],
    "measure": {"warmup": 0, "rounds": 2, "min_samples": 2, "max_samples": 3, "max_seconds": 1},
}


@pytest.fixture(scope="session")
def binary() -> str:
    """Path of the kselect executable."""
    program = os.environ.get("KSELECT_BINARY")
    if not program:
        pytest.fail("set KSELECT_BINARY to the program, such as $PWD/build/cpu/kselect (HACKING.md)")
    return program


@pytest.fixture
def kselect(binary, tmp_path):
    """Runs kselect in an empty directory; returns the finished process with text output.

    The width is fixed and ample: how a table is laid out would else hang on how many digits its times have.
    """

    def run(*arguments, check: int | None = 0, timeout: float = 600, env=None):
        done = subprocess.run(
            [binary, *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, "COLUMNS": "160", **(env or {})},
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        if check is not None:
            assert done.returncode == check, done.stdout + done.stderr
        return done

    return run


@pytest.fixture
def config(tmp_path):
    """Writes SMALL with changes; returns its path."""

    def write(**changes):
        path = tmp_path / "small.json"
        path.write_text(json.dumps(SMALL | changes))
        return path

    return write


def one_line(text: str) -> str:
    """The only line of an error; fails if there are more."""
    lines = text.splitlines()
    assert len(lines) == 1, text
    return lines[0]


def wait_until(condition, limit_s=120):
    """The value of a condition once it is true; fails after a time that is long on a loaded machine, too."""
    end = time.monotonic() + limit_s
    while not (value := condition()):
        assert time.monotonic() < end, "it never came"
        time.sleep(0.001)
    return value


def first_in_time(attempt, attempts=6):
    """What the first attempt returns that was in time to disturb its program; None says that the program had ended.

    Programs that take seconds would make it certain, and the tests slow.
    """
    for _ in range(attempts):
        if (found := attempt()) is not None:
            return found
    raise AssertionError(f"the program ended {attempts} times before it was disturbed")


def records(directory):
    """The records of a run, each checked against its checksum and the schema."""
    found = read_records(directory)
    for record in found:
        RECORD.validate(record)
    return found
