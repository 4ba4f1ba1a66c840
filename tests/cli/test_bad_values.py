"""Values that the command line's parser takes, and that no option can mean; answers of no size."""

import json

import numpy as np
import pytest
from conftest import one_line, records


@pytest.fixture
def rows(tmp_path):
    found = np.random.default_rng(1).random((3, 9), np.float32)
    np.save(tmp_path / "rows.npy", found)
    np.save(tmp_path / "lengths.npy", np.array([9, 0, 2]))
    return found


@pytest.mark.parametrize("arguments, option", [
    (["select", "rows.npy", "--k", 2, "--lengths", ""], "--lengths"),
    (["select", "rows.npy", "--k", 2, "--mask", ""], "--mask"),
    (["select", "rows.npy", "--k", 2, "--lengths", "lengths.npy", "--fill", ""], "--fill"),
    (["select", "", "--k", 2], "--input"),
    (["prove", "rows.npy", "rows.npy", "--k-each", ""], "--k-each"),
    (["knn", "rows.npy", "--self", "--k", 1, "--filter", ""], "--filter"),
    (["knn", "prepare", "rows.npy", "--output", ""], "--output"),
    (["run", ""], "CONFIG"),
])
def test_an_empty_value_is_no_value(kselect, rows, arguments, option):
    """As of a shell's variable that is not set: it would leave out what was asked for."""
    said = one_line(kselect(*arguments, check=2).stderr)
    assert f"kselect: {option} is empty; give a value, or leave the option out; see `kselect help" in said


@pytest.mark.parametrize("arguments, why", [
    (["select", "rows.npy", "--k", 2, "--lengths", "lengths.npy", "--fill", 10**19], "--fill: 10000000000000000000 does"),
    (["select", "rows.npy", "--k", 2, "--lengths", "lengths.npy", "--fill", -10**19], "--fill: -10000000000000000000"),
    (["generate", "rows", "--n", 3, "--q", 1, "--output", "x.npy", "--seed", 10**20], "does not fit 64 bits"),
    (["knn", "rows.npy", "--self", "--k", 1, "--indices", "i.npy", "--distances", "d.npy", "--ranks", 2, "--wait-limit",
      "nan"], "--wait-limit: nan is no number"),
])
def test_numbers_that_do_not_fit(kselect, rows, tmp_path, arguments, why):
    assert why in one_line(kselect(*arguments, check=2).stderr)
    assert not (tmp_path / "x.npy").exists() and not (tmp_path / "i.npy").exists()


@pytest.mark.parametrize("option", [["--lengths", "all.npy"], ["--k-each", "all.npy"]])
def test_an_answer_beyond_memory_is_refused(kselect, tmp_path, option):
    """2^22 * 2^40 * 4 bytes are 0 in 64 bits."""
    np.save(tmp_path / "rows.npy", np.zeros((1 << 22, 1), np.int8))
    np.save(tmp_path / "all.npy", np.zeros(1 << 22, np.int32))
    done = kselect("select", "rows.npy", "--k", 1 << 40, *option, "--payload", "values", check=5)
    assert "--k 1099511627776: the answer of 4194304 rows needs" in one_line(done.stderr)


def test_maps_of_other_shapes(kselect, rows, tmp_path):
    for bad, why in ((np.array(3), "has no dimension, but --map takes one name for each of the 9 columns"),
                     (np.asfortranarray(np.arange(27).reshape(3, 9)), "is in Fortran order; convert it"),
                     (np.arange(9, dtype=np.uint64), "indices, lengths and names as int64")):
        np.save(tmp_path / "map.npy", bad)
        assert why in one_line(kselect("select", "rows.npy", "--k", 2, "--map", "map.npy", check=3).stderr)


def test_the_block_that_ceilings_are_measured_on(kselect, config, tmp_path):
    small = config(axes={"n": 256, "q": 1, "k": 4}, algorithms=["cpu/heap"])
    for wrong in ("0", "257", "small"):
        said = kselect("run", small, "--out", "none", env={"KSELECT_TEST_CEILING_MIB": wrong}, check=2).stderr
        assert f"KSELECT_TEST_CEILING_MIB={wrong}: give a number of MiB from 1 to 256, or unset it" in said
    for block in ("2", ""):
        kselect("run", small, "--out", f"o{block}", env={"KSELECT_TEST_CEILING_MIB": block})
        assert json.loads((tmp_path / f"o{block}" / "meta.json").read_text()).get("ceiling_block_mib", "") == block
        assert len(records(tmp_path / f"o{block}")) == 1
