"""The functions of the tree's C++, CUDA and Python, with their lengths, as lizard reads them."""

import re
from dataclasses import dataclass

import lizard

_CUDA = (".cu", ".cuh")  # which lizard reads as C++, if it is told so


@dataclass(frozen=True)
class Function:
    """A function, and its lines: of C++ from its name to its brace, of Python without docstring, comments and blanks."""

    name: str
    lines: int


def _may_have_one_of(text, lines):
    """Whether so many lines in a row lie deeper than the first level: reading a file costs more than this."""
    run = 0
    for line in text.splitlines():
        run = run + 1 if not line or line[0] in " #\t)" else 0
        if run >= lines - 2:
            return True
    return False


def longer_than(name, text, lines):
    """Return the functions of a file that are longer. Several of one name are told apart by what stands in brackets."""
    if not _may_have_one_of(text, lines):
        return []
    read = lizard.analyze_file.analyze_source_code(f"{name}.cpp" if name.endswith(_CUDA) else name, text)
    found = []
    for function in read.function_list:
        length = function.nloc if name.endswith(".py") else function.end_line - function.start_line + 1
        if length <= lines:
            continue
        called = function.name.split("::")[-1]
        if called.startswith(("TEST", "TYPED_TEST")):  # its name is what the macro is given
            called = re.sub(r"\s+", "", text.splitlines()[function.start_line - 1].rstrip(" {"))
        found.append(Function(called, length))
    return found
