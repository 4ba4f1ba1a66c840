"""The documents' programs run."""

import re
import subprocess
import sys

import pytest
from source_tree import ROOT, file_of_source

EXAMPLES = sorted((ROOT / "examples" / "python").glob("*.py"))
GUIDE = "docs/guide/python.md"


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_examples_run(example, tmp_path):
    done = subprocess.run(
        [sys.executable, example], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_there_are_examples():
    file_of_source("examples/python")
    assert EXAMPLES


def test_the_guides_programs_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    guide = file_of_source(GUIDE).read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", guide, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 3
    names = {}
    for block in blocks:
        if "kselect.bench" in block:
            pytest.importorskip("kselect.bench", reason="the package was built without the program")
        exec(compile(block, GUIDE, "exec"), names)
    assert names["values"].shape == (1000, 10)
    assert names["indices"].shape == (1000, 10)
    assert names["columns"].indices.shape == (10, 4096)
    assert names["segments"].shape == (200, 3)
    assert {record["status"] for record in names["run"].records} == {"ok"}


def test_the_guide_lists_every_argument():
    """top_k's, in the table of the guide and in the docstring."""
    import inspect

    import kselect

    guide = file_of_source(GUIDE).read_text()
    for name in inspect.signature(kselect.top_k).parameters:
        assert re.search(rf"^\|.*`{name}\b", guide, re.MULTILINE), f"the guide lacks {name}"
        assert re.search(rf"^        {name}: ", kselect.top_k.__doc__, re.MULTILINE), name
