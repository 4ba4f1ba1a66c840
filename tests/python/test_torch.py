"""kselect.top_k on torch's tensors. Skipped where torch is absent."""

import numpy as np
import pytest
import reference

import kselect

torch = pytest.importorskip("torch")
GPU = pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU"))
DEVICES = ["cpu", GPU]
TYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
INTEGERS = [torch.int32, torch.int8, torch.uint8]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_like_torch(device, dtype, axis):
    a = torch.randn(7, 30, 11, dtype=dtype, device=device)
    for largest, mode in ((True, "largest"), (False, "smallest")):
        values, indices = kselect.top_k(a, 5, axis=axis, mode=mode)
        assert (values.device, values.dtype, indices.dtype) == (a.device, dtype, torch.int64)
        assert torch.equal(values, torch.topk(a, 5, dim=axis, largest=largest).values)
        assert torch.equal(a.gather(axis, indices), values)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("axis", [0, -1])
def test_integers_like_torch(device, dtype, axis):
    bounds = torch.iinfo(dtype)
    a = torch.randint(bounds.min, bounds.max + 1, (7, 30, 11), dtype=dtype, device=device)
    for largest, mode in ((True, "largest"), (False, "smallest")):
        for nan in ("total_order", "last"):
            values, indices = kselect.top_k(a, 5, axis=axis, mode=mode, nan=nan)
            assert torch.equal(values, torch.topk(a, 5, dim=axis, largest=largest).values)
            assert torch.equal(a.gather(axis, indices), values)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2"])
@pytest.mark.parametrize("nan", ["total_order", "last"])
def test_float8(device, name, nan):
    dtype = getattr(torch, name, None)
    if dtype is None:
        pytest.skip("this torch has no such type")
    a = torch.randint(0, 256, (20, 60), dtype=torch.uint8, device=device).view(dtype)
    values, indices = kselect.top_k(a, 60, nan=nan)
    assert (values.dtype, values.device) == (dtype, a.device)
    # Every element once, in order.
    assert torch.equal(indices.sort().values, torch.arange(60, device=device).expand(20, 60))
    wide = values.float()
    sorted_there = wide.nan_to_num(nan=torch.inf if nan == "total_order" else -torch.inf)
    signs = a.view(torch.uint8).gather(-1, indices) >= 128
    if nan == "total_order":
        sorted_there = torch.where(wide.isnan() & signs, -torch.inf, sorted_there)
    assert (sorted_there[:, :-1] >= sorted_there[:, 1:]).all()
    is_number = ~wide.isnan()
    assert torch.equal(a.float().gather(-1, indices)[is_number], wide[is_number])


@pytest.mark.parametrize("device", DEVICES)
def test_views_are_read_where_they_are(device):
    a = torch.randn(20, 60, device=device)
    for view in (a.T, a[:, 10:50], a[::2], a[0].expand(5, 60), a[:, ::2]):
        values, indices = kselect.top_k(view, 5, stable=True)
        wanted = reference.stable(view.cpu().numpy(), 5, -1, "largest")
        assert np.array_equal(values.cpu().numpy(), wanted[0])
        assert np.array_equal(indices.cpu().numpy(), wanted[1])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("axis", [0, -1, None])
def test_gradient_is_a_scatter(device, axis):
    a = torch.randn(6, 9, dtype=torch.float64, device=device, requires_grad=True)
    values, indices = kselect.top_k(a, 3, axis=axis)
    assert values.requires_grad and not indices.requires_grad
    weights = torch.randn_like(values)
    (got,) = torch.autograd.grad((values * weights).sum(), a)
    rows, dim = (a.reshape(-1), 0) if axis is None else (a, axis)
    (wanted,) = torch.autograd.grad((torch.topk(rows, 3, dim=dim).values * weights).sum(), a)
    assert torch.equal(got, wanted)
    with torch.no_grad():
        assert not kselect.top_k(a, 3, axis=axis).values.requires_grad


@pytest.mark.parametrize("device", DEVICES)
def test_outputs(device):
    a = torch.randn(6, 90, device=device)
    out = torch.empty(6, 4, device=device), torch.empty(6, 4, dtype=torch.int32, device=device)
    found = kselect.top_k(a, 4, out=out)
    assert found.values is out[0] and found.indices is out[1]
    assert torch.equal(out[0], torch.topk(a, 4).values)
    wide = torch.zeros(6, 8, device=device)
    kselect.top_k(a, 4, out=(wide[:, ::2], out[1]))
    assert torch.equal(wide[:, ::2], out[0]) and not wide[:, 1::2].any()
    with pytest.raises(ValueError, match="out has no gradient"):
        kselect.top_k(a.requires_grad_(), 4, out=out)


def test_refusals():
    with pytest.raises(TypeError, match="a has dtype int64"):
        kselect.top_k(torch.arange(4), 2)
    with pytest.raises(TypeError, match="a has layout"):
        kselect.top_k(torch.eye(3).to_sparse(), 2)
    with pytest.raises(TypeError, match="out: values are a ndarray, not a Tensor"):
        kselect.top_k(torch.ones(3), 2, out=(np.empty(2, "f4"), np.empty(2, "i8")))
    with pytest.raises(ValueError, match="k = 4"):
        kselect.top_k(torch.ones(3), 4)
    with pytest.raises(ValueError, match="stream is given"):
        kselect.top_k(torch.ones(3), 2, stream=0)
    assert kselect.top_k(torch.ones(0, 3), 2).values.shape == (0, 2)
    assert kselect.top_k(torch.ones(3), 2, index_dtype=torch.int32).indices.dtype == torch.int32


