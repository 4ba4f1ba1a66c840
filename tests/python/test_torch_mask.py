"""Selection under masks from torch's tensors. Skipped where torch is absent."""

import numpy as np
import pytest
from test_mask import FORMS, as_given, check_admitted, mask_of
from test_ragged import awkward

import kselect

torch = pytest.importorskip("torch")
HAS_GPU = torch.cuda.is_available()
GPU = pytest.param("cuda", marks=pytest.mark.skipif(not HAS_GPU, reason="no GPU"))
DEVICES = ["cpu", GPU]


def there(array, device):
    return torch.from_numpy(array.copy()).to(device)


def problem_of(random, n):
    """Rows, options that say which elements they have, and of each row its part and what is admitted, as slices."""
    q = int(random.integers(1, 30))
    a = awkward(random, (q, n), random.choice([np.float16, np.float32, np.float64, np.int32]))
    starts = random.integers(0, n + 1, q)
    lengths = (random.random(q) * (n - starts + 1)).astype(np.int32)
    kind, each = random.integers(4), bool(random.integers(2))
    mask = mask_of(random, (q, n) if each else (n,))
    of_rows = np.broadcast_to(mask, (q, n))
    if kind == 3:
        cuts = np.sort(random.integers(0, a.size + 1, q + 1))
        flat = of_rows.reshape(-1)
        parts = [(a.reshape(-1)[b:e], flat[b:e]) for b, e in zip(cuts, cuts[1:], strict=False)]
        return a, {"offsets": cuts, "axis": None}, flat, parts
    given, begin, end = [({}, 0 * starts, 0 * starts + n), ({"lengths": lengths}, 0 * starts, lengths),
                         ({"starts": starts, "lengths": lengths}, starts, starts + lengths)][kind]
    parts = [(row[b:e], bits[b:e]) for row, bits, b, e in zip(a, of_rows, begin, end, strict=True)]
    return a, given, mask, parts


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("seed", range(60))
def test_random_problems(device, seed):
    random = np.random.default_rng(seed)
    a, given, mask, parts = problem_of(random, int(random.integers(1, 300 if device == "cpu" else 6000)))
    options = {"mode": str(random.choice(["largest", "smallest"])), "nan": "total_order", "fill": int(random.integers(9)),
               "sorted": bool(random.integers(2)), "stable": bool(random.integers(2))}
    bits = as_given(random, mask, random.choice(FORMS))
    tensors = {name: None if one is None else there(one, device) for name, one in given.items()}
    k = int(random.integers(1, min(a.shape[1], 200) + 10))
    values, indices = kselect.top_k(there(a, device), k, **options, **tensors, mask=there(bits, device))
    assert indices.device.type == device
    for row, (part, admitted) in enumerate(parts):
        check_admitted(part, admitted, values[row].cpu().numpy(), indices[row].cpu().numpy(), options)


