"""`kselect plot`, `report`, `board` and `history`: which Python runs, what is passed on, what a failure says."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT, one_line

WRITE_ARGUMENTS = """#!/bin/sh
case "$*" in *-c*) exit 0 ;; esac  # it has what is needed
echo "$KSELECT_COMMAND" "$PWD" "$PYTHONPATH"
for word in "$@"; do echo "$word"; done
exit ${CODE:-0}
"""


@pytest.fixture
def run_directory(kselect, config, tmp_path):
    """A run of a few cells."""
    kselect("run", config(), "--out", "mine")
    return tmp_path / "mine"


@pytest.fixture
def moved(binary, tmp_path):
    """A program in a tree of its own, with plots/ and without an environment."""
    tree = tmp_path / "tree"
    (tree / "build").mkdir(parents=True)
    program = tree / "build" / "kselect"
    shutil.copy(binary, program)
    (tree / "plots").symlink_to(ROOT / "plots")
    return program


def call(program, *arguments, cwd, **environment):
    """Runs a program with changes to the environment."""
    return subprocess.run([program, *map(str, arguments)], cwd=cwd, env=os.environ | environment,
                          capture_output=True, text=True, timeout=120, check=False)


def python(path, text=WRITE_ARGUMENTS):
    """Writes an interpreter that says how it was called."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_a_run_is_reported_from_any_folder(kselect, run_directory, tmp_path):
    # The interpreter that runs this test has what is needed.
    done = kselect("report", "mine", env={"KSELECT_PYTHON": sys.executable})
    assert done.stdout == "mine/report.html\n"
    assert "<h1 id=\"answer\">" in (run_directory / "report.html").read_text()


def test_a_run_is_drawn_from_any_folder(kselect, run_directory, tmp_path):
    # A module of the same name where the user is does not get in the way.
    (tmp_path / "plots.py").write_text("raise SystemExit('the wrong module')")
    done = kselect("plot", "mine", "--out", "drawn", "--figure", "winner",
                   env={"KSELECT_PYTHON": sys.executable})
    assert "drawn/index.html" in done.stdout
    assert list((tmp_path / "drawn").glob("winner-*.png"))


def test_failures_of_the_python_side_keep_their_codes(kselect, run_directory):
    environment = {"KSELECT_PYTHON": sys.executable}
    done = kselect("report", "nowhere", check=3, env=environment)
    assert one_line(done.stderr) == "report: nowhere: no such run directory"
    done = kselect("plot", "mine", "--figure", "windy", check=2, env=environment)
    assert "no figure is called 'windy'" in one_line(done.stderr)
    assert one_line(kselect("plot", check=2, env=environment).stderr).endswith("kselect plot --help")


def test_the_tree_s_own_environment_comes_first_then_the_named_one(moved, tmp_path):
    own = python(moved.parent.parent / ".venv" / "bin" / "python")
    other = python(tmp_path / "other", "#!/bin/sh\nexit 9\n")
    where = tmp_path / "elsewhere"
    where.mkdir()
    done = call(moved, "plot", "-x", "b c", "--out=o", "--all", "--figure", "time", cwd=where)
    assert done.returncode == 2  # -x is no option
    done = call(moved, "plot", "--figure", "time", "a", "b c", "--out=-o", "--all", "--baseline", "x",
                cwd=where, KSELECT_PYTHON=str(other), PYTHONPATH="more", CODE="6")
    tree = moved.parent.parent
    assert done.returncode == 6, done.stderr
    assert done.stdout.splitlines() == [
        f"kselect plot {where} {tree}:more", "-P", "-m", "plots.start", "plots", "--out=-o", "--baseline=x",
        "--figure=time", "--all", "--", "a", "b c"]
    # An environment that lacks what is needed is passed over.
    python(own, "#!/bin/sh\nexit 1\n")
    named = python(tmp_path / "named")
    done = call(moved, "report", "a", cwd=where, KSELECT_PYTHON=str(named))
    assert done.stdout.splitlines()[1:] == ["-P", "-m", "plots.start", "plots.report", "--", "a"]
    # An interrupt of Python is ours.
    python(own, "#!/bin/sh\ncase \"$*\" in *-c*) exit 0 ;; esac\nkill -INT $$\n")
    assert call(moved, "plot", "a", cwd=where).returncode == -2


