"""The program that the package brings, and the figures. Skipped in a build of the library alone."""

import json
import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

import kselect
from kselect import _launch

pytestmark = pytest.mark.skipif(
    not (_launch.SHARE / "configs").exists(), reason="the package was built without the program"
)


def is_installed():
    try:
        distribution("kselect")
    except PackageNotFoundError:
        return False
    return True


def run(*words, cwd=None, **variables):
    environment = {name: value for name, value in os.environ.items() if name != "KSELECT_PYTHON"}
    return subprocess.run(
        [sys.executable, *words], cwd=cwd, env=environment | variables, capture_output=True, text=True, check=False
    )


def test_the_command_becomes_the_program(tmp_path):
    listed = run("-m", "kselect", "list", "--json")
    assert listed.returncode == 0, listed.stderr
    assert "auto" in {entry["name"] for entry in json.loads(listed.stdout)}
    wrong = run("-m", "kselect", "run", "no such config", cwd=tmp_path)
    assert wrong.returncode == 3 and "no such config" in wrong.stderr


def test_an_installed_package_has_the_command():
    if not is_installed():
        pytest.skip("the package is not installed")
    folders = Path(sys.executable).parent, Path(kselect.__file__).parents[1] / "bin"  # of pip's --target
    command = next((folder / "kselect" for folder in folders if (folder / "kselect").exists()), None)
    assert command is not None, f"none in {folders}"
    done = subprocess.run([command, "version"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and f"kselect {kselect.__version__}" in done.stdout


def test_stock_configs_are_found_from_any_folder(tmp_path):
    found = run("-m", "kselect", "run", "smoke", "--out", tmp_path / "run", cwd=tmp_path)
    assert found.returncode == 0, found.stderr
    assert (tmp_path / "run" / "runs.jsonl").exists()
    pytest.importorskip("matplotlib")
    figures = tmp_path / "figures"
    drawn = run("-m", "kselect.plots", tmp_path / "run", "--figure", "winner", "--out", figures, cwd=tmp_path)
    assert drawn.returncode == 0, drawn.stderr
    assert (figures / "index.html").exists() and list(figures.glob("winner-*.png"))
    by_program = run("-m", "kselect", "plot", "--list", cwd=tmp_path)
    assert by_program.returncode == 0, by_program.stderr
    assert by_program.stdout == run("-m", "kselect.plots", "--list", cwd=tmp_path).stdout


def test_figures_say_what_they_lack(tmp_path):
    hidden = tmp_path / "hidden"
    (hidden / "matplotlib").mkdir(parents=True)
    (hidden / "matplotlib" / "__init__.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'matplotlib'\", name='matplotlib')\n"
    )
    path = os.pathsep.join([str(hidden), os.environ.get("PYTHONPATH", "")])
    done = run("-m", "kselect.plots", "--list", cwd=tmp_path, PYTHONPATH=path)
    assert done.returncode == 4
    assert done.stderr == "kselect.plots: matplotlib is not installed: pip install 'kselect[plots]'\n"


def test_a_missing_program_is_an_error_with_a_name(tmp_path):
    package = tmp_path / "kselect"
    package.mkdir()
    for file in Path(_launch.__file__).parent.iterdir():
        if file.is_file():
            (package / file.name).symlink_to(file)
    bundled = Path(_launch.__file__).parents[1] / "kselect.libs"  # of a wheel
    if bundled.exists():
        (tmp_path / bundled.name).symlink_to(bundled)
    done = run("-m", "kselect", "list", cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert done.returncode == 4
    assert done.stderr == (
        f"kselect: {package / '_program/bin/kselect'}: No such file or directory; install the package again\n"
    )
