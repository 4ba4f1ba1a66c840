"""The short way of a call on a tensor of torch's: the long way's answers, and its errors. Skipped without torch."""

import itertools

import numpy as np
import pytest

import kselect
from kselect import _select, _top_k

torch = pytest.importorskip("torch")
GPU = pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU"))
DEVICES = ["cpu", GPU]
kselect.top_k(torch.ones(2), 1)  # loads what is torch's
if _top_k._Tensor is None:
    pytest.skip("this torch has no functions of C to read and make tensors", allow_module_level=True)

DEFAULTS = {
    "mode": "largest", "sorted": True, "nan": "total_order", "stable": False, "indices_only": False,
    "lengths": None, "starts": None, "offsets": None, "mask": None, "max_length": None, "fill": -1,
    "out": None, "index_dtype": None, "threads": None,
}  # fmt: skip


def short(a, k, **options):
    """None: not by the short way."""
    return _select.top_k_of_tensor(a, k, *(DEFAULTS | options).values())


@pytest.fixture
def long(monkeypatch):
    def call(a, k, **options):
        with monkeypatch.context() as patch:
            patch.setattr(_top_k, "_Tensor", None)
            return kselect.top_k(a, k, **options)

    return call


def same(found, wanted):
    found, wanted = ((x,) if isinstance(x, torch.Tensor) else x for x in (found, wanted))
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        assert type(one) is torch.Tensor and one.dtype == other.dtype and one.device == other.device
        assert one.shape == other.shape and one.stride() == other.stride()
        assert torch.equal(one, other)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("seed", range(30))
