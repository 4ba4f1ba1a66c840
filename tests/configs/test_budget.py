"""What is committed stays small enough to be cloned: 15 MB by `git clone --depth 1`."""

import subprocess
import zlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Of all files as git packs them. Folders and git's own files take 0.3 MB more.
BUDGET = 14_700_000


def committed():
    """The paths of all files that git has here."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in listed.stdout.decode().split("\0") if name]


def packed_size(path):
    """The bytes that a file takes in a pack; 0 of one that was removed and not yet committed."""
    return len(zlib.compress(path.read_bytes())) if path.is_file() else 0


def test_a_shallow_clone_stays_within_its_budget():
    sizes = {path: packed_size(path) for path in committed()}
    largest = sorted(sizes, key=sizes.get, reverse=True)[:10]
    told = "\n".join(f"{sizes[path]:>9} {path.relative_to(ROOT)}" for path in largest)
    assert sum(sizes.values()) <= BUDGET, f"{sum(sizes.values())} bytes; the largest:\n{told}"
