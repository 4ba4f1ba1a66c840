"""The package's type hints, which mypy checks."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import kselect


def test_hints_are_consistent(tmp_path):
    pytest.importorskip("mypy", reason="mypy is not installed (tests/requirements.txt)")
    # A copy: where the package is installed, mypy would check its neighbours with it.
    without = shutil.ignore_patterns("_program", "*.so", "__pycache__")
    shutil.copytree(Path(kselect.__file__).parent, tmp_path / "kselect", ignore=without)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--ignore-missing-imports", "--cache-dir", tmp_path / "cache", "kselect"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