def test_random_calls(device, seed, long):
    random = np.random.default_rng(seed)
    shape = tuple(int(n) for n in random.integers(1, 40, random.integers(1, 4)))
    dtype = [torch.float16, torch.bfloat16, torch.float32, torch.float64][random.integers(4)]
    a = torch.tensor(random.normal(size=shape), device=device).to(dtype)
    k = int(random.integers(1, shape[-1] + 1))
    options = {
        "mode": str(random.choice(["largest", "smallest"])),
        "indices_only": bool(random.integers(2)),
        "index_dtype": [None, torch.int32, torch.int64][random.integers(3)],
        "stable": True,  # the only answer
    }
    if random.integers(2):
        numbers = torch.int32 if random.integers(2) else torch.int64
        options["lengths"] = torch.tensor(random.integers(0, shape[-1] + 1, shape[:-1]), dtype=numbers, device=device)
        options["fill"] = int(random.integers(-9, 9))
        if random.integers(2):
            options["max_length"] = shape[-1]
    if random.integers(2):
        of_rows = shape[:-1] if random.integers(2) else ()
        words = random.integers(-(1 << 31), 1 << 31, (*of_rows, -(-shape[-1] // 32)))
        options["mask"] = torch.tensor(words, dtype=torch.int32, device=device)
    found = short(a, k, **options)
    assert found is not None
    same(found, long(a, k, **options))
    if not options["indices_only"]:
        assert type(found) is kselect.TopK
    out = tuple(map(torch.empty_like, found)) if isinstance(found, tuple) else torch.empty_like(found)
    del options["index_dtype"]
    again = short(a, k, **options, out=out)
    same(again, found)
    assert all(x is y for x, y in zip(again, out, strict=True)) if isinstance(out, tuple) else again is out


@pytest.mark.parametrize("device", DEVICES)
def test_segments_and_starts(device, long):
    a = torch.randn(50, device=device)
    offsets = torch.tensor([0, 0, 9, 9, 31, 50], device=device)
    for given in ({"offsets": offsets}, {"offsets": offsets, "max_length": 30}):
        found = short(a, 4, stable=True, **given)
        assert found.values.shape == (5, 4)
        same(found, long(a, 4, stable=True, **given))
    matrix = a.reshape(5, 10)
    starts = torch.tensor([0, 3, 10, 9, 1], dtype=torch.int32, device=device)
    same(short(matrix, 4, starts=starts, stable=True), long(matrix, 4, starts=starts, stable=True))
    words = torch.tensor([0x5A5A5A5A, 0x3FFFF], dtype=torch.int32, device=device)
    masked = {"offsets": offsets, "mask": words, "stable": True}
    same(short(a, 4, **masked), long(a, 4, **masked))
    assert short(a, 4, **masked).indices.tolist() != short(a, 4, offsets=offsets, stable=True).indices.tolist()


@pytest.mark.parametrize("device", DEVICES)
def test_outputs_are_torchs_own(device):
    """Memory of torch's allocator, which may grow, and which torch follows through streams."""
    for made in short(torch.randn(3, 8, device=device), 2):
        assert made.untyped_storage().resizable()
        assert not made.requires_grad and made._base is None and made.is_contiguous()
        made.resize_(100)
    with torch.inference_mode():
        assert short(torch.randn(3, 8, device=device), 2).values.is_inference()


@pytest.mark.parametrize("device", DEVICES)
def test_other_tensors_go_the_long_way(device):
    a = torch.randn(6, 9, device=device)
    square = torch.randn(4, 6, dtype=torch.complex64, device=device)
    negative = square.conj().imag
    assert negative.is_neg()
    for other in (
        a.clone().requires_grad_(), negative, a.to_sparse(), torch.arange(4, device=device), a[:0], a[0, 0],
        torch.nn.Parameter(a, requires_grad=False), torch.empty(3, 4, device="meta"), a.tolist(), None,
    ):  # fmt: skip
        assert short(other, 1) is None
    assert torch.equal(kselect.top_k(negative, 2).values, torch.topk(negative.clone(), 2).values)
    memory = torch.randn(4, 8, device=device)
    assert short(memory, 2, out=(memory[:, :2], torch.empty(4, 2, dtype=torch.int64, device=device))) is None
    dense = memory.reshape(-1)[:8].reshape(4, 2)
    assert short(memory, 2, out=(dense, torch.empty(4, 2, dtype=torch.int64, device=device))) is None


WRONG = [
    {"mode": "most"}, {"mode": None}, {"nan": "first"}, {"index_dtype": torch.int16}, {"threads": 0},
    {"max_length": 3}, {"lengths": torch.tensor([1, 2])}, {"lengths": torch.tensor([1, 2, 99])},
    {"lengths": torch.ones(3)}, {"starts": torch.tensor([-1, 0, 0])}, {"offsets": torch.tensor([0, 9])},
    {"lengths": torch.tensor([1, 2, 3]), "max_length": 0}, {"lengths": torch.tensor([1, 2, 3]), "max_length": 2},
    {"lengths": torch.tensor([1, 2, 3]), "fill": 1 << 63}, {"mask": torch.ones(1)}, {"mask": torch.ones(2).int()},
    {"mask": torch.ones(2, 1).int()}, {"mask": torch.tensor(1).int()}, {"mask": np.ones(9, bool)},
    {"lengths": torch.tensor([1, 2, 3]), "fill": 1 << 40, "index_dtype": torch.int32},
    {"out": torch.empty(3, 2)}, {"out": (torch.empty(3, 2), torch.empty(3, 2))},
    {"out": (torch.empty(3, 3), torch.empty(3, 2, dtype=torch.int64))}, {"out": (np.empty((3, 2)), None)},
    {"out": torch.empty(3, 2, dtype=torch.int64), "indices_only": True, "index_dtype": torch.int32},
]  # fmt: skip


@pytest.mark.parametrize("options", WRONG, ids=str)
def test_errors_are_those_of_the_long_way(options, long):
    a = torch.randn(3, 8)
    assert short(a, 2, **options) is None
    with pytest.raises((ValueError, TypeError)) as wanted:
        long(a, 2, **options)
    with pytest.raises(wanted.type) as found:
        kselect.top_k(a, 2, **options)
    assert str(found.value) == str(wanted.value)


def test_it_keeps_no_reference():
    import gc
    import sys

    a, lengths = torch.randn(3, 8), torch.tensor([1, 2, 3])
    out = torch.empty(3, 2), torch.empty(3, 2, dtype=torch.int64)
    objects = (a, lengths, out, *out, kselect.TopK, None.__class__)
    for call, given in itertools.product((short, kselect.top_k), ({}, {"out": out}, {"lengths": lengths}, {"k": 9})):
        options = dict(given)
        k = options.pop("k", 2)

        def once(call=call, k=k, options=options):
            try:
                call(a, k, **options)
            except ValueError:
                assert k == 9

        once()
        gc.collect()
        before = [sys.getrefcount(one) for one in objects]
        for _ in range(50):
            once()
        gc.collect()
        assert [sys.getrefcount(one) for one in objects] == before


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("seed", range(12))
def test_plans_by_the_short_way(device, seed):
    """With other rows of the same shape, in other layouts, and with lengths that change."""
    random = np.random.default_rng(seed)
    shape = tuple(int(n) for n in random.integers(1, 40, random.integers(1, 4)))
    dtype = [torch.float16, torch.bfloat16, torch.float32, torch.float64][random.integers(4)]
    k = int(random.integers(1, shape[-1] + 1))
    options = {"mode": str(random.choice(["largest", "smallest"])), "stable": True}
    lengths = torch.tensor(random.integers(0, shape[-1] + 1, shape[:-1]), device=device)
    if random.integers(2):
        options["lengths"] = lengths
    a = torch.tensor(random.normal(size=shape), device=device).to(dtype)
    made = kselect.plan(a, k, **options)
    assert made._kept is not None
    for turn in range(4):
        rows = torch.tensor(random.normal(size=shape), device=device).to(dtype)
        if turn == 2:
            rows = rows.flip(0)
        if turn == 3:
            rows = torch.stack((rows, rows), -1)[..., 0]
        assert turn == 3 or _select.run_kept(made._kept, rows)
        found = made(rows)
        assert found.values is made.values and found.indices is made.indices
        same(found, kselect.top_k(rows, k, **options))
        lengths.copy_(torch.tensor(random.integers(0, shape[-1] + 1, shape[:-1])))


def test_a_plan_says_what_is_wrong():
    made = kselect.plan(torch.randn(3, 8), 2)
    negative = torch.randn(3, 8, dtype=torch.complex64).conj().imag
    assert torch.equal(made(negative).values, torch.topk(negative.clone(), 2).values)
    assert torch.equal(made(torch.ones(3, 8).requires_grad_()).values, torch.ones(3, 2))
    for wrong, says in (
        (torch.randn(3, 9), r"a has shape \(3, 9\)"), (torch.randn(24), "a has shape"), (np.ones((3, 8)), "a is a ndarray"),
        (torch.randn(3, 8).double(), "a has dtype float64"), (torch.randn(3, 8, device="meta"), "a is on meta, not on cpu"),
    ):  # fmt: skip
        assert not _select.run_kept(made._kept, wrong)
        with pytest.raises((ValueError, TypeError), match=says):
            made(wrong)
    with pytest.raises(ValueError):
        _select.run_kept(None, torch.randn(3, 8))


def test_a_plan_keeps_its_lengths_alive():
    import gc
    import weakref

    lengths = torch.tensor([1, 2, 3])
    made = kselect.plan(torch.randn(3, 8), 2, lengths=lengths)
    kept = weakref.ref(lengths)
    del lengths
    gc.collect()
    assert kept() is not None
    assert made(torch.ones(3, 8)).indices[0].tolist() == [0, -1]
    del made
    gc.collect()
    assert kept() is None


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", ["int32", "uint32", "int8", "uint8", "float8_e4m3fn", "float8_e5m2"])
def test_other_types(device, name, long):
    dtype = getattr(torch, name)
    try:
        a = torch.arange(120).reshape(4, 30).to(torch.float32).to(dtype).to(device)
    except (RuntimeError, NotImplementedError) as reason:  # torch itself knows little of some types
        pytest.skip(f"this torch makes no {name} on {device}: {reason}")
    by_short = short(a, 5, stable=True)
    found, wanted = kselect.top_k(a, 5, stable=True), long(a, 5, stable=True)
    for one in (found, by_short or found):
        assert one.values.dtype == dtype and one.values.device == a.device
        assert torch.equal(one.values.view(torch.uint8), wanted.values.view(torch.uint8))
        assert torch.equal(one.indices, wanted.indices)
    assert (by_short is not None) == (name in ("int32", "uint32", "int8", "uint8"))
