"""Rows of lengths of their own, indices alone and NaN last, held against a sort of each row."""

import zlib

import numpy as np
import pytest
import reference

import kselect

TYPES = [np.float16, np.float32, np.float64, np.int32, np.uint8]
NUMBERS = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, -np.nan])


def awkward(random, shape, dtype):
    if np.dtype(dtype).kind in "iu":
        most = random.choice([3, np.iinfo(dtype).max])
        return random.integers(np.iinfo(dtype).min // most, most, shape, dtype, endpoint=True)
    drawn = random.normal(size=shape)
    special = random.choice(NUMBERS[: random.choice([4, 6, 9])], shape)
    return np.where(random.random(shape) < random.choice([0.05, 0.5, 1]), special, drawn).astype(dtype)


def filling(dtype, mode):
    """The value of a place without an element."""
    if dtype.kind in "iu":
        return np.iinfo(dtype).min if mode == "largest" else np.iinfo(dtype).max
    return -np.inf if mode == "largest" else np.inf


def keys(a, mode, nan):
    """Unsigned integers of which the smallest are the best."""
    found = reference.keys(a, mode)
    return np.where(np.isnan(a), np.iinfo(found.dtype).max, found) if nan == "last" else found


def check_row(row, values, indices, options):
    """`values` None: they were not asked for."""
    k, mode, fill = len(indices), options["mode"], options["fill"]
    found = min(k, len(row))
    assert (indices[found:] == fill).all()
    if values is not None:
        assert (values[found:] == filling(values.dtype, mode)).all()
        assert (reference.bits(values[:found]) == reference.bits(row[indices[:found]])).all()
    best = keys(row, mode, options["nan"])
    order = np.argsort(best, kind="stable")[:found]
    got, first = indices[:found], order
    assert len(set(got.tolist())) == found, "an element was selected twice"
    if not options["sorted"]:
        got, first = np.sort(got), np.sort(first)
        assert (np.sort(best[got]) == best[order]).all()
    else:
        assert (best[got] == best[order]).all()
    if options["stable"]:
        assert (got == first).all()


def sorts_of_rows(random, shape, axis):
    """Arguments that say where rows lie, and the rows as slices of an array whose axis is last."""
    length = shape[axis]
    rows = tuple(np.delete(shape, axis))
    starts = random.integers(0, length + 1, rows).astype(random.choice([np.int32, np.int64]))
    lengths = (random.random(rows) * (length - starts + 1)).astype(random.choice([np.int32, np.int64]))
    kind = random.integers(5)
    if kind == 0:
        return {}, [(0, length)] * starts.size
    if kind == 1:
        return {"starts": starts}, [(s, length) for s in starts.flat]
    if kind == 2:
        lengths = random.integers(0, length + 1, rows)
        given = {"lengths": lengths.tolist() if random.random() < 0.3 else lengths}
        if random.random() < 0.3:
            given["max_length"] = max(1, int(lengths.max(initial=0)) + int(random.integers(3)))
        return given, [(0, n) for n in lengths.flat]
    return {"starts": starts, "lengths": lengths}, [
        (s, s + n) for s, n in zip(starts.flat, lengths.flat, strict=True)
    ]


def options_of(random):
    return {
        "mode": str(random.choice(["largest", "smallest"])), "nan": str(random.choice(["last", "total_order"])),
        "sorted": bool(random.integers(2)), "stable": bool(random.integers(2)), "fill": int(random.integers(-3, 3)),
    }  # fmt: skip


def try_matrix(random):
    dimensions = int(random.integers(1, 4))
    shape = tuple(int(n) for n in random.integers(1, {1: 400, 2: 40, 3: 12}[dimensions], dimensions))
    a = awkward(random, shape, random.choice(TYPES))
    if random.random() < 0.3:
        a = a.transpose(random.permutation(dimensions))
    axis = int(random.integers(-dimensions, dimensions))
    given, slices = sorts_of_rows(random, a.shape, axis)
    length = a.shape[axis]
    k = int(random.integers(1, length + (20 if given else 1)))
    rows = np.moveaxis(a, axis, -1).reshape(-1, length)
    parts = [row[slice(*part)] for row, part in zip(rows, slices, strict=True)]
    return a, k, {"axis": axis, **given}, parts


def try_segments(random):
    a = awkward(random, int(random.integers(0, 600)), random.choice(TYPES))
    cuts = np.sort(random.integers(0, len(a) + 1, random.integers(1, 30)))
    offsets = cuts.astype(random.choice([np.int32, np.int64]))
    given = {"offsets": offsets.tolist() if random.random() < 0.3 else offsets}
    if random.random() < 0.3:
        given["max_length"] = max(1, int(np.diff(cuts).max(initial=0)))
    parts = [a[begin:end] for begin, end in zip(cuts, cuts[1:], strict=False)]
    return a, int(random.integers(1, 60)), given, parts


@pytest.mark.parametrize("seed", range(15))
def test_random_problems(seed):
    """Two hundred a seed, with all options mixed."""
    random = np.random.default_rng(zlib.crc32(b"ragged") + seed)
    for at in range(200):
        a, k, given, parts = (try_segments if random.random() < 0.3 else try_matrix)(random)
        options = options_of(random)
        axis = given.get("axis", -1)
        only, dtype = bool(random.integers(2)), random.choice([np.int32, np.int64])
        before = a.copy()
        problem = f"problem {at}: shape {a.shape}, k = {k}, {given}, {options}, indices_only={only}"
        found = kselect.top_k(
            a, k, **given, **options, indices_only=only, index_dtype=dtype, threads=int(random.integers(1, 3))
        )
        values, indices = (None, found) if only else found
        assert indices.dtype == dtype, problem
        assert (reference.bits(before) == reference.bits(a)).all(), "the input was changed"
        flat = [None if one is None else np.moveaxis(one, axis, -1).reshape(-1, k) for one in (values, indices)]
        assert len(flat[1]) == len(parts), problem
        for row, part in enumerate(parts):
            try:
                check_row(part, None if only else flat[0][row], flat[1][row], options)
            except AssertionError as error:
                raise AssertionError(f"row {row} of {problem}: {error}") from None


def test_nan_is_last_as_numpy_sorts():
    a = np.array([np.nan, 3, -np.nan, 1, np.inf, -np.inf], np.float32)
    assert kselect.top_k(a, 6, mode="smallest", nan="last", stable=True).indices.tolist() == [5, 3, 1, 4, 0, 2]
    assert kselect.top_k(a, 6, nan="last", stable=True).indices.tolist() == [4, 1, 3, 5, 0, 2]
    for mode in ("largest", "smallest"):
        values = kselect.top_k(a, 5, mode=mode, nan="last").values
        wanted = np.sort(a if mode == "smallest" else -a)[:5]
        assert np.array_equal(values, wanted if mode == "smallest" else -wanted, equal_nan=True)
    tagged = np.array([0x7FC00001, 0xFFC00002], np.uint32).view(np.float32)  # NaN keep their bits
    found = kselect.top_k(tagged, 2, nan="last", stable=True)
    assert (found.values.view(np.uint32) == tagged.view(np.uint32)).all() and found.indices.tolist() == [0, 1]


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    a = awkward(np.random.default_rng(5), (40, 30), np.float32).astype(ml_dtypes.bfloat16)
    lengths = np.arange(40) % 31
    options = {"mode": "largest", "nan": "last", "sorted": True, "stable": True, "fill": -1}
    found = kselect.top_k(a, 11, lengths=lengths, **options)
    assert found.values.dtype == a.dtype
    for row in range(40):
        check_row(a[row, : lengths[row]], found.values[row], found.indices[row], options)


def test_outputs_of_the_caller():
    a = np.random.default_rng(2).random((12, 15))
    only = np.empty((12, 4), np.int32)
    assert kselect.top_k(a, 4, indices_only=True, out=only) is only
    assert (only == kselect.top_k(a, 4).indices).all()
    out = np.empty((3, 20)), np.empty((3, 20), np.int64)
    found = kselect.top_k(a, 20, axis=None, offsets=[0, 3, 3, 30], out=out)
    assert found.values is out[0] and found.indices is out[1]
    assert (out[1][1] == -1).all() and (out[0][0, :3] == -np.sort(-a.flat[:3])).all()
    wide = np.zeros((4, 30))
    kselect.top_k(a, 4, axis=0, lengths=[3] * 15, out=(wide[:, ::2], np.empty((4, 15), np.int64)))
    assert (wide[3, ::2] == -np.inf).all() and not wide[:, 1::2].any()


def test_no_elements_and_no_rows():
    found = kselect.top_k(np.zeros((3, 0), np.float32), 2, lengths=[0, 0, 0], fill=9)
    assert found.indices.tolist() == [[9, 9]] * 3 and (found.values == -np.inf).all()
    assert kselect.top_k(np.zeros(0), 2, offsets=[0], mode="smallest").values.shape == (0, 2)
    assert kselect.top_k(np.zeros(0), 1, offsets=[0, 0], mode="smallest").values.tolist() == [[np.inf]]
    assert kselect.top_k(np.zeros((0, 5)), 2, lengths=np.zeros(0, int)).indices.shape == (0, 2)
    assert kselect.top_k(np.ones(5), 2, lengths=3, indices_only=True).shape == (2,)


ROWS = np.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"lengths": [1, 2]}, ValueError, r"lengths has shape \(2,\), not \(3,\)"),
        ({"lengths": [1, 2, 5]}, ValueError, "lengths has 5 in row 2, but must have 0 to 4 there"),
        ({"lengths": [1, -1, 0]}, ValueError, "lengths has -1 in row 1"),
        ({"lengths": [1, 2, 4], "starts": [0, 0, 1]}, ValueError, "lengths has 4 in row 2, but must have 0 to 3"),
        ({"lengths": [1.0, 2, 3]}, TypeError, "lengths has dtype float64"),
        ({"lengths": [True, False, True]}, TypeError, "lengths has dtype bool"),
        ({"starts": [0, 5, 0]}, ValueError, "starts has 5 in row 1, but must have 0 to 4"),
        ({"starts": [0, -1, 0]}, ValueError, "starts has -1 in row 1"),
        ({"starts": [0, 0, 0], "max_length": 2}, ValueError, "max_length is given, but neither"),
        ({"lengths": [0, 3, 0], "max_length": 2}, ValueError, "max_length = 2, but row 1 has 3 elements"),
        ({"lengths": [0, 3, 0], "max_length": 0}, ValueError, "max_length = 0, but must be at least 1"),
        ({"lengths": [0, 3, 0], "fill": 1 << 63}, ValueError, "fill = 9223372036854775808"),
        ({"lengths": [0, 3, 0], "fill": 1 << 31, "index_dtype": "int32"}, ValueError, "fill = 2147483648"),
        ({"lengths": [0, 3, 0], "fill": 0.5}, TypeError, "float"),
        ({"offsets": [0, 1], "lengths": [1]}, ValueError, "offsets are given, so neither lengths nor starts"),
        ({"offsets": [0, 4]}, ValueError, "offsets are given, so a must have one dimension, not 2"),
        ({"offsets": [[0, 4]], "axis": None}, ValueError, r"offsets has shape \(1, 2\)"),
        ({"offsets": [], "axis": None}, ValueError, r"offsets has shape \(0,\)"),
        ({"offsets": [0, 13], "axis": None}, ValueError, "offsets: row 0 is from 0 to 13 of 12 elements"),
        ({"offsets": [0, 6, 5], "axis": None}, ValueError, "offsets: row 1 is from 6 to 5"),
        ({"offsets": [-1, 6], "axis": None}, ValueError, "offsets: row 0 is from -1"),
        ({"offsets": [0, 6, 12], "axis": None, "max_length": 5}, ValueError, "max_length = 5, but row 0 has 6"),
        ({"nan": "first"}, ValueError, "nan is 'first'"),
        ({"nan": None}, ValueError, "nan is None"),
        ({"indices_only": True, "out": (np.empty((3, 2)), np.empty((3, 2), int))}, TypeError, "out: indices are a tuple"),
        ({"indices_only": True, "out": np.empty((2, 3), int)}, ValueError, "out: indices have shape"),
    ],
)
def test_refusals(options, error, message):
    with pytest.raises(error, match=message):
        kselect.top_k(ROWS, 2, **options)
    with pytest.raises(ValueError, match="k = -1, but must not be negative"):
        kselect.top_k(ROWS, -1, lengths=[1, 1, 1])
    with pytest.raises(ValueError, match="a is empty"):
        kselect.top_k(np.zeros((1, 0)), 1, lengths=[1])