@pytest.mark.parametrize("device", DEVICES)
def test_words_are_those_of_numpy(device):
    from kselect import _torch, _torch_ragged

    random = np.random.default_rng(3)
    for n in (1, 31, 32, 33, 64, 1000):
        mask = random.random((5, n)) < 0.5
        wanted = np.zeros((5, -(-n // 32) * 4), np.uint8)
        bits = np.packbits(mask, axis=-1, bitorder="little")
        wanted[:, : bits.shape[1]] = bits
        for given in (mask, bits, wanted.view(np.uint32)):
            words = _torch.mask_words(there(given, device), n)
            assert words.dtype is torch.int32 and words.is_contiguous()
            assert (words.cpu().numpy() == wanted.view(np.int32)).all()
    for shape in ((0, 40), (3, 0), (0,), (2, 0, 40)):
        for dtype in (torch.bool, torch.uint8):
            words = _torch.mask_words(torch.zeros(shape, dtype=dtype, device=device), shape[-1])
            assert words.dtype is torch.int32 and words.shape == (*shape[:-1], -(-shape[-1] // 32))
    bytes_of_any_bits = torch.tensor([0, 255, 2, 0] * 8, dtype=torch.uint8, device=device).view(torch.bool)
    assert _torch.mask_words(bytes_of_any_bits, 32).item() == 0x66666666
    mask = there(random.random((70, 65)) < 0.5, device)
    for part in (mask.T[:, :64], mask[:, 1:], mask[3:5, :64], mask.reshape(-1)[3:67], mask.expand(2, 70, 65)):
        words = _torch.mask_words(part, part.shape[-1])
        assert torch.equal(words, _torch.mask_words(part.clone(), part.shape[-1]))
        assert torch.equal(_torch_ragged.unpacked(words, part.shape[-1]).bool(), part)


@pytest.mark.parametrize("device", DEVICES)
def test_bfloat16_and_other_axes(device):
    a = torch.randn(40, 6, 50, device=device).bfloat16()
    mask = torch.rand(a.shape, device=device) < 0.5
    for axis in (0, 1, -1):
        values, indices = kselect.top_k(a, 3, axis=axis, mask=mask, fill=0)
        wanted = torch.topk(a.masked_fill(~mask, -torch.inf), 3, dim=axis).values
        assert torch.equal(values, wanted)
        is_element = values > -torch.inf
        assert mask.gather(axis, indices)[is_element].all()
        assert torch.equal(a.gather(axis, indices)[is_element], values[is_element])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("form", FORMS)
def test_gradients(device, form):
    random = np.random.default_rng(5)
    a = torch.randn(5, 70, dtype=torch.float64, device=device, requires_grad=True)
    starts = torch.randint(0, 60, (5,), device=device)
    lengths = torch.full((5,), 10, device=device)
    for mask in (mask_of(random, (70,)), mask_of(random, (5, 70))):
        given = there(as_given(random, mask, form), device)
        # A fill that could be an index does not mislead.
        values, indices = kselect.top_k(a, 6, mask=given, starts=starts, lengths=lengths, fill=2)
        is_element = values.isfinite()
        (got,) = torch.autograd.grad(torch.where(is_element, values, 0).sum(), a)
        at = torch.where(is_element, indices + starts.unsqueeze(1), 0)
        wanted = torch.zeros_like(a).scatter_add(1, at, is_element.double())
        assert torch.equal(got, wanted)
    flat = torch.randn(30, dtype=torch.float64, device=device, requires_grad=True)
    offsets, mask = torch.tensor([0, 4, 4, 29], device=device), torch.arange(30, device=device) % 2 == 0
    values = kselect.top_k(flat, 20, offsets=offsets, mask=mask).values
    (got,) = torch.autograd.grad(torch.where(values.isinf(), 0, values).sum(), flat)
    assert torch.equal(got, mask.double() * (torch.arange(30, device=device) < 29))


@pytest.mark.parametrize("device", DEVICES)
def test_the_operators_pass_torchs_checks(device):
    from kselect import _torch_op  # noqa: F401

    operators = torch.ops.kselect
    a = torch.randn(2, 5, 4, dtype=torch.float64, device=device, requires_grad=True)
    each, bits = torch.rand(a.shape, device=device) < 0.7, torch.tensor([11], dtype=torch.uint8, device=device)
    torch.library.opcheck(operators.top_k_of_ragged.default, (a, 2, 1, 7, True, 1, None, None, None, each, 0, -1))
    torch.library.opcheck(operators.top_k_indices.default, (a, 2, -1, 7, True, 1, None, None, None, bits, 0, -1))


@pytest.mark.parametrize("device", DEVICES)
def test_compiled_without_a_break(device):
    def loss(a, mask):
        values, indices = kselect.top_k(a * 2, 3, mask=mask, mode="smallest", fill=-5)
        flat = kselect.top_k(a, 2, axis=None, mask=mask, indices_only=True)
        return torch.where(indices < 0, 0, values * (indices + 1)).sum() + flat.sum()

    a = torch.randn(6, 40, device=device, requires_grad=True)
    mask = torch.rand(6, 40, device=device) < torch.tensor([0, 0.02, 0.05, 0.5, 1, 1], device=device).unsqueeze(1)
    wanted = loss(a, mask)
    (wanted_gradient,) = torch.autograd.grad(wanted, a)
    found = torch.compile(loss, fullgraph=True, backend="aot_eager", dynamic=True)(a, mask)
    assert torch.allclose(found, wanted)  # sums, whose terms may lie in another order
    (gradient,) = torch.autograd.grad(found, a)
    assert torch.equal(gradient, wanted_gradient)


@pytest.mark.parametrize("device", DEVICES)
def test_a_plan_reads_the_words_of_the_moment(device):
    a = torch.randn(20, 100, device=device)
    words = torch.zeros(20, 4, dtype=torch.int32, device=device)
    made = kselect.plan(a, 5, mask=words)
    for bits in (0, 1, 0b1011):
        words[:, 2] = bits
        found = made(a)
        wanted = kselect.top_k(a, 5, mask=words)
        assert torch.equal(found.values, wanted.values) and torch.equal(found.indices, wanted.indices)
        assert (found.indices >= 0).sum() == 20 * bits.bit_count()
    made = kselect.plan(a, 2, mask=torch.arange(100, device=device) < 50)
    assert torch.equal(made(a).values, a[:, :50].topk(2).values)


def test_refusals():
    a = torch.ones(3, 40)
    for mask, error, message in (
        (torch.ones(39, dtype=torch.bool), ValueError, r"mask has shape \(39,\) and dtype bool"),
        (torch.ones(40), TypeError, "mask has dtype float32"),
        (torch.ones(3, 1, dtype=torch.int32), ValueError, r"must have \(2,\) or \(3, 2\)"),
    ):
        with pytest.raises(error, match=message):
            kselect.top_k(a, 1, mask=mask)


@pytest.mark.skipif(not HAS_GPU, reason="no GPU")
def test_refusals_on_a_gpu():
    a, mask = torch.ones(3, 40, device="cuda"), torch.ones(40, dtype=torch.bool)
    for given, error in ((mask.numpy(), TypeError), (mask, ValueError), (mask[:39].cuda(), ValueError)):
        with pytest.raises(error, match="mask"):
            kselect.top_k(a, 2, mask=given)
    with pytest.raises(TypeError, match="mask is on a GPU"):
        kselect.top_k(a.cpu(), 2, mask=mask.cuda())


@pytest.mark.skipif(not HAS_GPU, reason="no GPU")
@pytest.mark.parametrize("packed", [False, True])
def test_the_call_waits_for_nothing(packed):
    a = torch.arange(1 << 20, device="cuda", dtype=torch.float32).expand(16, -1).contiguous()
    mask = torch.zeros(1 << 20, dtype=torch.bool, device="cuda")
    words = torch.zeros(1 << 15, dtype=torch.int32, device="cuda")
    side = torch.cuda.Stream()
    # A kernel is loaded when it is first used, which may wait for the GPU. So the first round is not judged.
    for is_judged in (False, True):
        torch.cuda._sleep(200_000_000)  # about a tenth of a second
        mask[:1000] = True
        words[:31].fill_(-1)  # words[31] = 255 would wait for the GPU
        words[31:32].fill_(255)
        begun = torch.cuda.Event()
        torch.cuda.set_sync_debug_mode("error" if is_judged else "default")
        try:
            found = kselect.top_k(a, 4, mask=words if packed else mask, stream=side, indices_only=True)
        finally:
            torch.cuda.set_sync_debug_mode("default")
        begun.record(side)
        assert not is_judged or not begun.query(), "the call waited for the GPU"
        torch.cuda.synchronize()
        assert (found.cpu().sort().values == torch.arange(996, 1000)).all()


@pytest.mark.skipif(not HAS_GPU, reason="no GPU")
@pytest.mark.parametrize("packed", [False, True])
def test_a_replayed_graph_reads_the_mask_of_the_moment(packed):
    a = torch.randn(64, 6400, device="cuda")
    mask = torch.ones(6400, dtype=torch.bool, device="cuda")
    words = torch.full((200,), -1, dtype=torch.int32, device="cuda")
    given = words if packed else mask
    kselect.top_k(a, 9, mask=given)  # reads the GPU's properties
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        values, _ = kselect.top_k(a, 9, mask=given)
    for first in (0, 32, 6368):
        mask[:first] = False
        words[: first // 32] = 0
        graph.replay()
        torch.cuda.synchronize()
        assert torch.equal(values, torch.topk(a[:, first:], 9).values)
