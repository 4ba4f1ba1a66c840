"""kselect.top_k on NumPy's arrays, held against a sort."""

import zlib

import numpy as np
import pytest
import reference

import kselect

INTEGERS = [np.int32, np.uint32, np.int8, np.uint8]
TYPES = [np.float16, np.float32, np.float64, *INTEGERS]


def awkward(random, shape, dtype):
    """Few distinct numbers, so that there are ties, and NaN, infinities and zeros of both signs."""
    if np.dtype(dtype).kind in "iu":
        least, greatest = np.iinfo(dtype).min, np.iinfo(dtype).max
        numbers = np.array([least, least + 1, 0, 1, 2, greatest - 1, greatest], dtype)
        drawn = random.integers(least, greatest, shape, dtype, endpoint=True)
        return np.where(random.random(shape) < 0.5, random.choice(numbers, shape), drawn)
    numbers = np.array([0.0, -0.0, 1, -1, 2.5, np.inf, -np.inf, np.nan, -np.nan], dtype)
    drawn = random.normal(size=shape).astype(dtype)
    return np.where(random.random(shape) < 0.5, random.choice(numbers, shape), drawn).astype(dtype)


def viewed(random, a):
    """The same numbers at other places: steps, reversed, transposed and broken rows."""
    kind = random.integers(6)
    if kind == 0:
        return a
    if kind == 1:
        return a[tuple(slice(None, None, -1) if random.random() < 0.5 else slice(None) for _ in a.shape)]
    if kind == 2:
        return a.transpose(random.permutation(a.ndim))
    if kind == 3:
        return np.asfortranarray(a)
    wide = np.zeros([2 * n for n in a.shape], a.dtype)
    if kind == 4:
        wide[tuple(slice(0, 2 * n, 2) for n in a.shape)] = a
        return wide[tuple(slice(0, 2 * n, 2) for n in a.shape)]
    part = wide[tuple(slice(0, n) for n in a.shape)]  # rows with gaps
    part[...] = a
    return part


@pytest.mark.parametrize("seed", range(300))
def test_random_problems(seed):
    random = np.random.default_rng(zlib.crc32(b"top_k") + seed)
    dimensions = int(random.integers(1, 5))
    longest = {1: 3000, 2: 80, 3: 20, 4: 9}[dimensions]
    shape = tuple(int(n) for n in random.integers(1, longest, dimensions))
    a = viewed(random, awkward(random, shape, random.choice(TYPES)))
    axis = int(random.integers(-dimensions, dimensions))
    k = int(random.integers(1, a.shape[axis] + 1))
    mode = str(random.choice(["largest", "smallest"]))
    in_order, stable = bool(random.integers(2)), bool(random.integers(2))
    index_dtype = random.choice([np.int32, np.int64])
    before = a.copy()
    found = kselect.top_k(
        a, k, axis=axis, mode=mode, sorted=in_order, stable=stable, index_dtype=index_dtype,
        threads=int(random.integers(1, 4)),
    )
    assert found.indices.dtype == index_dtype
    assert (reference.bits(before) == reference.bits(a)).all(), "the input was changed"
    reference.check(a, found, k, axis, mode, in_order, stable)


@pytest.mark.parametrize("dtype", TYPES)
def test_defaults(dtype):
    a = awkward(np.random.default_rng(7), (5, 200), dtype)
    found = kselect.top_k(a, 9)
    values, indices = found
    assert values is found.values and indices is found.indices
    assert indices.dtype == np.int64
    reference.check(a, found, 9, -1, "largest", True, False)


def test_long_rows_by_several_threads():
    a = np.random.default_rng(3).random((6, 200_000), np.float32)
    for threads in (1, 2, 3):
        found = kselect.top_k(a, 300, mode="smallest", threads=threads)
        reference.check(a, found, 300, -1, "smallest", True, False)


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    random = np.random.default_rng(5)
    for axis in (0, 1):
        a = awkward(random, (40, 30), np.float32).astype(ml_dtypes.bfloat16)
        found = kselect.top_k(a, 11, axis=axis, stable=True)
        assert found.values.dtype == a.dtype
        reference.check(a, found, 11, axis, "largest", True, True)


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2"])
def test_float8(name):
    dtype = getattr(pytest.importorskip("ml_dtypes"), name)
    a = np.random.default_rng(5).integers(0, 256, (40, 30), np.uint8).view(dtype)
    for mode in ("largest", "smallest"):
        found = kselect.top_k(a, 11, axis=0, mode=mode, stable=True)
        reference.check(a, found, 11, 0, mode, True, True)


def test_images_and_counts():
    images = np.random.default_rng(6).integers(0, 256, (9, 64, 48), np.uint8)
    brightest = kselect.top_k(images, 100, axis=None, stable=True)
    reference.check(images.reshape(-1), brightest, 100, 0, "largest", True, True)
    counts = np.array([[3, -1, 2**31 - 1, -(2**31)]], np.int32)
    assert kselect.top_k(counts, 2, mode="smallest").values.tolist() == [[-(2**31), -1]]
    assert kselect.top_k(counts, 2, nan="last").values.tolist() == [[2**31 - 1, 3]]


def test_rows_without_elements_of_integers():
    a, none = np.zeros((2, 0), np.int8), np.zeros(2, int)
    for mode, worst in (("largest", -128), ("smallest", 127)):
        found = kselect.top_k(a, 1, mode=mode, lengths=none)
        assert found.values.tolist() == [[worst]] * 2 and found.indices.tolist() == [[-1]] * 2


