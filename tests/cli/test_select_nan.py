"""`kselect select --nan` and `kselect prove --nan`: NaN last or first, against numpy."""

import numpy as np
import pytest
from conftest import one_line, records

RNG = np.random.default_rng(35)


def with_nans(q, n):
    """Rows of which some have a few NaNs of both signs, one has many, and one nothing else."""
    rows = RNG.standard_normal((q, n)).astype(np.float32)
    for row, count in zip(rows, [0, 1, 5, n // 2, n - 3, n], strict=False):
        places = RNG.choice(n, count, replace=False)
        rows_nan = np.full(count, np.nan, np.float32)
        row[places] = np.where(RNG.random(count) < 0.5, rows_nan, np.copysign(rows_nan, np.float32(-1)))
    return rows


def expected(row, k, largest, place):
    """The stable order of a row's indices."""
    key = -row if largest else row
    key = np.where(np.isnan(row), np.inf if place == "last" else -np.inf, key)
    numbers_first = np.isnan(row) if place == "last" else ~np.isnan(row)
    return np.lexsort((np.arange(row.size), key, numbers_first))[:k]


@pytest.mark.parametrize("executor", ["cpu", "fiber"])
@pytest.mark.parametrize("place", ["last", "first"])
@pytest.mark.parametrize("largest", [False, True])
def test_the_stable_answer_is_numpys(kselect, tmp_path, executor, place, largest):
    rows, k = with_nans(7, 90), 12
    np.save(tmp_path / "rows.npy", rows)
    base = ["select", "rows.npy", "--k", k, "--executor", executor, "--nan", place] + ["--largest"] * largest
    kselect(*base, "--stable", "--values", "v.npy", "--indices", "i.npy")
    values, indices = np.load(tmp_path / "v.npy"), np.load(tmp_path / "i.npy")
    for row, value, index in zip(rows, values, indices, strict=True):
        np.testing.assert_array_equal(index, expected(row, k, largest, place))
        np.testing.assert_array_equal(value.view(np.int32), row[index].view(np.int32))
    kselect(*base, "--values", "v.npy", "--indices", "i.npy")
    for row, index in zip(rows, np.load(tmp_path / "i.npy"), strict=True):
        wanted = row[expected(row, k, largest, place)]
        np.testing.assert_array_equal(np.sort(row[index]), np.sort(wanted))


def test_prove_holds_an_answer_to_the_place_of_nan(kselect, tmp_path):
    rows = np.array([[3, np.nan, 1, -np.nan, 2]], np.float32)
    np.save(tmp_path / "rows.npy", rows)
    order = {"last": [2, 4], "first": [1, 3]}
    for place, best in order.items():
        np.save(tmp_path / "i.npy", np.array([best]))
        np.save(tmp_path / "v.npy", rows[:, best])
        for asked in order:
            done = kselect("prove", "rows.npy", "v.npy", "i.npy", "--nan", asked, check=0 if asked == place else 7)
            assert asked == place or "1 of 1 row wrong" in one_line(done.stderr)
    np.save(tmp_path / "v.npy", -rows[:, [1, 3]])  # the sign of NaN is not the element's
    done = kselect("prove", "rows.npy", "v.npy", "i.npy", "--nan", "first", check=7)
    assert "value_bits" in one_line(done.stderr)


def test_an_entry_of_the_total_order_alone_says_so(kselect, tmp_path):
    np.save(tmp_path / "rows.npy", with_nans(2, 20))
    done = kselect("select", "rows.npy", "--k", 3, "--algorithm", "cpu/sort", "--nan", "last", check=None)
    assert done.returncode != 0
    assert "NaN last is not supported" in one_line(done.stderr)
    done = kselect("select", "rows.npy", "--k", 3, "--nan", "middle", check=2)
    assert "--nan" in done.stderr


def test_nan_is_an_axis(kselect, config, tmp_path):
    axes = {"n": 500, "q": 8, "k": 16, "nan": ["total_order", "last", "first"], "lengths": ["equal", "uniform"],
            "distribution": "nan_fraction(0.1)"}  # fmt: skip
    done = kselect("run", config(axes=axes, algorithms=["auto", "auto+stable"]), "--executor", "cpu", "--out", "o")
    assert "12 cells run, 12 ok" in done.stdout
    found = records(tmp_path / "o")
    assert [record["problem"].get("nan") for record in found].count("last") == 4
    assert len({record["key"] for record in found}) == 12
