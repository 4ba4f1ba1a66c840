"""The example in Triton, by Triton's interpreter on NumPy's memory: neither a GPU nor torch is needed."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

import kselect

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "triton" / "least.py"


class Tensor:
    """What the interpreter asks of a tensor of torch's."""

    def __init__(self, array):
        self.array = array
        self.shape = array.shape

    def data_ptr(self):
        return self.array.ctypes.data

    @property
    def dtype(self):
        return {"float32": "fp32", "int32": "i32", "int64": "i64"}[self.array.dtype.name]

    def stride(self, axis=None):
        every = [step // self.array.itemsize for step in self.array.strides]
        return every if axis is None else every[axis]

    def size(self):
        return self.shape

    def storage_offset(self):
        return 0

    def untyped_storage(self):
        return self

    def cpu(self):
        return self

    def new_empty(self, size, device):
        return Tensor(np.empty(size))

    def set_(self, storage, offset, size, stride):
        self.array, self.shape = storage.array, storage.shape

    def copy_(self, other):
        assert other.array is self.array


@pytest.fixture
def example(monkeypatch):
    if importlib.util.find_spec("triton") is None:
        pytest.skip("triton is not installed; with the libraries it brings it takes a gigabyte")
    bench = pytest.importorskip("kselect.bench")
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    assert bench is kselect.bench
    spec = importlib.util.spec_from_file_location("least", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "least", module)
    spec.loader.exec_module(module)
    return module


def test_the_kernel_passes_as_a_native_entry_does(example, tmp_path):
    def call(rows, k, values, indices, stream):
        example.least(*(Tensor(a) if isinstance(a, np.ndarray) else a for a in (rows, k, values, indices, stream)))

    kselect.bench.register("triton-least", call, contract=example.CONTRACT)
    run = kselect.bench.run(
        [(50, 3, 4), (64, 2, 1)], algorithms=["triton-least", "auto"], out=tmp_path / "run", executor="cpu",
        measure={"warmup": 0, "rounds": 1, "min_samples": 1, "max_samples": 1},
    )  # fmt: skip
    assert [r["status"] for r in run.records] == ["ok"] * 4, run
