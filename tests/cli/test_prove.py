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
    assert "row 4, position 5: value_bits" in one_line(done.stderr)
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
    assert "1 of 7 rows wrong; row 2" in one_line(done.stderr) and reason in done.stderr


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
        ((values.astype(np.float64), indices), "v.npy: holds float64, but float32"),
        ((values, indices.astype(np.int16)), "i.npy: holds int16, but int32"),
    ]:
        done = kselect("prove", "--rows", "rows.npy", *save(tmp_path, *bad), check=3)
        assert reason in one_line(done.stderr)
    done = kselect("prove", "--rows", "rows.npy", "--values", "gone.npy", check=3)
    assert "gone.npy" in one_line(done.stderr)


def test_bad_input(kselect, tmp_path):
    kselect("generate", "rows", "--n", 3, "--output", "x.npy", check=2)
    done = kselect("generate", "rows", "--n", 3, "--q", 1, "--distribution", "gaussian", "--output", "x.npy", check=2)
    assert "gaussian" in one_line(done.stderr)
    done = kselect("generate", "rows", "--n", 3, "--q", 1, "--k", 4, "--output", "x.npy", check=2)
    assert "--k 4 is more than --n 3" in one_line(done.stderr)
    assert not (tmp_path / "x.npy").exists()
