"""`kselect select`: the user's own matrix, against numpy; and everything that can be wrong with it."""

import numpy as np
import pytest
from conftest import one_line

RNG = np.random.default_rng(7)


@pytest.mark.parametrize("algorithm", ["cpu/nth_element", "cpu/heap+omp", "cpu/sort"])
@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_agrees_with_numpy(kselect, tmp_path, algorithm, largest, dtype, order):
    rows = RNG.standard_normal((13, 257)).astype(dtype)
    np.save(tmp_path / "rows.npy", np.asarray(rows, order=order))
    arguments = ["select", "--algorithm", algorithm, "--input", "rows.npy", "--k", 9]
    arguments += ["--values", "v.npy", "--indices", "i.npy"] + ["--largest"] * largest
    kselect(*arguments)
    values, indices = np.load(tmp_path / "v.npy"), np.load(tmp_path / "i.npy")
    assert values.dtype == dtype and indices.dtype == np.int64
    assert values.shape == indices.shape == (13, 9)
    np.testing.assert_array_equal(np.take_along_axis(rows, indices, axis=1), values)
    ranked = np.sort(rows, axis=1)
    expected = ranked[:, ::-1][:, :9] if largest else ranked[:, :9]
    got = np.sort(values, axis=1)[:, ::-1] if largest else np.sort(values, axis=1)
    np.testing.assert_array_equal(got, expected)


def keys_of(bits, dtype):
    """Integers in the order of the elements that have these bits."""
    if dtype.startswith("float8"):
        numbers = bits.view(np.int8).astype(np.int32)
        return np.where(numbers < 0, -128 - numbers - 1, numbers)
    return bits.astype(np.int64)


@pytest.mark.parametrize("algorithm, executor", [("auto", "cpu"), ("cpu/heap", "cpu"), ("auto+stable", "cpu"),
                                                 ("auto", "fiber"), ("bms-grid", "fiber"), ("bms-warp+stable", "fiber")])
@pytest.mark.parametrize("dtype", ["int32", "uint32", "int8", "uint8", "float8_e4m3fn", "float8_e5m2"])
def test_selects_integers_and_8_bit_floats(kselect, tmp_path, algorithm, executor, dtype):
    held = np.dtype("uint8" if dtype.startswith("float8") else dtype)
    rows = np.frombuffer(RNG.bytes(3 * 500 * held.itemsize), held).reshape(3, 500)
    np.save(tmp_path / "rows.npy", rows)
    named = ["--dtype", dtype] if dtype.startswith("float8") else []
    for largest in [], ["--largest"]:
        kselect("select", "--algorithm", algorithm, "--executor", executor, "rows.npy", "--k", 11, *named, *largest,
                "--values", "v.npy", "--indices", "i.npy")
        values, indices = np.load(tmp_path / "v.npy"), np.load(tmp_path / "i.npy")
        assert values.dtype == held
        np.testing.assert_array_equal(np.take_along_axis(rows, indices, axis=1), values)
        keys = np.sort(keys_of(rows, dtype), axis=1)
        expected = keys[:, -11:] if largest else keys[:, :11]
        np.testing.assert_array_equal(np.sort(keys_of(values, dtype), axis=1), expected)
    assert "row 0" in kselect("select", "--executor", "cpu", "rows.npy", "--k", 2, *named).stdout
    proved = kselect("prove", "rows.npy", "v.npy", "i.npy", "--largest", *named)
    assert "proven" in proved.stdout


@pytest.mark.parametrize("held, named, said", [
    ("float32", "bfloat16", "holds float32, but rows of bfloat16 are saved as integers of 16 bits"),
    ("int32", "float8_e5m2", "holds int32, but rows of float8_e5m2 are saved as integers of 8 bits"),
    ("int32", "float32", "holds int32, not float32; leave --dtype out"),
])
def test_a_named_type_fits_the_file(kselect, tmp_path, held, named, said):
    np.save(tmp_path / "rows.npy", np.ones((2, 9), held))
    assert said in one_line(kselect("select", "rows.npy", "--k", 2, "--dtype", named, check=3).stderr)
    wrong = kselect("select", "rows.npy", "--k", 2, "--dtype", "int7", check=2)
    assert "--dtype 'int7' is no type of rows; there are float32" in one_line(wrong.stderr)


@pytest.mark.parametrize("algorithm, executor", [("auto", "cpu"), ("one-pass+omp", "cpu"), ("cpu/sort", "cpu"),
                                                 ("cpu/quickselect", "cpu"), ("auto+sorted", "cpu"),
                                                 ("auto", "fiber"), ("radix-select", "fiber")])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_selects_indices_alone(kselect, tmp_path, algorithm, executor, dtype):
    rows = RNG.standard_normal((3, 400)).astype(dtype)
    np.save(tmp_path / "rows.npy", rows)
    base = ["select", "--algorithm", algorithm, "--executor", executor, "rows.npy", "--k", 9]
    kselect(*base, "--payload", "indices", "--indices", "i.npy")
    indices = np.load(tmp_path / "i.npy")
    assert indices.dtype == np.int64
    np.testing.assert_array_equal(np.sort(indices), np.sort(np.argsort(rows)[:, :9]))