def test_order_of_special_numbers():
    a = np.array([1, -np.nan, np.inf, 0.0, np.nan, -0.0, -np.inf], np.float32)
    assert kselect.top_k(a, 7).indices.tolist() == [4, 2, 0, 3, 5, 6, 1]
    assert kselect.top_k(a, 7, mode="smallest").indices.tolist() == [1, 6, 5, 3, 0, 2, 4]


def test_other_byte_order_and_read_only():
    a = np.arange(12, dtype=">f4").reshape(3, 4)
    a.flags.writeable = False
    found = kselect.top_k(a, 2)
    assert found.values.tolist() == [[3, 2], [7, 6], [11, 10]]
    b = np.arange(5.0)
    b.flags.writeable = False
    assert kselect.top_k(b, 1).indices.tolist() == [4]


def test_elements_at_odd_addresses():
    records = np.zeros(50, np.dtype([("tag", "u1"), ("score", "f8")], align=False))
    records["score"] = np.random.default_rng(1).random(50)
    reference.check(records["score"].copy(), kselect.top_k(records["score"], 5), 5, 0, "largest", True, False)
    shifted = np.zeros(41, np.uint8)[1:].view(np.float32)
    shifted[...] = np.arange(10)
    assert kselect.top_k(shifted, 2).indices.tolist() == [9, 8]


def test_repeated_rows():
    row = np.array([3.0, 1.0, 2.0])
    found = kselect.top_k(np.broadcast_to(row, (4, 3)), 2)
    assert found.indices.tolist() == [[0, 2]] * 4
    assert kselect.top_k(np.broadcast_to(np.float32(5), (2, 6)), 3, stable=True).indices.tolist() == [[0, 1, 2]] * 2


def test_all_axes_as_one():
    a = np.array([[1.0, 9.0], [7.0, 3.0]])
    assert kselect.top_k(a, 3, axis=None).indices.tolist() == [1, 2, 3]
    assert kselect.top_k(a.T, 3, axis=None).indices.tolist() == [2, 1, 3]


def test_sequences_become_arrays():
    values, indices = kselect.top_k([0.5, 2.5, 1.5], 2)
    assert values.tolist() == [2.5, 1.5] and indices.tolist() == [1, 2]


def test_none_of_each_row():
    """k = 0: an answer without elements, whose shape is right, and nothing is written."""
    a = np.ones((3, 4, 5), np.float32)
    for axis, shape in ((-1, (3, 4, 0)), (1, (3, 0, 5)), (None, (0,))):
        values, indices = kselect.top_k(a, 0, axis=axis)
        assert values.shape == indices.shape == shape
        assert (values.dtype, indices.dtype) == (np.float32, np.int64)
        assert kselect.top_k(a, 0, axis=axis, indices_only=True, index_dtype="int32").dtype == np.int32
    assert kselect.top_k(np.ones((2, 0)), 0).values.shape == (2, 0)
    assert kselect.top_k(a[0], 0, lengths=[0, 1, 2, 5]).indices.shape == (4, 0)
    assert kselect.top_k(a.reshape(-1), 0, offsets=[0, 7, 60]).values.shape == (2, 0)
    assert kselect.plan(a, 0)(a).values.shape == (3, 4, 0)
    out = np.empty((3, 4, 0), np.float32), np.empty((3, 4, 0), np.int64)
    assert kselect.top_k(a, 0, out=out).values is out[0]


def test_no_rows():
    for shape, axis, wanted in (((0, 5), -1, (0, 2)), ((5, 0, 3), 0, (2, 0, 3)), ((0, 4), 1, (0, 2))):
        found = kselect.top_k(np.zeros(shape, np.float32), 2, axis=axis)
        assert found.values.shape == found.indices.shape == wanted
        assert found.values.dtype == np.float32 and found.indices.dtype == np.int64


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("make", [np.empty, lambda shape, dtype: np.empty(shape[::-1], dtype).T])
def test_outputs_of_the_caller(axis, make):
    a = awkward(np.random.default_rng(2), (12, 15), np.float64)
    shape = (4, 15) if axis == 0 else (12, 4)
    out = make(shape, np.float64), make(shape, np.int32)
    found = kselect.top_k(a, 4, axis=axis, out=out)
    assert found.values is out[0] and found.indices is out[1]
    reference.check(a, found, 4, axis, "largest", True, False)


def test_outputs_with_gaps_and_over_the_input():
    a = np.random.default_rng(2).random((6, 8))
    before = a.copy()
    wide = np.full((6, 8), -1.0)
    kselect.top_k(a, 4, out=(wide[:, ::2], np.empty((6, 4), np.int64)))
    assert (wide[:, 1::2] == -1).all()
    assert (wide[:, ::2] == -np.sort(-before, axis=1)[:, :4]).all()
    kselect.top_k(a, 4, out=(a[:, 4:], np.empty((6, 4), np.int64)))
    assert (a[:, 4:] == -np.sort(-before, axis=1)[:, :4]).all()
    assert (a[:, :4] == before[:, :4]).all()


def test_workspace_of_the_caller():
    a = np.random.default_rng(2).random((4, 3000))
    found = kselect.top_k(a, 10, workspace=np.empty(1 << 20, np.uint8))
    reference.check(a, found, 10, -1, "largest", True, False)
