"""Selection under masks, held against a sort of the elements that each row's mask admits."""

import zlib

import numpy as np
import pytest
import reference
from test_ragged import awkward, check_row, options_of, sorts_of_rows

import kselect

TYPES = [np.float16, np.float32, np.float64, np.int32, np.uint32, np.int8, np.uint8]
FORMS = ["booleans", "bytes", "uint32", "int32"]
SORTED = {"mode": "largest", "nan": "total_order", "sorted": True, "stable": True, "fill": -1}


def mask_of(random, shape):
    """Parts that admit nothing, all, few and many."""
    parts = random.choice([0.0, 1.0, 0.02, 0.6], -(-shape[-1] // 20), p=random.dirichlet(np.full(4, 0.3)))
    return random.random(shape) < np.repeat(parts, 20)[: shape[-1]]


def as_given(random, mask, form, axis=-1):
    """A mask whose last dimension is the axis, as the caller may give it. Bits beyond the axis say nothing."""
    if form == "booleans":
        return mask if mask.ndim == 1 else np.moveaxis(mask, -1, axis)
    width = 8 if form == "bytes" else 32
    beyond = random.random((*mask.shape[:-1], -mask.shape[-1] % width)) < 0.5
    bits = np.packbits(np.concatenate([mask, beyond], axis=-1), axis=-1, bitorder="little")
    return bits if form == "bytes" else bits.view(form)


def check_admitted(row, admitted, values, indices, options):
    """One row's answer, from its elements of which `admitted` is True. `values` None: none were asked for."""
    places = np.flatnonzero(admitted)
    found = min(len(indices), len(places))
    assert np.isin(indices[:found], places).all(), "an element was selected that the mask leaves out"
    own = np.concatenate([np.searchsorted(places, indices[:found]), indices[found:]])
    check_row(row[places], values, own, options)


def matrix_problem(random, dtype):
    """An array, k, options of rows, and of each row its elements and which are admitted."""
    dimensions = int(random.integers(1, 4))
    shape = tuple(int(n) for n in random.integers(1, {1: 400, 2: 90, 3: 40}[dimensions], dimensions))
    shape = (*(min(n, 12) for n in shape[:-1]), shape[-1])
    a = awkward(random, shape, dtype)
    if random.random() < 0.3:
        a = a.transpose(random.permutation(dimensions))
    axis = int(random.integers(-dimensions, dimensions))
    given, slices = sorts_of_rows(random, a.shape, axis)
    last = np.moveaxis(a, axis, -1)
    each = random.random() < 0.5
    mask = mask_of(random, last.shape if each else last.shape[-1:])
    given["mask"] = as_given(random, mask, random.choice(FORMS), axis)
    length = a.shape[axis]
    rows, admitted = last.reshape(-1, length), np.broadcast_to(mask, last.shape).reshape(-1, length)
    parts = [(row[slice(*at)], bits[slice(*at)]) for row, bits, at in zip(rows, admitted, slices, strict=True)]
    return a, int(random.integers(1, length + 20)), {"axis": axis, **given}, parts


def segments_problem(random, dtype):
    a = awkward(random, (2, int(random.integers(1, 300))), dtype)
    cuts = np.sort(random.integers(0, a.size + 1, random.integers(1, 30)))
    mask = mask_of(random, (a.size,))
    form = random.choice([*FORMS, "as a"])
    given = {"axis": None, "offsets": cuts, "mask": as_given(random, mask, "booleans" if form == "as a" else form)}
    if form == "as a":
        given["mask"] = mask.reshape(a.shape)
    parts = [(a.reshape(-1)[b:e], mask[b:e]) for b, e in zip(cuts, cuts[1:], strict=False)]
    return a, int(random.integers(1, 60)), given, parts


def check_problem(random, dtype):
    make = segments_problem if random.random() < 0.3 else matrix_problem
    a, k, given, parts = make(random, dtype)
    options, only = options_of(random), bool(random.integers(2))
    problem = f"shape {a.shape} of {a.dtype}, k = {k}, {given}, {options}, indices_only={only}"
    before = a.copy(), given["mask"].copy()
    found = kselect.top_k(a, k, **given, **options, indices_only=only, threads=int(random.integers(1, 3)))
    assert (reference.bits(before[0]) == reference.bits(a)).all() and (before[1] == given["mask"]).all(), problem
    axis = -1 if given["axis"] is None else given["axis"]
    flat = [np.moveaxis(one, axis, -1).reshape(-1, k) for one in ((found,) if only else found)]
    assert len(flat[-1]) == len(parts), problem
    for row, (part, admitted) in enumerate(parts):
        try:
            check_admitted(part, admitted, None if only else flat[0][row], flat[-1][row], options)
        except AssertionError as error:
            raise AssertionError(f"row {row} of {problem}: {error}") from None


@pytest.mark.parametrize("seed", range(12))
def test_random_problems(seed):
    """Sixty a seed, with all options mixed."""
    random = np.random.default_rng(zlib.crc32(b"masks") + seed)
    for _ in range(60):
        check_problem(random, random.choice(TYPES))


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_types_that_numpy_lacks(name):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    random = np.random.default_rng(8)
    a = random.normal(size=(30, 70)).astype(getattr(ml_dtypes, name))
    mask = mask_of(random, a.shape)
    found = kselect.top_k(a, 70, mask=mask, stable=True)
    assert found.values.dtype == a.dtype
    for row in range(30):
        count = mask[row].sum()
        check_admitted(a[row], mask[row], found.values[row, :count], found.indices[row, :count], SORTED)
        assert (found.indices[row, count:] == -1).all()


def test_masks_that_admit_nothing_or_all():
    a = np.random.default_rng(6).random((4, 100), np.float32)
    found = kselect.top_k(a, 3, mask=np.zeros(100, bool), mode="smallest", fill=8)
    assert (found.values == np.inf).all() and (found.indices == 8).all()
    for mask in (np.ones(100, bool), np.ones(a.shape, bool), [True] * 100):
        for got, wanted in zip(kselect.top_k(a, 9, mask=mask), kselect.top_k(a, 9), strict=True):
            assert (got == wanted).all()
    assert kselect.top_k(np.zeros((3, 0)), 2, mask=np.zeros((3, 0), bool)).indices.tolist() == [[-1, -1]] * 3
    assert kselect.top_k(np.zeros((0, 5)), 2, mask=np.zeros(5, bool)).indices.shape == (0, 2)


def test_outputs_of_the_caller():
    a, mask = np.arange(12.0).reshape(3, 4), np.array([True, False, True, False])
    out = np.empty((3, 3)), np.empty((3, 3), np.int32)
    assert kselect.top_k(a, 3, mask=mask, out=out).values is out[0]
    assert out[1].tolist() == [[2, 0, -1]] * 3 and out[0][1].tolist() == [6, 4, -np.inf]


def test_a_plan_keeps_words_and_packs_booleans():
    a = np.random.default_rng(7).random((5, 90), np.float32)
    words = np.zeros((5, 3), np.uint32)
    made = kselect.plan(a, 4, mask=words)
    assert (made(a).indices == -1).all()
    words[2:, 1] = 1 << 5
    assert made(a).indices.tolist() == [[-1] * 4] * 2 + [[37, -1, -1, -1]] * 3
    mask = np.arange(90) == 88
    made = kselect.plan(a, 1, mask=mask)
    mask[:] = False
    assert made(a).indices.tolist() == [[88]] * 5
    made = kselect.plan(a.T, 2, axis=0, mask=np.asfortranarray((np.arange(90) < 40)[:, None] & np.ones(5, bool)))
    for got, wanted in zip(made(a.T), kselect.top_k(a.T[:40], 2, axis=0), strict=True):
        assert (got == wanted).all()


ROWS = np.arange(80.0).reshape(2, 40)


@pytest.mark.parametrize(
    ("mask", "error", "message"),
    [
        (np.ones(39, bool), ValueError, r"mask has shape \(39,\) and dtype bool, but must have \(40,\) or \(2, 40\)"),
        (np.ones((1, 40), bool), ValueError, r"mask has shape \(1, 40\)"),
        (np.ones((40, 2), bool), ValueError, r"mask has shape \(40, 2\)"),
        (np.ones(80, bool), ValueError, r"mask has shape \(80,\)"),
        (np.ones(4, np.uint8), ValueError, r"dtype uint8, but must have \(5,\) or \(2, 5\)"),
        (np.ones((2, 1), np.uint32), ValueError, r"dtype uint32, but must have \(2,\) or \(2, 2\)"),
        (np.ones(40), TypeError, "mask has dtype float64; pass booleans, or bits of uint8, uint32 or int32"),
        ([1] * 40, TypeError, "mask has dtype int64"),
        ([[True], [True, False]], ValueError, "mask cannot be made an array"),
        (np.ma.ones(40, bool), TypeError, "mask is a masked array"),
    ],
)
def test_refusals(mask, error, message):
    with pytest.raises(error, match=message):
        kselect.top_k(ROWS, 2, mask=mask)


def test_other_refusals():
    everything = np.ones(40, bool)
    with pytest.raises(ValueError, match="k = -1, but must not be negative"):
        kselect.top_k(ROWS, -1, mask=everything)
    with pytest.raises(ValueError, match="max_length is given, but neither"):
        kselect.top_k(ROWS, 1, mask=everything, max_length=3)
    with pytest.raises(ValueError, match=r"mask has shape \(40,\) and dtype bool, but must have \(80,\)"):
        kselect.top_k(ROWS, 1, axis=None, offsets=[0, 80], mask=everything)
    with pytest.raises(ValueError, match="lengths has 41 in row 1"):
        kselect.top_k(ROWS, 1, lengths=[0, 41], mask=everything)
    with pytest.raises(ValueError, match=r"out: indices have shape \(2, 2\)"):
        kselect.top_k(ROWS, 3, mask=everything, indices_only=True, out=np.empty((2, 2), int))
