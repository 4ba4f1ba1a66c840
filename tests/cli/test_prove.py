"""`kselect generate rows` and `kselect prove`: for programs that are not ours."""


import numpy as np
import pytest
from conftest import one_line

PROBLEM = {"n": 300, "q": 7, "seed": 5}


def rows_of(kselect, tmp_path, name="rows.npy", **options):
    given = PROBLEM | options
    kselect("generate", "rows", *(part for key, value in given.items() for part in (f"--{key}", value)),
            "--output", name)
    return np.load(tmp_path / name)


def answer(rows, k=6):
    order = np.argsort(rows, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(rows, order, 1), order


def save(tmp_path, values, indices):
    np.save(tmp_path / "v.npy", values)
    np.save(tmp_path / "i.npy", indices)
    return ["--values", "v.npy", "--indices", "i.npy"]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_rows_depend_on_their_numbers_alone(kselect, tmp_path, dtype):
    whole = rows_of(kselect, tmp_path, dtype=dtype)
    assert whole.shape == (7, 300) and whole.dtype == dtype
    part = rows_of(kselect, tmp_path, dtype=dtype, q=2, first=3)
    assert (part == whole[3:5]).all()
    assert (rows_of(kselect, tmp_path, dtype=dtype, seed=6) != whole).any()


def test_rows_are_those_of_a_sweep(kselect, tmp_path):
    """`select` on them finds what the sweep's cell, proven on its own rows, must find."""
    rows = rows_of(kselect, tmp_path, n=4, q=2, seed=42)
    assert rows.min() >= 0 and rows.max() < 1
    few = rows_of(kselect, tmp_path, distribution="few_distinct(3)")
    assert len(np.unique(few)) <= 3
    ties = rows_of(kselect, tmp_path, k=10, distribution="kth_ties(4)")
    assert (np.sort(ties, axis=1)[:, 5:14] == np.sort(ties, axis=1)[:, 9:10]).sum() >= 7 * 5


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_a_right_answer_is_proven(kselect, tmp_path, index):
    rows = rows_of(kselect, tmp_path)
    values, indices = answer(rows)
    files = save(tmp_path, values, indices.astype(index))
    for order in ([], ["--sorted"], ["--stable"], ["--k", 6]):
        assert "proven" in kselect("prove", "--rows", "rows.npy", *files, *order).stdout
    kselect("prove", "--rows", "rows.npy", "--values", "v.npy")
    largest = answer(-rows)
    files = save(tmp_path, -largest[0], largest[1])
    kselect("prove", "--rows", "rows.npy", *files, "--largest")


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int32, np.int8, "bfloat16"])
def test_answers_of_every_type_are_proven(kselect, tmp_path, dtype):
    numbers = np.random.default_rng(3).integers(-9, 9, (5, 40)).astype(np.float32)
    bits = dtype == "bfloat16"
    order = np.argsort(numbers, axis=1, kind="stable")[:, :6]

    def saved(array):
        return (array.view(np.uint32) >> 16).astype(np.uint16).view(np.int16) if bits else array.astype(dtype)

    np.save(tmp_path / "rows.npy", saved(numbers))
    values = saved(np.take_along_axis(numbers, order, axis=1).copy())
    flags = ["--stable", *(["--bfloat16"] if bits else [])]
    kselect("prove", "--rows", "rows.npy", *save(tmp_path, values, order), *flags)
    values[4, 5] = values[4, 0]
    done = kselect("prove", "--rows", "rows.npy", *save(tmp_path, values, order), *flags, check=7)
    assert "1 of 5 rows wrong; value_bits: row 4, position 5: " in one_line(done.stderr)
    if bits:
        assert "--bfloat16" in kselect("prove", "--rows", "rows.npy", *save(tmp_path, values, order), check=3).stderr


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda v, i, rows: (v[2].__setitem__(0, 0.5), None), "value_bits"),
        (lambda v, i, rows: (i[2].__setitem__(0, i[2, 1]), v[2].__setitem__(0, v[2, 1])), "index_distinct"),
        (lambda v, i, rows: (i[2].__setitem__(0, 300), None), "index_range"),
        (lambda v, i, rows: (i[2].__setitem__(0, rows[2].argmax()), v[2].__setitem__(0, rows[2].max())), "count"),
    ],
)
def test_a_wrong_answer_is_exit_code_7(kselect, tmp_path, spoil, reason):
    rows = rows_of(kselect, tmp_path)
    values, indices = answer(rows)
    spoil(values, indices, rows)
    done = kselect("prove", "--rows", "rows.npy", *save(tmp_path, values, indices), check=7)
    assert f"1 of 7 rows wrong; {reason}: row 2, position " in one_line(done.stderr)


def test_an_order_that_was_promised_is_checked(kselect, tmp_path):
    rows = rows_of(kselect, tmp_path)
    values, indices = answer(rows)
    files = save(tmp_path, np.ascontiguousarray(values[:, ::-1]), np.ascontiguousarray(indices[:, ::-1]))
    kselect("prove", "--rows", "rows.npy", *files)
    assert "ordering" in kselect("prove", "--rows", "rows.npy", *files, "--sorted", check=7).stderr


