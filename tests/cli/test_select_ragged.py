"""`kselect select` on rows of lengths of their own, against numpy; and what may be wrong with their arrays."""

import numpy as np
import pytest
from conftest import one_line

RNG = np.random.default_rng(34)
INFINITY = {True: -np.inf, False: np.inf}


def expected(rows, k, largest):
    """The sorted keys of each answer, filled."""
    answers = []
    for row in rows:
        best = np.sort(row)[::-1] if largest else np.sort(row)
        answers.append(np.concatenate([best[:k], np.full(max(0, k - row.size), INFINITY[largest])]))
    return np.array(answers)


def check(rows, k, largest, fill, values, indices):
    ordered = np.sort(values, axis=1)
    np.testing.assert_array_equal(ordered[:, ::-1] if largest else ordered, expected(rows, k, largest))
    for row, value, index in zip(rows, values, indices, strict=True):
        count = min(k, row.size)
        assert (index[count:] == fill).all()
        np.testing.assert_array_equal(row[index[:count]], value[:count])
        assert len(set(index[:count])) == count


@pytest.mark.parametrize("algorithm, executor", [("auto", "cpu"), ("cpu/sort", "cpu"), ("auto", "fiber"),
                                                 ("bms-block", "fiber")])
@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("dtype, number", [(np.float32, np.int32), (np.float64, np.int64), (np.float16, np.int32)])
def test_agrees_with_numpy(kselect, tmp_path, algorithm, executor, largest, dtype, number):
    q, n, k, fill = 8, 300, 12, -1
    matrix = RNG.standard_normal((q, n)).astype(dtype)
    starts = RNG.integers(0, n, q)
    lengths = np.array([0, 1, k - 1, k, k + 1, 100, n, 5])
    lengths = np.minimum(lengths, n - starts)
    np.save(tmp_path / "rows.npy", matrix)
    np.save(tmp_path / "lengths.npy", lengths.astype(number))
    np.save(tmp_path / "starts.npy", starts.astype(number))
    base = ["select", "--algorithm", algorithm, "--executor", executor, "rows.npy", "--k", k, "--fill", fill]
    base += ["--values", "v.npy", "--indices", "i.npy"] + ["--largest"] * largest
    cases = {
        ("--lengths", "lengths.npy"): [row[:length] for row, length in zip(matrix, lengths, strict=True)],
        ("--starts", "starts.npy"): [row[start:] for row, start in zip(matrix, starts, strict=True)],
        ("--lengths", "lengths.npy", "--starts", "starts.npy"): [
            row[start : start + length] for row, start, length in zip(matrix, starts, lengths, strict=True)],
    }
    for options, rows in cases.items():
        kselect(*base, *options)
        check(rows, k, largest, fill, np.load(tmp_path / "v.npy"), np.load(tmp_path / "i.npy"))


@pytest.mark.parametrize("executor", ["cpu", "fiber"])
def test_selects_from_segments(kselect, tmp_path, executor):
    data = RNG.standard_normal(5000).astype(np.float32)
    offsets = np.array([0, 0, 7, 7, 1500, 4999, 5000])
    np.save(tmp_path / "rows.npy", data)
    np.save(tmp_path / "offsets.npy", offsets)
    kselect("select", "rows.npy", "--executor", executor, "--offsets", "offsets.npy", "--k", 20, "--fill", 5000,
            "--values", "v.npy", "--indices", "i.npy")
    rows = [data[a:b] for a, b in zip(offsets, offsets[1:], strict=False)]
    check(rows, 20, False, 5000, np.load(tmp_path / "v.npy"), np.load(tmp_path / "i.npy"))


@pytest.mark.parametrize("executor", ["cpu", "fiber"])
def test_orders_rows(kselect, tmp_path, executor):
    matrix = np.array([[3, 1, 2, 0], [np.nan, np.inf, -1, 5]], np.float32)
    np.save(tmp_path / "rows.npy", matrix)
    np.save(tmp_path / "lengths.npy", np.array([3, 2]))
    base = ["select", "rows.npy", "--lengths", "lengths.npy", "--k", 4, "--stable", "--indices", "i.npy"]
    kselect(*base, "--executor", executor)
    np.testing.assert_array_equal(np.load(tmp_path / "i.npy"), [[1, 2, 0, -1], [1, 0, -1, -1]])


