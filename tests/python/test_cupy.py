"""kselect.top_k on CuPy's arrays. Skipped where CuPy or a GPU is absent."""

import numpy as np
import pytest
import reference
from test_mask import as_given, check_admitted
from test_ragged import awkward, check_row

import kselect

cupy = pytest.importorskip("cupy")
try:
    cupy.cuda.runtime.getDeviceCount()
except cupy.cuda.runtime.CUDARuntimeError:
    pytest.skip("no GPU", allow_module_level=True)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_like_a_sort(dtype, axis):
    a = awkward(np.random.default_rng(3), (7, 300), dtype)
    for mode in ("largest", "smallest"):
        found = kselect.top_k(cupy.asarray(a), 5, axis=axis, mode=mode, stable=True)
        assert isinstance(found.values, cupy.ndarray) and found.indices.dtype == np.int64
        rows, dim = (a.reshape(-1), 0) if axis is None else (a, axis)
        reference.check(rows, [cupy.asnumpy(one) for one in found], 5, dim, mode, True, True)


def test_views_and_outputs():
    a = np.random.default_rng(2).random((20, 60), np.float32)
    on_gpu = cupy.asarray(a)
    for view, wanted in ((on_gpu.T, a.T), (on_gpu[:, 10:50], a[:, 10:50]), (on_gpu[::2], a[::2])):
        found = kselect.top_k(view, 5)
        reference.check(wanted, [cupy.asnumpy(one) for one in found], 5, -1, "largest", True, False)
    out = cupy.empty((20, 4), np.float32), cupy.empty((20, 4), np.int32)
    found = kselect.top_k(on_gpu, 4, out=out)
    assert found.values is out[0] and found.indices is out[1]
    assert (cupy.asnumpy(out[0]) == -np.sort(-a, axis=1)[:, :4]).all()


def test_rows_of_lengths_of_their_own():
    random = np.random.default_rng(4)
    a = awkward(random, (40, 500), np.float32)
    lengths = random.integers(0, 501, 40).astype(np.int32)
    for nan in ("last", "total_order"):
        options = {"mode": "largest", "nan": nan, "sorted": False, "stable": False, "fill": -7}
        given = {"lengths": cupy.asarray(lengths), **options}
        indices = cupy.asnumpy(kselect.top_k(cupy.asarray(a), 9, indices_only=True, **given))
        for row, length in enumerate(lengths):
            check_row(a[row, :length], None, indices[row], options)
    offsets = np.array([0, 7, 7, 5000])
    found = kselect.top_k(
        cupy.asarray(a.reshape(-1)), 9, offsets=cupy.asarray(offsets), max_length=4993, indices_only=True, sorted=False
    )
    for row in range(3):
        options = {"mode": "largest", "nan": "total_order", "sorted": False, "stable": False, "fill": -1}
        check_row(a.reshape(-1)[offsets[row] : offsets[row + 1]], None, cupy.asnumpy(found[row]), options)
    with pytest.raises(TypeError, match="lengths"):
        kselect.top_k(cupy.asarray(a), 9, lengths=lengths)


def test_streams():
    side = cupy.cuda.Stream(non_blocking=True)
    a = cupy.zeros((64, 1 << 20), np.float32)
    for select_on in (None, side):
        for _ in range(2):
            a[...] = 0
            a += cupy.arange(1 << 20, dtype=np.float32)
            _, indices = kselect.top_k(a, 4, stream=select_on)
            cupy.cuda.Device().synchronize()
            assert (cupy.asnumpy(indices) == np.arange((1 << 20) - 1, (1 << 20) - 5, -1)).all()
    with side:
        a[...] = 0
        a += cupy.arange(1 << 20, dtype=np.float32)
        _, indices = kselect.top_k(a, 4)
        assert (cupy.asnumpy(indices) == np.arange((1 << 20) - 1, (1 << 20) - 5, -1)).all()


def test_plans():
    a = np.random.default_rng(5).random((30, 900), np.float32)
    select = kselect.plan(cupy.asarray(a), 6)
    for rows in (a, 1 - a):
        found = select(cupy.asarray(rows))
        assert found.values is select.values
        reference.check(rows, [cupy.asnumpy(one) for one in found], 6, -1, "largest", True, False)


def test_masks():
    random = np.random.default_rng(4)
    a = awkward(random, (40, 500), np.float32)
    mask = random.random((40, 500)) < 0.3
    options = {"mode": "largest", "nan": "last", "sorted": True, "stable": True, "fill": -7}
    for given in (mask, np.packbits(mask, axis=-1, bitorder="little"), as_given(random, mask, "uint32")):
        found = kselect.top_k(cupy.asarray(a), 200, mask=cupy.asarray(given), indices_only=True, **options)
        for row in range(40):
            check_admitted(a[row], mask[row], None, cupy.asnumpy(found[row]), options)
    with pytest.raises(TypeError, match="mask"):
        kselect.top_k(cupy.asarray(a), 9, mask=mask)
