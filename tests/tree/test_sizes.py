"""No file is longer than 400 lines, no function longer than 40. Longer ones are split by what they do, or by phase."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 400
LONGEST_FUNCTION = 40
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


# Functions that are longer, with their lines at most, and why. The list may only shrink: split a function, and take it off.
LONGER = {
    "algorithms/quick_multi_select/partition.cuh pivot_into_stage": (41, "registers must stay: measure on a GPU"),
}


def long_functions():
    """Those of the tree that are longer than LONGEST_FUNCTION, with their lines."""
    function_sizes = pytest.importorskip("function_sizes", reason="lizard is not installed (tests/requirements.txt)")
    found = {}
    for file in own_files():
        if file.suffix in {".cpp", ".hpp", ".cu", ".cuh", ".py"} and (ROOT / file).is_file():
            text = (ROOT / file).read_text()
            for function in function_sizes.longer_than(str(file), text, LONGEST_FUNCTION):
                found[f"{file} {function.name}"] = function.lines
    return found


def test_no_function_has_more_than_40_lines():
    found = long_functions()
    too_long = {name: lines for name, lines in found.items() if lines > LONGER.get(name, (LONGEST_FUNCTION, ""))[0]}
    assert not too_long, f"split these: {too_long}"
    short = sorted(LONGER.keys() - found.keys())
    assert not short, f"these are short enough now; take them off LONGER: {short}"


@pytest.mark.parametrize(
    ("name", "head", "line", "tail"),
    [
        ("x.cpp", "int f(int a) {", "  a += 1;", "  return a;\n}"),
        ("x.cu", "template <class T>\n__global__ void f(T* a,\n                  int b) {", "  a[b] += 1;", "}"),
        ("x.hpp", "struct s {\n  KSELECT_HD void f() const {", "    ++g;", "  }\n};"),
        ("x.cpp", "TEST(Some, Thing) {", "  EXPECT_EQ(1, 1);", "}"),
        ("x.py", "def f(a):\n    \"\"\"Say.\n\n    More.\n    \"\"\"", "    a += 1", "    return a"),
    ],
)
def test_a_long_function_is_found(name, head, line, tail):
    function_sizes = pytest.importorskip("function_sizes", reason="lizard is not installed (tests/requirements.txt)")

    def found(lines):
        return function_sizes.longer_than(name, "\n".join([head, *[line] * lines, tail, ""]), LONGEST_FUNCTION)

    assert not found(10)
    [long] = found(41)
    assert long.lines > 41 and long.name in ("f", "TEST(Some,Thing)")
