"""Stock configs are found by name, from any folder and by an installed program."""

import json
import shutil
import subprocess

import pytest
from conftest import SMALL, one_line


@pytest.mark.parametrize("name", ["smoke", "smoke.json", "configs/smoke.json"])
def test_a_name_finds_the_config_of_the_source_tree(kselect, name):
    assert "cells" in kselect("run", name, "--dry-run").stdout


def test_a_misspelt_name_says_what_was_searched(kselect):
    said = one_line(kselect("run", "smokee", check=3).stderr)
    assert "smoke" in said.replace("smokee", "") and "share/kselect/configs" in said
    assert "config.schema" not in one_line(kselect("run", "config", check=3).stderr)


def write(path, **changes):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(SMALL | changes))


def test_a_file_comes_before_a_stock_config(kselect, tmp_path):
    write(tmp_path / "smoke", algorithms=["cpu/sort"])
    assert "4 cells" in kselect("run", "smoke", "--dry-run").stdout
    (tmp_path / "smoke").unlink()
    write(tmp_path / "configs" / "smoke.json")
    assert "8 cells" in kselect("run", "smoke", "--dry-run").stdout


def test_an_installed_program_has_its_own(binary, tmp_path):
    (tmp_path / "bin").mkdir()
    shutil.copy(binary, tmp_path / "bin" / "kselect")
    write(tmp_path / "share" / "kselect" / "configs" / "only_here.json")
    (tmp_path / "elsewhere").mkdir()
    done = subprocess.run([tmp_path / "bin" / "kselect", "run", "only_here", "--dry-run"],
                          cwd=tmp_path / "elsewhere", capture_output=True, text=True, check=True)
    assert "8 cells" in done.stdout


def test_a_path_elsewhere_stays_a_path(kselect):
    assert "nowhere/smoke.json" in one_line(kselect("run", "nowhere/smoke.json", check=3).stderr)
