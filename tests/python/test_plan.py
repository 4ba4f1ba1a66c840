"""kselect.plan: calls with outputs that are kept."""

import contextlib
import threading
import tracemalloc

import numpy as np
import pytest
import reference

import kselect


@pytest.mark.parametrize("seed", range(40))
def test_random_plans(seed):
    random = np.random.default_rng(seed)
    shape = tuple(int(n) for n in random.integers(1, 60, random.integers(1, 4)))
    axis = int(random.integers(-len(shape), len(shape)))
    k = int(random.integers(1, shape[axis] + 1))
    mode = str(random.choice(["largest", "smallest"]))
    in_order, stable = bool(random.integers(2)), bool(random.integers(2))
    dtype = random.choice([np.float16, np.float32, np.float64])
    like = random.permutation(len(shape))
    made = None
    for _ in range(3):
        a = random.normal(size=[shape[i] for i in like]).astype(dtype).transpose(np.argsort(like))
        if made is None:
            made = kselect.plan(a, k, axis=axis, mode=mode, sorted=in_order, stable=stable)
        found = made(a)
        assert found.values is made.values and found.indices is made.indices
        reference.check(a, found, k, axis, mode, in_order, stable)


def test_it_takes_other_layouts_than_it_was_made_for():
    a = np.random.default_rng(1).random((30, 40))
    made = kselect.plan(a, 7)
    for other in (a, np.asfortranarray(a), a[::-1], a[:, ::-1], np.asfortranarray(a)):
        reference.check(other, made(other), 7, -1, "largest", True, False)


def test_it_allocates_no_arrays():
    a = np.random.default_rng(1).random((300, 4000), np.float32)
    for like in (a, np.asfortranarray(a)):
        made = kselect.plan(like, 500)
        made(like)
        tracemalloc.start()
        made(like)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 10_000


def test_its_workspace_serves_top_k():
    a = np.random.default_rng(1).random((9, 9000))
    needed = kselect.plan(a, 99, threads=1).workspace_bytes
    assert needed > 0
    found = kselect.top_k(a, 99, workspace=np.empty(needed, np.uint8), threads=1)
    reference.check(a, found, 99, -1, "largest", True, False)
    with pytest.raises(ValueError, match="workspace"):
        kselect.top_k(a, 99, workspace=np.empty(1, np.uint8), threads=1)


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    a = np.random.default_rng(1).random((20, 30)).astype(ml_dtypes.bfloat16)
    made = kselect.plan(a, 4, axis=0)
    assert made.values.dtype == a.dtype
    reference.check(a, made(a), 4, 0, "largest", True, False)


def test_no_rows():
    made = kselect.plan(np.zeros((0, 5)), 2)
    assert made(np.zeros((0, 5))).values.shape == (0, 2)


def test_refusals():
    a = np.zeros((3, 4))
    made = kselect.plan(a, 2)
    with pytest.raises(ValueError, match=r"a has shape \(4, 3\), not \(3, 4\)"):
        made(a.T)
    with pytest.raises(TypeError, match="a has dtype float32, not float64"):
        made(a.astype("f4"))
    with pytest.raises(TypeError, match="a is a list, not a ndarray"):
        made(a.tolist())
    with pytest.raises(ValueError, match="k = 5"):
        kselect.plan(a, 5)
    with pytest.raises(ValueError, match="axis 2 is out of bounds"):
        kselect.plan(a, 1, axis=2)
    with pytest.raises(TypeError, match="a has dtype int64"):
        kselect.plan(a.astype(int), 1)


