"""The example in Triton: by Triton's interpreter on NumPy's memory, without a GPU or torch, and on a GPU where one is.

The interpreter runs in a process of its own: what torch has imported of Triton before it is asked for is compiled.
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from source_tree import file_of_source

EXAMPLE = "examples/triton/least.py"


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


def load_example():
    spec = importlib.util.spec_from_file_location("least", file_of_source(EXAMPLE))
    module = importlib.util.module_from_spec(spec)
    sys.modules["least"] = module
    spec.loader.exec_module(module)
    return module


def interpret(folder):
    """Hold the kernel against `auto` in this process, whose environment asks for the interpreter."""
    import kselect.bench

    example = load_example()

    def call(rows, k, values, indices, stream):
        example.least(*(Tensor(a) if isinstance(a, np.ndarray) else a for a in (rows, k, values, indices, stream)))

    kselect.bench.register("triton-least", call, contract=example.CONTRACT)
    run = kselect.bench.run(
        [(50, 3, 4), (64, 2, 1)], algorithms=["triton-least", "auto"], out=folder, executor="cpu",
        measure={"warmup": 0, "rounds": 1, "min_samples": 1, "max_samples": 1},
    )  # fmt: skip
    assert [r["status"] for r in run.records] == ["ok"] * 4, run


@pytest.fixture
def run():
    """Runs Python with Triton, and with these variables, in another process."""
    if importlib.util.find_spec("triton") is None:
        pytest.skip("triton is not installed; with the libraries it brings it takes a gigabyte")
    pytest.importorskip("kselect.bench")

    def run(*arguments, **variables):
        command = [sys.executable, *map(str, arguments)]
        done = subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def test_the_kernel_passes_as_a_native_entry_does(run, tmp_path):
    file_of_source(EXAMPLE)
    run(__file__, tmp_path / "run", TRITON_INTERPRET="1")


def test_on_a_gpu(run, tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    from kselect import _select

    if not torch.cuda.is_available() or not _select.HAS_CUDA:
        pytest.skip("no GPU")
    monkeypatch.chdir(tmp_path)
    printed = run(file_of_source(EXAMPLE))
    assert "triton-least" in printed and "torch.topk" in printed
    assert "wrong" not in printed and "error" not in printed


if __name__ == "__main__":
    interpret(Path(sys.argv[1]))