@pytest.mark.parametrize("executor", ["cpu", "fiber"])
def test_selects_as_many_as_each_row_wants_and_names_them(kselect, tmp_path, executor):
    matrix = RNG.standard_normal((4, 500)).astype(np.float32)
    starts, lengths, wanted = np.array([0, 3, 7, 400]), np.array([500, 400, 2, 100]), np.array([5, 0, 5, 3])
    columns, elements = RNG.permutation(500) + 1000, RNG.permutation(2000).reshape(4, 500) + 5000
    for name, array in {"rows": matrix, "starts": starts, "lengths": lengths, "wanted": wanted,
                        "columns": columns, "elements": elements}.items():
        np.save(tmp_path / f"{name}.npy", array)
    base = ["select", "rows.npy", "--executor", executor, "--k", 5, "--sorted", "--starts", "starts.npy", "--lengths",
            "lengths.npy", "--indices", "i.npy"]
    answers = {}
    for names in (None, "columns", "elements"):
        kselect(*base, "--k-each", "wanted.npy", *(["--map", f"{names}.npy"] if names else []))
        answers[names] = np.load(tmp_path / "i.npy")
    for r in range(4):
        row = matrix[r, starts[r] : starts[r] + lengths[r]]
        best = np.argsort(row, kind="stable")[: wanted[r]]
        for names, named in ((None, best), ("columns", columns[starts[r] + best]),
                             ("elements", elements[r, starts[r] + best])):
            np.testing.assert_array_equal(answers[names][r], np.append(named, [-1] * (5 - len(best))))


@pytest.mark.parametrize("executor", ["cpu", "fiber"])
def test_names_columns_of_equal_rows_and_selects_nothing(kselect, tmp_path, executor):
    np.save(tmp_path / "rows.npy", np.array([[3, 1, 2], [0, 5, 4]], np.float32))
    np.save(tmp_path / "map.npy", np.array([70, 80, 90], np.int32))
    base = ["select", "rows.npy", "--executor", executor, "--stable", "--map", "map.npy", "--indices", "i.npy"]
    kselect(*base, "--k", 2, "--payload", "indices")
    np.testing.assert_array_equal(np.load(tmp_path / "i.npy"), [[80, 90], [70, 90]])
    kselect(*base, "--k", 0)
    assert np.load(tmp_path / "i.npy").shape == (2, 0)
    done = kselect("select", "rows.npy", "--k", 2, "--fill", 7, check=2)
    assert "--fill is for rows of fewer than k elements" in done.stderr
    done = kselect(*base, "--k", 4, check=None)
    assert done.returncode != 0
    assert "--k 4 is more than the 3 columns" in one_line(done.stderr)


@pytest.mark.parametrize("arrays, words", [
    ({"--lengths": np.array([1, 2, 3])}, "lengths.npy: has 3 numbers, but rows.npy has 2 rows"),
    ({"--lengths": np.array([1, 5])}, "row 1 has 5 elements from column 0 on, but rows.npy has 4 columns"),
    ({"--lengths": np.array([-1, 2])}, "row 0 has -1 elements"),
    ({"--starts": np.array([0, 5])}, "starts.npy: row 1 starts at column 5, but rows.npy has 4"),
    ({"--lengths": np.array([1, 4]), "--starts": np.array([0, 1])}, "row 1 has 4 elements from column 1"),
    ({"--lengths": np.array([[1, 2]])}, "has 2 dimensions"),
    ({"--lengths": np.array([1.0, 2.0])}, "takes int32 or int64"),
    ({"--offsets": np.array([0, 2])}, "takes an array of one dimension"),
    ({"--k-each": np.array([1, 2])}, "k-each.npy: row 1 wants 2, but must want 0 to --k 1"),
    ({"--k-each": np.array([1])}, "k-each.npy: has 1 number, but rows.npy has 2 rows"),
    ({"--map": np.array([1, 2])}, "map.npy: has the shape 2, but --map takes one name for each of the 4 columns"),
    ({"--map": np.array([1.0])}, "takes int32 or int64"),
])
def test_names_what_is_wrong(kselect, tmp_path, arrays, words):
    np.save(tmp_path / "rows.npy", np.zeros((2, 4), np.float32))
    options = []
    for option, array in arrays.items():
        np.save(tmp_path / f"{option[2:]}.npy", array)
        options += [option, f"{option[2:]}.npy"]
    done = kselect("select", "rows.npy", "--executor", "cpu", "--k", 1, *options, "--indices", "i.npy", check=None)
    assert done.returncode in (2, 3)
    assert words in one_line(done.stderr)
    assert not (tmp_path / "i.npy").exists()


@pytest.mark.parametrize("offsets, words", [
    ([0, 3, 2], "offset 2 is 2, but must be 3 to 4"), ([0, 9], "offset 1 is 9"), ([-1, 2], "offset 0 is -1"),
])
def test_names_the_wrong_offset(kselect, tmp_path, offsets, words):
    np.save(tmp_path / "rows.npy", np.zeros(4, np.float32))
    np.save(tmp_path / "offsets.npy", np.array(offsets))
    done = kselect("select", "rows.npy", "--executor", "cpu", "--k", 1, "--offsets", "offsets.npy", check=None)
    assert done.returncode != 0
    assert words in one_line(done.stderr)
