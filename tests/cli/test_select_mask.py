"""`kselect select` and `prove` under a mask, against numpy; and what may be wrong with the mask's file."""

import numpy as np
import pytest
from conftest import one_line

RNG = np.random.default_rng(45)
EXECUTORS = ["cpu", "fiber"]


def mask_of(*shape):
    """Parts that admit nothing, everything and half of the elements; the first of several rows admits nothing."""
    mask = RNG.random(shape) < np.repeat(RNG.choice([0.0, 0.5, 1.0], -(-shape[-1] // 50)), 50)[: shape[-1]]
    if len(shape) == 2:
        mask[0] = False
    return mask


def save(tmp_path, mask, packed, name="mask.npy"):
    np.save(tmp_path / name, np.packbits(mask, axis=-1, bitorder="little") if packed else mask)


def expected(rows, admitted, wanted, k, fill=-1, largest=False):
    """The stable answer of each row, whose admitted elements are marked: values and indices."""
    of_row = []
    for row, mask, count in zip(rows, admitted, wanted, strict=True):
        places = np.flatnonzero(mask)
        best = places[np.argsort(-row[places] if largest else row[places], kind="stable")][:count]
        lacking = k - len(best)
        of_row.append((np.append(row[best], [-np.inf if largest else np.inf] * lacking), [*best, *[fill] * lacking]))
    values, indices = zip(*of_row, strict=True)
    return np.array(values), np.array(indices)


def select(kselect, tmp_path, *options):
    kselect("select", "rows.npy", "--stable", "--mask", "mask.npy", "--values", "v.npy", "--indices", "i.npy", *options)
    return np.load(tmp_path / "v.npy"), np.load(tmp_path / "i.npy")


def same(found, wanted):
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_agrees_with_numpy(kselect, tmp_path, executor, packed, dtype):
    q, n, k = 5, 301, 40
    rows = RNG.standard_normal((q, n)).astype(dtype)
    np.save(tmp_path / "rows.npy", rows)
    for mask in (mask_of(n), mask_of(q, n), np.zeros(n, bool), np.ones((q, n), bool)):
        save(tmp_path, mask, packed)
        largest = mask.ndim == 2
        found = select(kselect, tmp_path, "--executor", executor, "--k", k, "--fill", 7, *["--largest"] * largest)
        same(found, expected(rows, np.broadcast_to(mask, (q, n)), [k] * q, k, 7, largest))
        prove = ["prove", "rows.npy", "v.npy", "i.npy", "--stable", "--mask", "mask.npy", *["--largest"] * largest]
        kselect(*prove, "--fill", 7)


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("each", [False, True])
def test_goes_with_what_else_rows_may_have(kselect, tmp_path, executor, each):
    q, n, k = 6, 200, 9
    rows = RNG.standard_normal((q, n)).astype(np.float32)
    starts, lengths = np.array([0, 3, 33, 64, 150, 200]), np.array([200, 64, 2, 100, 50, 0])
    wanted, names = np.array([9, 0, 9, 3, 9, 9]), RNG.permutation(n) + 1000
    mask = mask_of(q, n) if each else mask_of(n)
    save(tmp_path, mask, each)
    for name, array in {"rows": rows, "starts": starts, "lengths": lengths, "wanted": wanted, "names": names}.items():
        np.save(tmp_path / f"{name}.npy", array)
    own = [slice(s, s + m) for s, m in zip(starts, lengths, strict=True)]
    of_rows = np.broadcast_to(mask, (q, n))
    parts = [row[at] for row, at in zip(rows, own, strict=True)]
    admitted = [bits[at] for bits, at in zip(of_rows, own, strict=True)]
    options = ["--executor", executor, "--k", k, "--starts", "starts.npy", "--lengths", "lengths.npy"]
    same(select(kselect, tmp_path, *options), expected(parts, admitted, [k] * q, k))
    values, indices = expected(parts, admitted, wanted, k)
    same(select(kselect, tmp_path, *options, "--k-each", "wanted.npy"), (values, indices))
    named = np.where(indices < 0, -1, names[np.minimum(starts[:, None] + indices, n - 1)])
    same(select(kselect, tmp_path, *options, "--k-each", "wanted.npy", "--map", "names.npy"), (values, named))
    arrays = ["--starts", "starts.npy", "--lengths", "lengths.npy", "--k-each", "wanted.npy", "--map", "names.npy"]
    kselect("prove", "rows.npy", "v.npy", "i.npy", "--stable", "--mask", "mask.npy", *arrays)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_segments_share_one_mask(kselect, tmp_path, executor):
    data, offsets = RNG.standard_normal(900).astype(np.float32), np.array([0, 0, 7, 300, 890])
    mask = mask_of(900)
    np.save(tmp_path / "rows.npy", data)
    np.save(tmp_path / "offsets.npy", offsets)
    save(tmp_path, mask, True)
    cut = [slice(a, b) for a, b in zip(offsets, offsets[1:], strict=False)]
    found = select(kselect, tmp_path, "--executor", executor, "--k", 12, "--offsets", "offsets.npy")
    same(found, expected([data[at] for at in cut], [mask[at] for at in cut], [12] * 4, 12))
    kselect("prove", "rows.npy", "v.npy", "i.npy", "--stable", "--offsets", "offsets.npy", "--mask", "mask.npy")
    save(tmp_path, np.broadcast_to(mask, (4, 900)), False)
    done = kselect("select", "rows.npy", "--k", 1, "--offsets", "offsets.npy", "--mask", "mask.npy", check=3)
    assert "mask.npy: has shape (4, 900); the masks of these elements are" in one_line(done.stderr)


def test_indices_alone_and_nan_last(kselect, tmp_path):
    np.save(tmp_path / "rows.npy", np.array([[3, np.nan, 1, -np.nan, 0]], np.float32))
    save(tmp_path, np.array([[1, 1, 1, 1, 0]], np.uint8), False)
    base = ["select", "rows.npy", "--stable", "--payload", "indices", "--k", 6, "--mask", "mask.npy", "--indices", "i.npy"]
    kselect(*base)
    np.testing.assert_array_equal(np.load(tmp_path / "i.npy"), [[3, 2, 0, 1, -1, -1]])
    kselect(*base, "--nan", "last")
    np.testing.assert_array_equal(np.load(tmp_path / "i.npy"), [[2, 0, 1, 3, -1, -1]])


def test_an_answer_that_the_mask_leaves_out_is_wrong(kselect, tmp_path):
    rows = np.array([[5, 1, 2, 3]], np.float32)
    np.save(tmp_path / "rows.npy", rows)
    np.save(tmp_path / "i.npy", np.array([[1, 2]]))
    kselect("prove", "rows.npy", "--indices", "i.npy")
    save(tmp_path, np.array([True, False, True, True]), False)
    done = kselect("prove", "rows.npy", "--indices", "i.npy", "--mask", "mask.npy", check=7)
    assert "the mask admits no element 1" in one_line(done.stderr)


@pytest.mark.parametrize("mask, words", [
    (np.ones(3, bool), "mask.npy: has shape (3,); the masks of these rows are bool or uint8 of shape (40,) or (2, 40), "
                       "or uint8 bits of shape (5,) or (2, 5)"),
    (np.ones((3, 40), bool), "mask.npy: has shape (3, 40)"),
    (np.ones((1, 2, 40), bool), "mask.npy: has shape (1, 2, 40)"),
    (np.ones(5, bool), "mask.npy: has shape (5,)"),
    (np.ones(40, np.int32), "mask.npy: holds int32; a mask is of bool or uint8"),
    (np.full(40, 2, np.uint8), "mask.npy: row 0, column 0: 2 is neither 0 nor 1; for bits, a row has 5 bytes"),
    (np.asfortranarray(np.ones((2, 40), bool)), "mask.npy: is in Fortran order; save it with numpy.ascontiguousarray"),
])
def test_names_what_is_wrong(kselect, tmp_path, mask, words):
    np.save(tmp_path / "rows.npy", np.zeros((2, 40), np.float32))
    np.save(tmp_path / "mask.npy", mask)
    done = kselect("select", "rows.npy", "--k", 1, "--mask", "mask.npy", "--indices", "i.npy", check=3)
    assert words in one_line(done.stderr)
    assert not (tmp_path / "i.npy").exists()


def test_refuses_what_has_no_masks(kselect, tmp_path):
    np.save(tmp_path / "rows.npy", np.zeros((2, 4), np.float32))
    save(tmp_path, np.ones(4, bool), False)
    base = ["select", "rows.npy", "--mask", "mask.npy", "--k", 2]
    done = kselect(*base, "--algorithm", "cpu/sort", check=4)
    assert "cpu/sort takes no --mask; `--algorithm auto` does" in one_line(done.stderr)
    assert "; masks" in kselect("list", "--long", "auto").stdout
    assert "; masks" not in kselect("list", "--long", "cpu/sort").stdout
    np.save(tmp_path / "rows.npy", np.zeros((2, 4), np.float32, order="F"))
    assert "rows.npy: is in Fortran order" in one_line(kselect(*base, check=3).stderr)
    done = kselect(*base, "--indices", "mask.npy", check=2)
    assert "mask.npy" in one_line(done.stderr)


def test_no_elements(kselect, tmp_path):
    np.save(tmp_path / "rows.npy", np.zeros(0, np.float32))
    np.save(tmp_path / "offsets.npy", np.array([0, 0]))
    save(tmp_path, np.ones(0, bool), False)
    values, indices = select(kselect, tmp_path, "--offsets", "offsets.npy", "--k", 2)
    assert values.tolist() == [[np.inf] * 2] and indices.tolist() == [[-1] * 2]
