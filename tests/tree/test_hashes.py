"""A cell's source hash is of exactly what its entry is built from: an edit invalidates that, and no more."""

import functools
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CMAKE = ROOT / ".venv" / "bin" / "cmake"


def hashes(tree: Path, script: str = "source_hashes") -> dict[str, str]:
    """The hash of every file with entries, by stem; or of every metric, by name."""
    output = tree / "hashes.hpp"
    subprocess.run(
        [CMAKE, f"-DOUTPUT={output}", "-P", tree / "cmake" / f"{script}.cmake"], cwd=tree, check=True
    )
    return dict(re.findall(r'source_hash_(\w+)\[\] = "(\w{16})"', output.read_text()))


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy of the tree that all tests edit; each edit is undone (changed_by)."""
    copy = tmp_path_factory.mktemp("tree")
    for folder in ("include", "kernels", "algorithms", "baselines", "cmake", "runtime", "search"):
        shutil.copytree(ROOT / folder, copy / folder)
    return copy


@functools.cache
def unchanged(tree: Path, script: str) -> dict[str, str]:
    return hashes(tree, script)


def changed_by(tree: Path, file: str, script: str = "source_hashes") -> set[str]:
    before = unchanged(tree, script)
    path = tree / file
    text = path.read_text()
    path.write_text(text + ("\n" if path.suffix == ".json" else "\n// A comment.\n"))
    after = hashes(tree, script)
    path.write_text(text)
    assert before.keys() == after.keys()
    return {stem for stem in before if before[stem] != after[stem]}


COMPOSED = {"auto_select", "ordered_select"}


def test_a_comment_in_a_family_invalidates_it_and_who_uses_it(tree):
    assert changed_by(tree, "algorithms/one_pass_select/cut.hpp") == {
        "one_pass_select", "auto_select", "quickselect"
    }
    assert changed_by(tree, "baselines/garcia_insertion.cu") == {"garcia_insertion"}
    assert changed_by(tree, "algorithms/queues/sorted_run.cuh") <= {
        "heap_queue", "insertion_queue", "merge_queue", "merge_queue_aligned", "auto_select"
    }


def test_an_edit_of_a_member_invalidates_what_is_composed_of_it(tree):
    for file, stem in {
        "baselines/nth_element.cpp": "nth_element",
        "baselines/radix_select.cu": "radix_select",
        "algorithms/one_pass_select/one_pass_select.cpp": "one_pass_select",
        "algorithms/ordered_select/ordered_select.cu": "ordered_select",
    }.items():
        assert changed_by(tree, file) == {stem, "auto_select"}
    # The grid form calls the block form's kernels for ragged rows.
    assert changed_by(tree, "algorithms/buffered_multi_select/buffered_multi_select_block.cu") == COMPOSED | {
        "buffered_multi_select_block", "buffered_multi_select_grid"
    }


def test_kernels_compiled_apart_belong_to_their_file(tree):
    assert changed_by(tree, "algorithms/buffered_multi_select/grid/float64.cu") == COMPOSED | {
        "buffered_multi_select_grid"
    }
    assert changed_by(tree, "baselines/gpu_full_sort/by_radix.cu") == {"gpu_full_sort"}


def test_cost_tables_belong_to_auto_alone(tree):
    assert changed_by(tree, "algorithms/auto_select/nvidia-h200.json") == {"auto_select"}


def test_the_public_vocabulary_belongs_to_all(tree):
    assert changed_by(tree, "include/kselect/algorithm.hpp") == unchanged(tree, "source_hashes").keys()


def test_what_includes_a_shared_kernel_is_invalidated_by_it(tree):
    users = changed_by(tree, "kernels/gpu_rows.cuh")
    assert "truncated_bitonic" in users or "radix_select" in users
    assert not users & {"nth_element", "one_pass_select", "full_sort"}


def test_a_metric_has_the_hash_of_its_space(tree):
    def changed(file):
        return changed_by(tree, file, "metric_hashes")

    assert changed("search/metric/metrics/euclidean.cpp") == {"euclidean"}
    words = {"levenshtein", "levenshtein_table"}
    assert changed("search/metric/metrics/levenshtein.hpp") == words
    assert changed("search/metric/metrics/levenshtein_table.hpp") == {"levenshtein_table"}
    assert changed("search/metric/kernels/walks.cuh") == {"euclidean"} | words
    assert changed("algorithms/heap_reduction/block_heaps.cuh") == {"euclidean"} | words
    assert changed("search/knn/knn.cpp") == {"knn"}