def test_files_that_do_not_fit_are_named(kselect, tmp_path):
    values, indices = answer(rows_of(kselect, tmp_path))
    for bad, reason in [
        ((values[:3], indices[:3]), "v.npy: is 3 x 6"),
        ((values, indices[:, :5]), "i.npy: is 7 x 5"),
        ((values.astype(np.float64), indices), "v.npy: holds float64, but the rows' values are float32; name an"),
        ((values, indices.astype(np.int16)), "i.npy: holds int16, but indices are int32 or int64"),
        ((values, indices[None]), "i.npy: has 3 dimensions, but a matrix (Q x n), or one row (n), is needed"),
    ]:
        done = kselect("prove", "--rows", "rows.npy", *save(tmp_path, *bad), check=3)
        assert reason in one_line(done.stderr)
    done = kselect("prove", "--rows", "rows.npy", "--values", "gone.npy", check=3)
    assert "gone.npy" in one_line(done.stderr)


def test_bad_input(kselect, tmp_path):
    kselect("generate", "rows", "--n", 3, "--output", "x.npy", check=2)
    done = kselect("generate", "rows", "--n", 3, "--q", 1, "--distribution", "gaussian", "--output", "x.npy", check=2)
    assert "'gaussian' is none of uniform, normal, " in one_line(done.stderr)
    done = kselect("generate", "rows", "--n", 3, "--q", 1, "--k", 4, "--output", "x.npy", check=2)
    assert "--k 4 is more than --n 3" in one_line(done.stderr)
    assert not (tmp_path / "x.npy").exists()


def ragged_answer(rows, lengths, k):
    """The k smallest of each row's first elements; then -1 at infinity."""
    masked = np.where(np.arange(rows.shape[1]) < lengths[:, None], rows, np.inf).astype(rows.dtype)
    order = np.argsort(masked, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(masked, order, 1), np.where(np.arange(k) < lengths[:, None], order, -1)


def test_answers_of_ragged_rows(kselect, tmp_path):
    rows = rows_of(kselect, tmp_path)
    lengths = np.array([300, 0, 3, 6, 7, 299, 1], np.int32)
    np.save(tmp_path / "l.npy", lengths)
    values, indices = ragged_answer(rows, lengths, 6)
    right = save(tmp_path, values, indices)
    assert "up to 300" in kselect("prove", "rows.npy", *right, "--lengths", "l.npy", "--stable").stdout
    assert "i.npy" in kselect("prove", "rows.npy", "--indices", "i.npy", "--lengths", "l.npy").stdout
    np.save(tmp_path / "offsets.npy", np.cumsum([0, *[300] * 7]))
    np.save(tmp_path / "flat.npy", rows.reshape(-1))
    kselect("prove", "flat.npy", *save(tmp_path, *answer(rows)), "--offsets", "offsets.npy")

    def refused(values, indices, *options):
        done = kselect("prove", "rows.npy", *save(tmp_path, values, indices), *options, check=7)
        return one_line(done.stderr)

    assert "row 1, position 0" in refused(values, indices)  # of equal rows it is none
    assert "fill" in refused(values, np.where(indices == -1, 0, indices), "--lengths", "l.npy")
    assert "fill" in refused(values, indices, "--lengths", "l.npy", "--fill", 9)
    whole = answer(rows)
    assert "wrong" in refused(*whole, "--lengths", "l.npy")
    np.save(tmp_path / "l.npy", lengths[:5])
    done = kselect("prove", "rows.npy", *save(tmp_path, values, indices), "--lengths", "l.npy", check=3)
    assert "l.npy: has 5 numbers, but rows.npy has 7 rows" in one_line(done.stderr)


def test_an_answer_must_be_named(kselect, tmp_path):
    rows_of(kselect, tmp_path)
    done = kselect("prove", "rows.npy", check=2)
    assert "needs VALUES (or --values), INDICES (or --indices) or both" in one_line(done.stderr)
    done = kselect("prove", "rows.npy", *save(tmp_path, *answer(np.load(tmp_path / "rows.npy"))), "--k", 5, check=2)
    assert "v.npy: has 6 columns, but --k is 5" in one_line(done.stderr)


@pytest.mark.parametrize("lengths", ["uniform", "zipf(1)", "two_sizes(0.5)", "equal"])
def test_lengths_are_those_of_a_sweep(kselect, tmp_path, lengths):
    rows_of(kselect, tmp_path, **{"lengths": lengths, "lengths-output": "l.npy"})
    made = np.load(tmp_path / "l.npy")
    assert made.dtype == np.int32 and made.shape == (7,) and made.max() == 300
    kselect("select", "rows.npy", "--k", 9, "--lengths", "l.npy", "--values", "v.npy", "--indices", "i.npy")
    kselect("prove", "rows.npy", "v.npy", "i.npy", "--lengths", "l.npy")


def test_lengths_that_make_no_sense(kselect, tmp_path):
    usual = ["generate", "rows", "--n", 9, "--q", 2, "--output", "rows.npy"]
    for options, why in (
        (["--lengths", "zopf", "--lengths-output", "l.npy"], "'zopf' is not equal, uniform"),
        (["--lengths", "uniform"], "--lengths and --lengths-output go together"),
        (["--lengths-output", "l.npy"], "--lengths and --lengths-output go together"),
        (["--lengths", "uniform", "--lengths-output", "l.npy", "--first", 1], "leave --first out"),
    ):
        assert why in one_line(kselect(*usual, *options, check=2).stderr)
        assert not (tmp_path / "l.npy").exists() and not (tmp_path / "rows.npy").exists()
