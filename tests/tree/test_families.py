"""KSELECT_ALGORITHMS: the names that files list at their heads are those of their entries, and a glob
over names builds all that has them."""

import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CMAKE = ROOT / ".venv" / "bin" / "cmake"


def chosen(globs: str, tmp_path) -> tuple[set[str], set[str]]:
    """The files that CMake builds for KSELECT_ALGORITHMS=globs, and their kernels'."""
    script = tmp_path / "choose.cmake"
    script.write_text(
        f"""
        set(CMAKE_CURRENT_SOURCE_DIR {ROOT})
        include({ROOT}/cmake/families.cmake)
        cmake_policy(VERSION 3.25)
        kselect_find_files(files kernels parts data)
        set(KSELECT_ALGORITHMS "{globs}")
        kselect_choose_files(chosen left_out ${{files}})
        kselect_kernels_of(used "${{kernels}}" "${{chosen}}")
        message("chosen=${{chosen}}")
        message("kernels=${{used}}")
        """
    )
    done = subprocess.run([CMAKE, "-P", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = dict(line.split("=", 1) for line in done.stderr.splitlines() if "=" in line)
    return tuple(set(filter(None, found[name].split(";"))) for name in ("chosen", "kernels"))


@pytest.fixture(scope="module")
def entries():
    program = os.environ.get("KSELECT_BINARY")
    if not program:
        pytest.fail("set KSELECT_BINARY to the program, such as $PWD/build/cpu/kselect (HACKING.md)")
    done = subprocess.run([program, "list", "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_heads_name_every_entry(entries):
    """A file whose entries its head leaves out is not built where a glob asks for them."""
    for file in {entry["file"] for entry in entries}:
        lines = (ROOT / file).read_text().splitlines()
        names = [
            name.strip()
            for line in lines
            if line.startswith("// Entries: ")
            for name in line.removeprefix("// Entries: ").rstrip(",").split(",")
        ]
        actual = {entry["name"] for entry in entries if entry["file"] == file}
        for entry in actual:
            assert entry in names or entry.split("+")[0] in names, (
                f"{file}: add `// Entries: {entry.split('+')[0]}` to its head"
            )
        for name in names:
            assert any(entry == name or entry.startswith(name + "+") for entry in actual), (
                f"{file}: its head lists {name}, which no entry is called"
            )


def test_a_glob_builds_what_it_names(tmp_path):
    files, kernels = chosen("qms-*;cpu/nth_element", tmp_path)
    family = "algorithms/quick_multi_select/quick_multi_select"
    assert files == {f"{family}.cu", f"{family}_paper.cu", "baselines/nth_element.cpp"}
    assert kernels == set()


def test_a_variant_builds_its_file_alone(tmp_path):
    files, kernels = chosen("bms-block+t1024", tmp_path)
    assert files == {"algorithms/buffered_multi_select/buffered_multi_select_block.cu"}
    assert {Path(kernel).parent.name for kernel in kernels} == {"block"}


def test_a_form_brings_the_forms_whose_kernels_it_calls(tmp_path):
    files, kernels = chosen("bms-grid", tmp_path)
    assert {Path(file).stem for file in files} == {"buffered_multi_select_grid", "buffered_multi_select_block"}
    assert {Path(kernel).parent.name for kernel in kernels} == {"grid", "block"}


def test_a_stem_serves_as_well(tmp_path):
    files, kernels = chosen("warp_select", tmp_path)
    assert files == {"baselines/warp_select.cu"}
    assert {Path(kernel).stem for kernel in kernels} == {"float32", "float64"}


def test_composed_entries_bring_their_members(tmp_path):
    ordered, _ = chosen("bms-grid+stable", tmp_path)
    assert {"algorithms/ordered_select/ordered_select.cu", "algorithms/buffered_multi_select/buffered_multi_select_grid.cu"} <= ordered
    assert "algorithms/auto_select/auto_select.cpp" not in ordered
    everything, _ = chosen("auto", tmp_path)
    assert {"algorithms/queues/heap_queue.cu", "algorithms/one_pass_select/one_pass_select.cpp"} <= everything
    assert "algorithms/ordered_select/ordered_select.cu" in everything  # auto+sorted calls its steps
    assert "baselines/garcia_insertion.cu" not in everything


def test_everything_is_the_default(entries, tmp_path):
    files, kernels = chosen("*", tmp_path)
    assert files == {entry["file"] for entry in entries}
    on_disk = {str(path.relative_to(ROOT)) for room in ("algorithms", "baselines") for path in ROOT.glob(room + "/**/*.cu")}
    assert kernels == {name for name in on_disk if name not in files}


def test_a_glob_that_names_nothing_is_an_error(tmp_path):
    with pytest.raises(AssertionError, match="no algorithm matches 'qsm-\\*'"):
        chosen("qms-*;qsm-*", tmp_path)
