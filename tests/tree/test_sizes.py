"""No file is longer than 400 lines. Longer ones are split by what they do, or test."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 400
KINDS = {".cpp", ".hpp", ".cu", ".cuh", ".py", ".js", ".css", ".html", ".cmake", ".sh", ".txt", ".in"}


def own_files():
    """The files of programs and tests that git has, or would have."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if listed.returncode != 0:
        pytest.skip("this is no checkout")
    files = [Path(name) for name in listed.stdout.split("\0") if name]
    # Seeds of the fuzzers and committed records are data.
    data = (Path("tests/fuzz/corpus"), Path("results"), Path("reproduction"))
    return [f for f in files if f.suffix in KINDS and not any(f.is_relative_to(d) for d in data)]


def test_files_are_found_in_every_room():
    rooms = {file.parts[0] for file in own_files()}
    assert {"include", "src", "algorithms", "cli", "plots", "tests", "cmake", "scripts"} <= rooms


def test_no_file_has_more_than_400_lines():
    lines = {
        file: (ROOT / file).read_bytes().count(b"\n") for file in own_files() if (ROOT / file).is_file()
    }
    too_long = {str(file): count for file, count in lines.items() if count > LONGEST}
    assert not too_long, f"split these: {too_long}"
