"""Kernels do on fibers what they do on a GPU, except where docs/decisions/kernels.md says so.

A comparison with `executor_kind` makes code differ by executor. The page lists each file that has some and how many; a
new one is a fault, and so is a line of the list that is no longer true.
"""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMPARED = re.compile(r"[!=]=\s*(?:kselect::)?executor_kind::|executor_kind::\w+\s*[!=]=")
ROOMS = ("include", "src", "kernels", "algorithms", "baselines", "search")
ROW = re.compile(r"^\| `([^`]+)` \| (\d+) \| (.+) \|$", re.MULTILINE)


def listed() -> dict[str, int]:
    page = (ROOT / "docs" / "decisions" / "kernels.md").read_text()
    block = re.search(r"<!-- executors -->\n(.*?)<!-- end of executors -->", page, re.DOTALL)[1]
    rows = ROW.findall(block)
    assert len(rows) == block.count("\n|") - 1, "a row is not: | `file` | comparisons | what differs |"
    return {name: int(count) for name, count, _ in rows}


def compared() -> dict[str, int]:
    found = {}
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*")):
            if path.suffix in {".hpp", ".cuh", ".cpp", ".cu"}:
                count = len(COMPARED.findall(path.read_text()))
                if count:
                    found[str(path.relative_to(ROOT))] = count
    return found


def test_every_comparison_of_executors_is_listed():
    assert compared() == listed()


def test_plans_alone_decide_by_the_executor():
    """A function that starts a call has its decisions from the plan; it does not ask for the executor again."""
    for room in ("kernels", "algorithms", "baselines"):
        for path in sorted((ROOT / room).rglob("*.cu*")):
            assert "on.device->kind" not in path.read_text(), path
