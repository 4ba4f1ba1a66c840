"""scripts/toolchains.sh and its loop over compile commands: is what a compiler refuses counted and shown?"""

import json
import subprocess
import sys

import pytest
from conftest import ROOT

COMPILE_ALL = ROOT / "scripts" / "toolchains" / "compile_all.py"


@pytest.fixture
def build(tmp_path):
    """A build folder whose compile commands name one good file and one that is not C++."""
    entries = []
    for name, text in (("good", "int good() { return 1; }\n"), ("bad", "int bad( {\n")):
        (tmp_path / f"{name}.cpp").write_text(text)
        entries.append({"directory": str(tmp_path), "file": str(tmp_path / f"{name}.cpp"),
                        "command": f"ccache c++ -O1 -MD -MF {name}.d -o {name}.o -c {name}.cpp"})  # fmt: skip
    (tmp_path / "compile_commands.json").write_text(json.dumps(entries))
    return tmp_path


@pytest.mark.parametrize("step", ["-fsyntax-only", "-S"])
def test_what_is_refused_is_counted_and_shown(build, step):
    done = subprocess.run([sys.executable, COMPILE_ALL, build, "--log", build / "log", step],
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "1 of 2 files compiled\n")
    log = (build / "log").read_text()
    assert log.startswith(str(build / "bad.cpp")) and "error" in log and "good.cpp" not in log
    assert not list(build.glob("*.o")) and not list(build.glob("*.d"))


def test_only_the_language_asked_for_is_compiled(build):
    done = subprocess.run([sys.executable, COMPILE_ALL, build, "--language", "cu", "-S"],
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "0 of 0 files compiled\n")  # nothing compiled is no success


def test_an_unknown_row_is_said():
    done = subprocess.run(["bash", ROOT / "scripts" / "toolchains.sh", "gcc-3"],
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith("no row 'gcc-3'; the rows are: gcc-12 ")
