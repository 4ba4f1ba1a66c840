"""The package as a whole."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from source_tree import file_of_source

import kselect


def test_version_is_the_projects():
    project = file_of_source("CMakeLists.txt").read_text()
    assert kselect.__version__ == re.search(r"project\(kselect VERSION ([0-9.]+)", project)[1]


def test_importing_it_imports_no_other_library_of_arrays():
    program = (
        "import sys, kselect; kselect.top_k([1.0, 2.0], 1);"
        "print([name for name in ('torch', 'cupy', 'jax') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_it_says_that_it_is_typed():
    assert (Path(kselect.__file__).parent / "py.typed").exists()
