"""Every #include of ours names a file that is there, and none points against the architecture.

ARROWS is the one list of what a folder may include; HACKING.md draws it. The longest prefix decides.
"""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^\s*#\s*include "([^"]+)"', re.MULTILINE)

VOCABULARY = {"kselect"}
SEAM = VOCABULARY | {"src"}
KERNELS = VOCABULARY | {"algorithms", "baselines"}
HARNESS = VOCABULARY | {"src", "baselines", "harness"}
ARROWS = {
    "include/kselect": VOCABULARY,
    "src": SEAM,
    "algorithms": KERNELS,
    "baselines": KERNELS,
    "harness": HARNESS,
    "metric": HARNESS | {"algorithms", "metric"},
    "harness/cli": HARNESS | {"metric"},
    "bench": HARNESS,
    "examples": VOCABULARY,
}
GENERATED = {"build_info.hpp", "source_hashes.hpp", "registry_table.cpp"}


def sources():
    for folder in ARROWS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in {".hpp", ".cuh", ".cpp", ".cu"}:
                yield path


def room(path: Path) -> str:
    """The longest folder of ARROWS that holds a file."""
    name = str(path.relative_to(ROOT))
    return max((folder for folder in ARROWS if name.startswith(folder + "/")), key=len)


def found(path: Path, included: str) -> bool:
    places = (ROOT / "include", ROOT, path.parent)
    return included in GENERATED or any((place / included).exists() for place in places)


def test_includes_are_there_and_follow_the_arrows():
    wrong = set()
    for path in sources():
        allowed = ARROWS[room(path)]
        for match in INCLUDE.finditer(path.read_text()):
            included = match[1]
            place = path.relative_to(ROOT)
            line = path.read_text()[: match.start(1)].count("\n") + 1
            if not found(path, included):
                wrong.add(f'{place}:{line}: "{included}" is not there')
            elif "/" in included and included.split("/")[0] not in allowed:
                wrong.add(f"{place}:{line}: {room(path)} -> {included} is no allowed arrow")
            elif included.startswith("harness/cli/") and room(path) != "harness/cli":
                wrong.add(f"{place}:{line}: {room(path)} -> {included} is no allowed arrow")
    assert not wrong, "\n".join(sorted(wrong))


def test_no_file_includes_itself_by_a_circle():
    includes = {}
    for path in sources():
        names = INCLUDE.findall(path.read_text())
        reached = [place / name for name in names for place in (ROOT / "include", ROOT, path.parent)]
        includes[path] = [target.resolve() for target in reached if target.exists()]
    done = set()

    def visit(path, above):
        assert path not in above, " -> ".join(str(p.relative_to(ROOT)) for p in (*above, path))
        if path in done:
            return
        for target in includes.get(path, []):
            visit(target, (*above, path))
        done.add(path)

    for path in includes:
        visit(path, ())
