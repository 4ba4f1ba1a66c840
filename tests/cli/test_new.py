"""`kselect new` writes files that compile, are listed and pass the battery as they are.

KSELECT_WRITTEN is kselect with one file of each kind, written and compiled by the build (tests/written).
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT, one_line

ENTRIES = {
    "cpu/fresh_cpu": "cpu",
    "cpu/fresh_cpu+omp": "cpu",
    "fresh-kernel": "fiber",
    "tang/fresh_queue": "fiber",
}


def written(*arguments, timeout=300):
    return subprocess.run(
        [os.environ["KSELECT_WRITTEN"], *arguments], capture_output=True, text=True, check=False, timeout=timeout
    )


@pytest.fixture
def tree(tmp_path):
    """What `kselect new` needs of a source tree."""
    shutil.copytree(ROOT / "cli" / "templates", tmp_path / "tree" / "cli" / "templates")
    (tmp_path / "tree" / "CMakeLists.txt").write_text("")
    shutil.copytree(ROOT / "baselines", tmp_path / "tree" / "baselines")
    return tmp_path / "tree"


def test_written_entries_are_listed():
    names = {line for line in written("list", "--names").stdout.splitlines() if line and not line.startswith(" ")}
    assert set(ENTRIES) <= names


@pytest.mark.parametrize("entry", ["cpu/fresh_cpu", "cpu/fresh_cpu+omp", "fresh-kernel"])
def test_a_written_entry_passes_its_battery(entry):
    done = written("test", entry, "--executor", ENTRIES[entry], "--shared")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 failed" in done.stdout
    if entry == "fresh-kernel":  # it promises no determinism
        assert "DeterministicWhereItPromisesSo     nothing to prove" in done.stdout


@pytest.mark.slow
def test_a_written_queue_passes_its_battery():
    done = written("test", "tang/fresh_queue*", "--executor", "fiber", "--shared", timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_written_metric_is_one():
    assert written("check-metric").returncode == 0


@pytest.mark.parametrize(
    ("kind", "files", "entry"),
    [
        ("cpu", ["baselines/my_own.cpp"], "cpu/my_own"),
        ("kernel", ["algorithms/my_own/my_own.cu"], "my-own"),
        ("queue", ["algorithms/queues/my_own.cuh", "algorithms/queues/my_own.cu"], "tang/my_own"),
        ("metric", ["search/metric/metrics/my_own.hpp"], "my_own"),
    ],
)
def test_the_files_stand_where_the_build_finds_them(kselect, tree, kind, files, entry):
    done = kselect("new", kind, "my_own", "--tree", tree)
    for file in files:
        text = (tree / file).read_text()
        lines = text.splitlines()
        assert len(lines) <= 60
        assert max(map(len, lines)) <= 100
        assert "@" not in text
        assert f"wrote {file} ({len(lines)} lines)" in done.stdout
    assert entry in done.stdout.splitlines()[-1]
    if kind == "metric":
        return
    # The build's own words decide: cmake/families.cmake finds a file by its function and its head.
    script = tree / "find.cmake"
    script.write_text(
        f"""
        cmake_policy(VERSION 3.25)
        set(CMAKE_CURRENT_SOURCE_DIR {tree})
        include({ROOT}/cmake/families.cmake)
        kselect_find_files(files kernels parts data)
        set(KSELECT_ALGORITHMS "{entry}")
        kselect_choose_files(chosen left_out ${{files}})
        message("${{chosen}}")
        """
    )
    found = subprocess.run(
        [ROOT / ".venv" / "bin" / "cmake", "-P", script], cwd=tree, capture_output=True, text=True, check=True
    )
    assert found.stderr.split() == [files[-1]]


def test_a_name_that_is_taken_or_no_name_is_refused(kselect, tree):
    before = sorted(path for path in tree.rglob("*"))
    taken = one_line(kselect("new", "cpu", "nth_element", "--tree", tree, check=2).stderr)
    assert "nth_element is taken by baselines/nth_element.cpp" in taken
    # An entry of the program, whose file this tree lacks.
    assert "is taken by" in one_line(kselect("new", "kernel", "qms_warp", "--tree", tree, check=2).stderr)
    for name in ("Mine", "9lives", "my-select", "a/b", "x" * 41):
        assert "cannot be a name" in one_line(kselect("new", "cpu", name, "--tree", tree, check=2).stderr)
    assert "word of C++" in one_line(kselect("new", "cpu", "for", "--tree", tree, check=2).stderr)
    assert sorted(path for path in tree.rglob("*")) == before


def test_outside_a_tree_it_says_so(kselect, tmp_path):
    assert "not in a source tree" in one_line(kselect("new", "cpu", "mine", check=2).stderr)
    assert "not a source tree" in one_line(kselect("new", "cpu", "mine", "--tree", tmp_path, check=2).stderr)


def test_from_a_folder_within_a_tree(binary, tree):
    folder = tree / "baselines"
    subprocess.run([binary, "new", "cpu", "mine"], cwd=folder, check=True, capture_output=True)
    assert Path(folder / "mine.cpp").exists()
    again = subprocess.run([binary, "new", "cpu", "mine"], cwd=folder, check=False, capture_output=True, text=True)
    assert again.returncode == 2 and "taken by baselines/mine.cpp" in again.stderr
