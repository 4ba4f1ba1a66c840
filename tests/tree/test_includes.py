"""Every #include of ours names a file that is there, and none points against the architecture.

docs/architecture.md lists what a room may include; the longest room that holds a file is the file's.
"""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^\s*#\s*include "([^"]+)"', re.MULTILINE)
GENERATED = {"build_info.hpp", "source_hashes.hpp", "registry_table.cpp", "source_tree.hpp", "tune_configs.hpp"}


def arrows() -> dict[str, set[str]]:
    page = (ROOT / "docs" / "architecture.md").read_text()
    block = re.search(r"<!-- arrows -->\n```\n(.*?)```", page, re.DOTALL)[1]
    rows = [line.split("->") for line in block.splitlines()]
    return {name.strip(): set(targets.split()) for name, targets in rows}


ARROWS = arrows()


def sources():
    for folder in {room.split("/")[0] for room in ARROWS}:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in {".hpp", ".cuh", ".cpp", ".cu"}:
                yield path


def room(path: Path) -> str | None:
    name = str(path.relative_to(ROOT))
    return max((folder for folder in ARROWS if name.startswith(folder + "/")), key=len, default=None)


def target(path: Path, included: str) -> Path | None:
    """The file that a name stands for, as the compiler finds it."""
    places = (ROOT / "include", ROOT, path.parent)
    return next((place / included for place in places if (place / included).exists()), None)


def includes(path: Path):
    text = path.read_text()
    for match in INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start(1)) + 1, match[1]


def faults(path: Path):
    """What is wrong with a file's includes, a line each."""
    mine = room(path)
    for line, included in includes(path):
        place = f"{path.relative_to(ROOT)}:{line}"
        found = target(path, included)
        if found is None:
            if included not in GENERATED:
                yield f'{place}: "{included}" is not there'
            continue
        other = room(found.resolve())
        if other != mine and other not in ARROWS[mine]:
            yield f"{place}: {mine} -> {other} ({included}) is no arrow of docs/architecture.md"


def test_every_source_has_a_room():
    homeless = [str(path.relative_to(ROOT)) for path in sources() if room(path) is None]
    assert not homeless, f"no room of docs/architecture.md holds {homeless}"


def test_includes_are_there_and_follow_the_arrows():
    wrong = [fault for path in sources() if room(path) for fault in faults(path)]
    assert not wrong, "\n".join(sorted(wrong))


def test_a_forbidden_include_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    (tmp_path / "kernels").mkdir()
    (tmp_path / "cli").mkdir()
    (tmp_path / "cli" / "main.hpp").touch()
    bad = tmp_path / "kernels" / "bad.cuh"
    bad.write_text('#pragma once\n#include "cli/main.hpp"\n#include "kernels/gone.cuh"\n')
    assert list(faults(bad)) == [
        "kernels/bad.cuh:2: kernels -> cli (cli/main.hpp) is no arrow of docs/architecture.md",
        'kernels/bad.cuh:3: "kernels/gone.cuh" is not there',
    ]


def no_circle(nodes, successors, name):
    done = set()

    def visit(node, above):
        assert node not in above, " -> ".join(name(n) for n in (*above, node))
        if node in done:
            return
        for successor in successors(node):
            visit(successor, (*above, node))
        done.add(node)

    for node in nodes:
        visit(node, ())


def test_no_arrow_runs_back():
    no_circle(ARROWS, lambda room: ARROWS[room], str)
    assert all(targets <= ARROWS.keys() for targets in ARROWS.values())


def test_no_file_includes_itself_by_a_circle():
    reached = {
        path: [found.resolve() for _, name in includes(path) if (found := target(path, name))]
        for path in sources()
    }
    no_circle(reached, lambda path: reached.get(path, []), lambda path: str(path.relative_to(ROOT)))
