"""What `kselect plot` and its like start: a module, whose interruption ends in one line even while it is being read."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def started(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Start a module that may lie in the folder."""
    path = {"PYTHONPATH": f"{ROOT}:{folder}"}
    command = [sys.executable, "-P", "-m", "plots.start", *words]
    return subprocess.run(
        command, env=os.environ | path | environment, capture_output=True, text=True, check=False
    )


def test_a_module_has_its_arguments_and_its_exit_code(tmp_path: Path) -> None:
    (tmp_path / "told.py").write_text("import sys\nprint(__name__, sys.argv[1:])\nsys.exit(5)\n")
    done = started(tmp_path, "told", "--out", "x")
    assert (done.returncode, done.stdout, done.stderr) == (5, "__main__ ['--out', 'x']\n", "")


def test_an_interruption_while_modules_are_read_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    done = started(tmp_path, "slow")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "slow: interrupted\n")
    named = started(tmp_path, "slow", KSELECT_COMMAND="kselect report")
    assert (named.returncode, named.stderr) == (130, "report: interrupted\n")


def test_a_module_must_be_named(tmp_path: Path) -> None:
    assert started(tmp_path).returncode == 2