def test_shows_and_writes_what_the_payload_has(kselect, tmp_path):
    np.save(tmp_path / "rows.npy", np.array([[3, 1, 2]], np.float32))
    base = ["select", "--executor", "cpu", "--algorithm", "cpu/sort", "rows.npy", "--k", 2, "--payload"]
    assert "row 0  [1]  [2]\n1 x 2 [indices]; --indices FILE" in kselect(*base, "indices").stdout
    assert "row 0  1  2\n1 x 2 values; --values FILE" in kselect(*base, "values").stdout
    for payload, output in (("indices", "--values"), ("values", "--indices")):
        done = kselect(*base, payload, output, "x.npy", check=2)
        assert f"{output} has no part in --payload {payload}" in one_line(done.stderr)
        assert not (tmp_path / "x.npy").exists()
    assert "kth is not values_and_indices" in one_line(kselect(*base, "kth", check=2).stderr)


@pytest.mark.parametrize("algorithm", ["auto", "one-pass", "cpu/sort"])
@pytest.mark.parametrize("largest", [False, True])
def test_orders_the_answer_when_asked(kselect, tmp_path, algorithm, largest):
    rows = RNG.integers(0, 20, (7, 300)).astype(np.float32)
    np.save(tmp_path / "rows.npy", rows)
    base = ["select", "--algorithm", algorithm, "--input", "rows.npy", "--k", 40]
    base += ["--values", "v.npy", "--indices", "i.npy", "--executor", "cpu"]
    base += ["--largest"] * largest
    if algorithm == "one-pass":
        done = kselect(*base, "--sorted", check=2)
        assert "one-pass does not promise" in one_line(done.stderr)
        return
    kselect(*base, "--sorted")
    ranked = np.argsort(-rows if largest else rows, axis=1, kind="stable")[:, :40]
    np.testing.assert_array_equal(np.load(tmp_path / "v.npy"),
                                  np.take_along_axis(rows, ranked, axis=1))
    done = kselect(*base, "--stable")
    np.testing.assert_array_equal(np.load(tmp_path / "i.npy"), ranked)
    assert done.stdout.startswith("auto+" if algorithm == "auto" else "cpu/sort:")


def test_orders_by_kernels_too(kselect, tmp_path):
    rows = RNG.integers(0, 9, (2, 500)).astype(np.float64)
    np.save(tmp_path / "rows.npy", rows)
    done = kselect("select", "--algorithm", "bms-block", "--executor", "fiber", "--stable",
                   "--input", "rows.npy", "--k", 70, "--indices", "i.npy")
    assert done.stdout.startswith("bms-block+stable:")
    ranked = np.argsort(rows, axis=1, kind="stable")[:, :70]
    np.testing.assert_array_equal(np.load(tmp_path / "i.npy"), ranked)


def test_nan_is_the_largest(kselect, tmp_path):
    rows = np.array([[np.nan, 1, np.inf, -np.inf, 0.0, -0.0]], np.float32)
    np.save(tmp_path / "rows.npy", rows)
    kselect("select", "--algorithm", "cpu/sort", "--input", "rows.npy", "--k", 6,
            "--indices", "i.npy")
    assert np.load(tmp_path / "i.npy").tolist() == [[3, 5, 4, 1, 2, 0]]


@pytest.mark.parametrize(("shape", "k"), [((0, 10), 3), ((0, 0), 0), ((4, 0), 0)])
def test_no_rows_or_k_of_0_is_an_empty_success(kselect, tmp_path, shape, k):
    np.save(tmp_path / "rows.npy", np.zeros(shape, np.float32))
    kselect("select", "--algorithm", "cpu/sort", "--input", "rows.npy", "--k", k,
            "--values", "v.npy", "--indices", "i.npy")
    assert np.load(tmp_path / "v.npy").shape == (shape[0], k)


def test_rows_without_columns_have_no_k_smallest(kselect, tmp_path):
    np.save(tmp_path / "rows.npy", np.zeros((4, 0), np.float32))
    np.save(tmp_path / "lengths.npy", np.zeros(4, np.int32))
    done = kselect("select", "rows.npy", "--k", 3, "--values", "v.npy", check=2)
    assert "--k 3 is more than the 0 columns of rows.npy" in one_line(done.stderr)
    done = kselect("select", "rows.npy", "--k", 3, "--lengths", "lengths.npy", "--values", "v.npy", check=3)
    assert "rows.npy: its rows have no columns" in one_line(done.stderr)
    assert not (tmp_path / "v.npy").exists()