@pytest.mark.parametrize("device", DEVICES)
def test_the_operator_passes_torchs_checks(device):
    from kselect import _torch_op  # noqa: F401

    a = torch.randn(4, 9, 6, dtype=torch.float64, device=device, requires_grad=True)
    for axis in (0, 1, -1):
        torch.library.opcheck(torch.ops.kselect.top_k.default, (a, 3, axis, 7, True, 1))
        assert torch.autograd.gradcheck(lambda x: kselect.top_k(x, 3, axis=axis, stable=True)[0], (a,))
        assert torch.autograd.gradcheck(lambda x: torch.ops.kselect.top_k(x, 3, axis, 7, True, 1)[0], (a,))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("axis", [0, -1, None])
def test_compiled_without_a_break(device, axis):
    def loss(a):
        values, indices = kselect.top_k(a * 2, 3, axis=axis, mode="smallest", stable=True)
        return (values * (indices + 1)).sum()

    a = torch.randn(6, 40, device=device, requires_grad=True)
    wanted = loss(a)
    (wanted_gradient,) = torch.autograd.grad(wanted, a)
    found = torch.compile(loss, fullgraph=True, backend="aot_eager", dynamic=True)(a)
    assert torch.allclose(found, wanted)  # sums, whose terms may lie in another order
    (gradient,) = torch.autograd.grad(found, a)
    assert torch.equal(gradient, wanted_gradient)


def test_compiled_with_outputs():
    a = torch.randn(6, 40)

    def select(a, values, indices):
        kselect.top_k(a, 4, out=(values, indices))
        return values + 0

    out = torch.empty(6, 4), torch.empty(6, 4, dtype=torch.int32)
    found = torch.compile(select, fullgraph=True, backend="aot_eager")(a, *out)
    assert torch.equal(found, torch.topk(a, 4).values) and torch.equal(out[0], found)
    assert torch.equal(a.gather(1, out[1].long()), found)


def test_shapes_without_numbers():
    from torch._subclasses.fake_tensor import FakeTensorMode

    for axis, shape in ((0, (2, 7)), (1, (5, 2)), (None, (2,))):
        with FakeTensorMode():
            fake = kselect.top_k(torch.empty(5, 7), 2, axis=axis)
        meta = kselect.top_k(torch.empty(5, 7, device="meta"), 2, axis=axis)
        for found in (fake, meta):
            assert found.values.shape == found.indices.shape == shape
            assert (found.values.dtype, found.indices.dtype) == (torch.float32, torch.int64)
    with pytest.raises(RuntimeError, match="k = 9"):
        kselect.top_k(torch.empty(5, 7, device="meta"), 9)
    with pytest.raises(ValueError, match="axis 3 is out of bounds"):
        kselect.top_k(torch.empty(5, 7, device="meta"), 9, axis=3)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_streams_on_a_gpu():
    """The selection waits for what made its rows, on its stream, and the host does not wait for it."""
    side = torch.cuda.Stream()
    # A kernel is loaded when it is first used, which may wait for the GPU. So the first round is not judged.
    for is_judged in (False, True):
        for make_on, select_on in ((None, None), (side, None), (None, side)):
            with torch.cuda.stream(make_on):
                a = torch.zeros(64, 1 << 20, device="cuda")
                torch.cuda._sleep(200_000_000)  # about a tenth of a second
                a += torch.arange(1 << 20, device="cuda", dtype=torch.float32)
                begun = torch.cuda.Event()
                torch.cuda.set_sync_debug_mode("error" if is_judged else "default")
                try:
                    _, indices = kselect.top_k(a, 4, stream=select_on)
                finally:
                    torch.cuda.set_sync_debug_mode("default")
                begun.record(select_on or torch.cuda.current_stream())
            assert not is_judged or not begun.query(), "the call waited for the GPU"
            torch.cuda.synchronize()
            assert (indices.cpu() == torch.arange((1 << 20) - 1, (1 << 20) - 5, -1)).all()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_a_graph_captures_it():
    a = torch.randn(64, 5000, device="cuda")
    out = torch.empty(64, 9, device="cuda"), torch.empty(64, 9, dtype=torch.int64, device="cuda")
    made = kselect.plan(a, 9, mode="smallest")
    kselect.top_k(a, 9, out=out)  # reads the GPU's properties
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kselect.top_k(a, 9, out=out)
        made(a)
    for _ in range(3):
        a.copy_(torch.randn_like(a))
        graph.replay()
        torch.cuda.synchronize()
        assert torch.equal(out[0], torch.topk(a, 9).values)
        assert torch.equal(made.values, torch.topk(a, 9, largest=False).values)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_kept_plans_are_those_of_their_calls():
    """More kinds of calls than plans are kept, in random order, again and again."""
    random = np.random.default_rng(8)
    rows = [torch.randn(q, n, dtype=dtype, device="cuda") for q, n in ((1, 90), (7, 900), (90, 70)) for dtype in TYPES]
    for _ in range(400):
        a = rows[random.integers(len(rows))]
        k, largest, stable = int(random.integers(1, 40)), bool(random.integers(2)), bool(random.integers(2))
        in_order = bool(random.integers(2))
        mode = "largest" if largest else "smallest"
        values, indices = kselect.top_k(a, k, mode=mode, sorted=in_order, stable=stable)
        wanted = torch.topk(a, k, largest=largest).values
        assert torch.equal(values if in_order else values.sort(descending=largest).values, wanted)
        assert torch.equal(a.gather(1, indices), values)
