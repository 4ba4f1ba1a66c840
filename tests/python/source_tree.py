"""Files of the source tree that a test reads: beside the tests, or where KSELECT_SOURCE says.

Tests that are carried alone to another machine (HACKING.md) skip what they cannot read.
"""

import os
from pathlib import Path

import pytest

ROOT = Path(os.environ.get("KSELECT_SOURCE") or Path(__file__).resolve().parents[2])


def file_of_source(name):
    """Return the file or folder of this name in the source tree; skip the test if it is not there."""
    path = ROOT / name
    if not path.exists():
        pytest.skip(f"{path} is not here; KSELECT_SOURCE=FOLDER names a source tree")
    return path