def test_tensors_of_torch():
    torch = pytest.importorskip("torch")
    a = torch.randn(5, 60, 7)
    for axis in (0, 1, 2):
        made = kselect.plan(a, 3, axis=axis)
        for other in (a, a + 1, -a):
            values, indices = made(other)
            assert torch.equal(values, torch.topk(other, 3, dim=axis).values)
            assert torch.equal(other.gather(axis, indices), values)
    with pytest.raises(TypeError, match="a is a ndarray, not a Tensor"):
        made(a.numpy())


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_rows_of_lengths_of_their_own(library):
    """A call reads the numbers that the plan's own arrays have then."""
    random = np.random.default_rng(3)
    made_of = np.asarray if library == "numpy" else pytest.importorskip("torch").as_tensor
    rows = made_of(random.random((6, 40), np.float32))
    lengths, starts = made_of(random.integers(0, 20, 6)), made_of(random.integers(0, 20, 6).astype(np.int32))
    made = kselect.plan(rows, 5, lengths=lengths, starts=starts, max_length=30, fill=-7, stable=True)
    for _ in range(3):
        wanted = kselect.top_k(rows, 5, lengths=lengths, starts=starts, fill=-7, stable=True)
        for found, right in zip(made(rows), wanted, strict=True):
            assert type(found) is type(rows) and np.array_equal(found, right)
        lengths[:] = made_of(random.integers(0, 20, 6))
        starts[2] = 0
    lengths[3] = 31
    starts[3] = 0
    with pytest.raises(ValueError, match="max_length = 30, but row 3 has 31"):
        made(rows)


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_segments(library):
    made_of = np.asarray if library == "numpy" else pytest.importorskip("torch").as_tensor
    rows = made_of(np.random.default_rng(3).random((4, 10)))
    offsets = made_of(np.array([0, 5, 5, 9, 40]))
    for a, axis in ((rows, None), (rows.reshape(-1), -1)):
        made = kselect.plan(a, 6, axis=axis, offsets=offsets, mode="smallest", stable=True)
        for ends in ([0, 5, 5, 9, 40], [0, 1, 40, 40, 40]):  # a longer row than when it was made
            offsets[:] = made_of(np.array(ends))
            wanted = kselect.top_k(a, 6, axis=axis, offsets=offsets, mode="smallest", stable=True)
            for found, right in zip(made(a), wanted, strict=True):
                assert found.shape == (4, 6) and np.array_equal(found, right)
    offsets[-1] = 41
    with pytest.raises(ValueError, match="offsets"):
        made(a)


def test_nan_last():
    a = np.random.default_rng(3).random((5, 30))
    a[:, ::3] = np.nan
    a[0, 1] = -np.nan
    made = kselect.plan(a, 25, nan="last", stable=True)
    for other in (a, a[::-1].copy()):
        for found, right in zip(made(other), kselect.top_k(other, 25, nan="last", stable=True), strict=True):
            assert np.array_equal(found, right, equal_nan=True)
    with pytest.raises(ValueError, match="nan is 'first'"):
        kselect.plan(a, 2, nan="first")


def test_all_axes_as_one():
    a = np.random.default_rng(3).random((5, 30))
    made = kselect.plan(a, 7, axis=None)
    for other in (a, -a, np.asfortranarray(a)):
        for found, right in zip(made(other), kselect.top_k(other, 7, axis=None), strict=True):
            assert found.shape == (7,) and np.array_equal(found, right)
    with pytest.raises(ValueError, match=r"a has shape \(150,\), not \(5, 30\)"):
        made(a.reshape(-1))


def test_rows_without_an_element():
    made = kselect.plan(np.zeros((3, 0)), 2, lengths=[0, 0, 0], fill=9)
    values, indices = made(np.zeros((3, 0)))
    assert (values == -np.inf).all() and (indices == 9).all()


def test_two_threads_in_one_plan_are_an_error(monkeypatch):
    """Both would write the plan's workspace. Eight threads crashed, never ended or answered wrongly."""
    rows = np.random.default_rng(3).random((64, 5000), np.float32)
    made = kselect.plan(rows, 20)
    others = []

    def call():
        try:
            for _ in range(40):
                with contextlib.suppress(RuntimeError):
                    made(rows)
        except BaseException as problem:  # noqa: BLE001  it would be lost with its thread
            others.append(problem)

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not others
    assert np.array_equal(made(rows).values, kselect.top_k(rows, 20).values)
    select = made._select

    def meanwhile(*given):
        with pytest.raises(RuntimeError, match="two threads need two plans"):
            made(rows)
        return select(*given)

    monkeypatch.setattr(made, "_select", meanwhile)
    made(rows)
