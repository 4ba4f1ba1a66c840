"""Rows of lengths of their own, indices alone and NaN last on torch's tensors. Skipped where torch is absent."""

import numpy as np
import pytest
from test_ragged import awkward, check_row

import kselect

torch = pytest.importorskip("torch")
HAS_GPU = torch.cuda.is_available()
GPU = pytest.param("cuda", marks=pytest.mark.skipif(not HAS_GPU, reason="no GPU"))
DEVICES = ["cpu", GPU]
OPTIONS = {"mode": "largest", "nan": "last", "sorted": True, "stable": False, "fill": -1}


def on_host(tensor):
    return None if tensor is None else tensor.detach().cpu().numpy()


def check(parts, found, options, only=False):
    values, indices = (None, found) if only else found
    for row, part in enumerate(parts):
        of_values = None if only else on_host(values[row])
        if of_values is not None and torch.is_tensor(values) and values.is_cuda and options["nan"] == "last":
            # On a GPU each NaN of the answer may be another one.
            at = on_host(indices[row])[: len(part)]
            found_here = min(len(part), len(of_values))
            same = np.where(np.isnan(of_values[:found_here]), part[at[:found_here]], of_values[:found_here])
            of_values = np.concatenate([same, of_values[found_here:]]).astype(part.dtype)
        check_row(part, of_values, on_host(indices[row]), options)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("seed", range(60))
def test_random_problems(device, seed):
    random = np.random.default_rng(seed)
    q, n = int(random.integers(1, 30)), int(random.integers(1, 300 if device == "cpu" else 6000))
    a = awkward(random, (q, n), random.choice([np.float16, np.float32, np.float64]))
    options = {**OPTIONS, "mode": str(random.choice(["largest", "smallest"]))}
    options["nan"] = str(random.choice(["last", "total_order"]))
    options["sorted"], options["stable"] = bool(random.integers(2)), bool(random.integers(2))
    kind, k, only = random.integers(4), int(random.integers(1, min(n, 200) + 1)), bool(random.integers(2))
    starts = random.integers(0, n + 1, q).astype(random.choice([np.int32, np.int64]))
    lengths = (random.random(q) * (n - starts + 1)).astype(random.choice([np.int32, np.int64]))
    tensors = torch.from_numpy(a).to(device), torch.from_numpy(starts).to(device), torch.from_numpy(lengths).to(device)
    if kind == 0:
        given, parts = {}, list(a)
    elif kind == 1:
        given = {"lengths": tensors[2], "fill": 7}
        parts = [row[:length] for row, length in zip(a, lengths, strict=True)]
    elif kind == 2:
        given = {"lengths": tensors[2], "starts": tensors[1]}
        parts = [row[s : s + m] for row, s, m in zip(a, starts, lengths, strict=True)]
    else:
        cuts = np.sort(random.integers(0, a.size + 1, q + 1))
        given = {"offsets": torch.from_numpy(cuts).to(device), "axis": None}
        parts = [a.reshape(-1)[begin:end] for begin, end in zip(cuts, cuts[1:], strict=False)]
    options["fill"] = given.get("fill", -1)
    found = kselect.top_k(tensors[0], k, indices_only=only, **{**options, **given})
    assert (found if only else found.indices).device == tensors[0].device
    check(parts, found, options, only)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("nan", ["last", "total_order"])
def test_gradients(device, nan):
    a = torch.randn(5, 8, 6, dtype=torch.float64, device=device, requires_grad=True)
    for axis in (0, 1, -1):
        rows = [n for i, n in enumerate(a.shape) if i != axis % 3]
        length = a.shape[axis]
        starts = torch.randint(0, length + 1, rows, device=device)
        lengths = (torch.rand(rows, device=device) * (length - starts + 1)).long()
        weights = torch.randn(*a.movedim(axis, -1).shape[:-1], 4, dtype=torch.float64, device=device).movedim(-1, axis)
        values, indices = kselect.top_k(a, 4, axis=axis, lengths=lengths, starts=starts, nan=nan)
        is_element = indices >= 0
        (got,) = torch.autograd.grad((torch.where(is_element, values, 0) * weights).sum(), a)
        at = torch.where(is_element, indices + starts.unsqueeze(axis), 0)
        taken = torch.where(is_element, a.gather(axis, at), 0)
        (wanted,) = torch.autograd.grad((taken * weights).sum(), a)
        assert torch.equal(got, wanted) and got.any()
    flat = torch.randn(30, dtype=torch.float64, device=device, requires_grad=True)
    offsets = torch.tensor([0, 4, 4, 29], device=device)
    values = kselect.top_k(flat, 5, offsets=offsets, nan=nan).values
    (got,) = torch.autograd.grad(torch.where(values.isinf(), 0, values).sum(), flat)
    assert got[:4].eq(1).all() and got[4:29].sum() == 5 and got[29] == 0
    assert not kselect.top_k(a, 3, indices_only=True).requires_grad


@pytest.mark.parametrize("device", DEVICES)
def test_the_operators_pass_torchs_checks(device):
    from kselect import _torch_op  # noqa: F401

    operators = torch.ops.kselect
    a = torch.randn(2, 5, 4, dtype=torch.float64, device=device, requires_grad=True)
    for axis in (1, -1):
        shape = [n for i, n in enumerate(a.shape) if i != axis % 3]
        lengths = torch.full(shape, 2, device=device)
        matrix = (a, 3, axis, 7, True, 1, lengths, None, None, None, 0, -1)
        torch.library.opcheck(operators.top_k_of_ragged.default, matrix)
        torch.library.opcheck(operators.top_k_indices.default, matrix)
        rest = (2, *matrix[2:])  # two of two: what fills a row up is infinite, which no difference can measure
        assert torch.autograd.gradcheck(lambda x, rest=rest: operators.top_k_of_ragged(x, *rest)[0], (a,))
    flat = torch.randn(30, dtype=torch.float64, device=device, requires_grad=True)
    segments = (flat, 3, 0, 7, False, 1, None, None, torch.tensor([0, 9, 30], device=device), None, 0, -1)
    torch.library.opcheck(operators.top_k_of_ragged.default, segments)
    torch.library.opcheck(operators.top_k_indices.default, (flat, 3, 0, 7, False, 1, None, None, None, None, 0, -1))