def test_an_installed_program_runs_what_was_installed(moved, tmp_path):
    # Even where the prefix lies in a source tree.
    prefix = moved.parent.parent / "prefix"
    (prefix / "bin").mkdir(parents=True)
    (prefix / "share" / "kselect").mkdir(parents=True)
    (prefix / "share" / "kselect" / "plots").symlink_to(ROOT / "plots")
    installed = prefix / "bin" / "kselect"
    shutil.copy(moved, installed)
    named = python(tmp_path / "named")
    done = call(installed, "report", "a", cwd=tmp_path, KSELECT_PYTHON=str(named), PYTHONPATH="")
    assert done.stdout.splitlines()[0] == f"kselect report {tmp_path} {prefix}/share/kselect"


def test_without_a_python_that_suits_the_command_that_installs_it_is_said(moved, tmp_path):
    bare = python(tmp_path / "bin" / "python3", "#!/bin/sh\nexit 1\n").parent
    done = call(moved, "plot", "a", cwd=tmp_path, PATH=str(bare))
    assert done.returncode == 4
    tree = moved.parent.parent
    command = f"python3 -m venv {tree}/.venv && {tree}/.venv/bin/pip install -r {tree}/plots/requirements.txt"
    assert command in one_line(done.stderr)
    assert "matplotlib" in one_line(done.stderr)


def test_a_program_far_from_its_tree_says_where_it_looked(binary, tmp_path):
    alone = tmp_path / "alone"
    shutil.copy(binary, alone)
    done = call(alone, "plot", "--list", cwd=tmp_path, KSELECT_PYTHON=sys.executable)
    # The tree that it was built from is still there, as it is where tests run.
    assert done.returncode == 0, done.stderr
    assert "winner" in done.stdout


def test_a_board_has_the_promises_of_the_program_that_makes_it(kselect, run_directory, tmp_path):
    done = kselect("board", "mine", "--out", "site", env={"KSELECT_PYTHON": sys.executable})
    assert done.stdout == "site/index.html\n"
    assert done.stderr == ""
    text = (tmp_path / "site" / "data" / "board.js").read_text()
    board = json.loads(text.removeprefix("const board = ").removesuffix(";\n"))
    promised = {a["name"]: a["contract"] for a in board["algorithms"]}
    assert promised and all(promised.values())
    done = kselect("board", check=2, env={"KSELECT_PYTHON": sys.executable})
    assert "RUNS" in one_line(done.stderr)


def test_history_judges_runs_and_keeps_its_exit_code(kselect, config, moved, tmp_path):
    environment = {"KSELECT_PYTHON": sys.executable}
    for name in ("h/1", "h/2"):
        kselect("run", config(), "--out", name)
    found = json.loads(kselect("history", "h", "--format", "json", env=environment).stdout)
    assert [(device["runs"], device["changes"]) for device in found] == [(2, [])]
    done = kselect("history", "h/1", check=3, env=environment)
    assert "no cell was measured in two runs" in one_line(done.stderr)
    named = python(tmp_path / "named")
    done = call(moved, "history", "h", "--format", "markdown", "--threshold", "1%", "--alpha=0.1", cwd=tmp_path,
                KSELECT_PYTHON=str(named), CODE="1")
    assert done.returncode == 1
    assert done.stdout.splitlines()[1:] == [
        "-P", "-m", "plots.start", "plots.history", "--alpha=0.1", "--threshold=1%",
        "--format=markdown", "--", "h"]


@pytest.mark.parametrize("command", ["plot", "report", "board", "history"])
def test_both_sides_have_the_same_options(kselect, command):
    module = "plots" if command == "plot" else f"plots.{command}"
    text = subprocess.run([sys.executable, "-m", module, "--help"], cwd=ROOT, check=True,
                          capture_output=True, text=True).stdout
    ours = kselect(command, "--help").stdout
    options = [set(re.findall(r"(?<!\S)(--[a-z]+)", told.split("Exit codes")[0])) for told in (text, ours)]
    assert options[0] - {"--help"} == options[1] - {"--help"}