def save_bad_inputs(folder):
    """name -> what the one-line error must say."""
    good = np.ones((4, 8), np.float32)
    np.save(folder / "good.npy", good)
    np.save(folder / "cube.npy", good.reshape(2, 2, 8))
    np.save(folder / "scalar.npy", np.float32(1))
    np.save(folder / "ints.npy", good.astype(np.int64))
    whole = (folder / "good.npy").read_bytes()
    (folder / "torn.npy").write_bytes(whole[:-5])
    (folder / "empty.npy").write_bytes(b"")
    (folder / "text.npy").write_text("1,2,3\n")
    np.save(folder / "big_endian.npy", good.astype(">f4"))
    np.save(folder / "bfloat16.npy", good.astype(np.float16).view("V2"))  # as ml_dtypes' is saved
    return {
        "missing.npy": "missing.npy",
        "cube.npy": "has 3 dimensions, but rows are a matrix (Q x n), or one row (n); reshape it",
        "scalar.npy": "has 0 dimensions",
        "ints.npy": "holds int64, but rows must be float32, float64, float16, int32, uint32, int8 or uint8",
        "torn.npy": "truncated",
        "empty.npy": "empty.npy",
        "text.npy": "text.npy",
        "big_endian.npy": "big-endian",
        "bfloat16.npy": "NumPy has no bfloat16",
    }


def test_bad_inputs_are_named_and_leave_nothing_behind(kselect, tmp_path):
    for name, said in save_bad_inputs(tmp_path).items():
        done = kselect("select", "--algorithm", "cpu/sort", "--input", name, "--k", 2,
                       "--values", "v.npy", check=3)
        message = one_line(done.stderr)
        assert message.startswith("kselect: ") and name in message and said in message
        assert not (tmp_path / "v.npy").exists()


def test_wrong_usage(kselect, tmp_path):
    np.save(tmp_path / "rows.npy", np.ones((4, 8), np.float32))
    base = ["select", "--input", "rows.npy"]
    done = kselect(*base, "--algorithm", "cpu/srot", "--k", 2, check=2)
    assert "cpu/sort" in one_line(done.stderr)
    done = kselect(*base, "--algorithm", "cpu/sort", "--k", 9, check=2)
    assert "--k 9 is more than the 8 columns" in one_line(done.stderr)
    kselect(*base, "--algorithm", "cpu/sort", "--k", -1, check=2)
    kselect(*base, "--algorithm", "cpu/sort", check=2)
    kselect(*base, "--algorithm", "cpu/sort", "--k", 2, "--executor", "tpu", check=2)
    done = kselect(*base, "--algorithm", "cpu/sort", "--k", 2, "--executor", "fiber", check=4)
    assert "does not run on executor fiber, but on cpu; name that, or" in one_line(done.stderr)


def test_a_link_stays_and_the_file_that_it_names_is_written(kselect, tmp_path):
    np.save(tmp_path / "rows.npy", np.arange(32, dtype=np.float32).reshape(4, 8))
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "old.npy").write_bytes(b"before")
    (tmp_path / "v.npy").symlink_to("far/old.npy")
    (tmp_path / "i.npy").symlink_to(tmp_path / "far" / "new.npy")
    (tmp_path / "lost.npy").symlink_to("no/where.npy")
    (tmp_path / "again.npy").symlink_to("rows.npy")
    select = ["select", "rows.npy", "--algorithm", "cpu/sort", "--k", 2]
    kselect(*select, "--values", "v.npy", "--indices", "i.npy")
    assert (tmp_path / "v.npy").is_symlink() and (tmp_path / "i.npy").is_symlink()
    assert np.load(tmp_path / "far" / "old.npy").tolist() == np.load(tmp_path / "rows.npy")[:, :2].tolist()
    assert np.load(tmp_path / "far" / "new.npy").tolist() == [[0, 1]] * 4
    assert "lost.npy: there is no folder no" in one_line(kselect(*select, "--values", "lost.npy", check=6).stderr)
    assert "are the same file" in one_line(kselect(*select, "--values", "again.npy", check=2).stderr)
    assert sorted(path.name for path in (tmp_path / "far").iterdir()) == ["new.npy", "old.npy"]


def test_unwritable_output(kselect, tmp_path):
    np.save(tmp_path / "rows.npy", np.ones((4, 8), np.float32))
    done = kselect("select", "--algorithm", "cpu/sort", "--input", "rows.npy", "--k", 2,
                   "--values", "no/such/folder/v.npy", check=6)
    assert "no/such/folder" in one_line(done.stderr)