@pytest.mark.parametrize("device", DEVICES)
def test_compiled_without_a_break(device):
    def loss(a, lengths):
        values, indices = kselect.top_k(a * 2, 3, lengths=lengths, mode="smallest", nan="last", fill=-5)
        only = kselect.top_k(a, 2, axis=0, indices_only=True, index_dtype=torch.int32)
        return torch.where(indices < 0, 0, values * (indices + 1)).sum() + only.sum()

    a = torch.randn(6, 40, device=device, requires_grad=True)
    lengths = torch.tensor([0, 1, 5, 40, 40, 2], device=device)
    wanted = loss(a, lengths)
    (wanted_gradient,) = torch.autograd.grad(wanted, a)
    found = torch.compile(loss, fullgraph=True, backend="aot_eager", dynamic=True)(a, lengths)
    assert torch.allclose(found, wanted)  # sums, whose terms may lie in another order
    (gradient,) = torch.autograd.grad(found, a)
    assert torch.equal(gradient, wanted_gradient)


def test_shapes_without_numbers():
    from torch._subclasses.fake_tensor import FakeTensorMode

    def on(device):
        return (
            torch.empty(5, 7, device=device), torch.empty(7, dtype=torch.int32, device=device),
            torch.empty(4, dtype=torch.int64, device=device),
        )  # fmt: skip

    with FakeTensorMode():
        fake = on("cpu")
    for a, lengths, offsets in (fake, on("meta")):
        with a.fake_mode if hasattr(a, "fake_mode") else torch.no_grad():
            matrix = kselect.top_k(a, 9, axis=0, lengths=lengths)
            segments = kselect.top_k(a, 9, axis=None, offsets=offsets)
            only = kselect.top_k(a, 2, axis=0, indices_only=True)
        assert matrix.values.shape == matrix.indices.shape == (9, 7)
        assert segments.values.shape == segments.indices.shape == (3, 9)
        assert (only.shape, only.dtype) == ((2, 7), torch.int64)


def test_refusals():
    with pytest.raises(ValueError, match="offsets are given"):
        kselect.top_k(torch.ones(2, 3), 1, offsets=torch.tensor([0, 3]))
    with pytest.raises(TypeError, match="lengths has dtype float32"):
        kselect.top_k(torch.ones(3), 1, lengths=torch.tensor(2.0))
    a = torch.ones(3, requires_grad=True)
    with pytest.raises(ValueError, match="out has no gradient"):
        kselect.top_k(a, 1, lengths=2, out=(torch.ones(1), torch.ones(1, dtype=torch.int64)))


@pytest.mark.skipif(not HAS_GPU, reason="no GPU")
def test_refusals_on_a_gpu():
    a = torch.ones(3, 4, device="cuda")
    for lengths, error in (([1, 2, 3], TypeError), (np.ones(3, int), TypeError), (torch.ones(3).int(), ValueError),
                           (torch.ones(3, device="cuda"), TypeError), (torch.ones(4, device="cuda").int(), ValueError)):
        with pytest.raises(error, match="lengths"):
            kselect.top_k(a, 2, lengths=lengths)
    with pytest.raises(TypeError, match="lengths is on a GPU"):
        kselect.top_k(a.cpu(), 2, lengths=torch.ones(3, device="cuda").int())


@pytest.mark.skipif(not HAS_GPU, reason="no GPU")
def test_the_call_waits_for_nothing_and_the_kernel_for_the_lengths():
    side = torch.cuda.Stream()
    # A kernel is loaded when it is first used, which may wait for the GPU. So the first round is not judged.
    for is_judged in (False, True):
        for make_on, select_on in ((None, None), (side, None), (None, side)):
            with torch.cuda.stream(make_on):
                a = torch.arange(1 << 20, device="cuda", dtype=torch.float32).expand(64, -1).contiguous()
                lengths = torch.zeros(64, device="cuda", dtype=torch.int32)
                torch.cuda._sleep(200_000_000)  # about a tenth of a second
                lengths += 1000
                begun = torch.cuda.Event()
                torch.cuda.set_sync_debug_mode("error" if is_judged else "default")
                try:
                    found = kselect.top_k(a, 4, lengths=lengths, stream=select_on, indices_only=True, nan="last")
                finally:
                    torch.cuda.set_sync_debug_mode("default")
                begun.record(select_on or torch.cuda.current_stream())
            assert not is_judged or not begun.query(), "the call waited for the GPU"
            torch.cuda.synchronize()
            assert (found.cpu().sort().values == torch.arange(996, 1000)).all()


@pytest.mark.skipif(not HAS_GPU, reason="no GPU")
def test_a_replayed_graph_reads_the_lengths_of_the_moment():
    a = torch.randn(64, 5000, device="cuda")
    lengths = torch.full((64,), 5000, device="cuda", dtype=torch.int32)
    kselect.top_k(a, 9, lengths=lengths)  # reads the GPU's properties
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        values, indices = kselect.top_k(a, 9, lengths=lengths)
    for length in (5000, 9, 700):
        lengths.fill_(length)
        graph.replay()
        torch.cuda.synchronize()
        assert torch.equal(values, torch.topk(a[:, :length], 9).values)
