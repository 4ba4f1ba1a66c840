"""Rivals that are compiled from a checkout: why one is left out, what is compiled when, and how it is called."""

import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from peers import callables, from_checkout, rivals
from peers.from_checkout import Missing, Source

RTOPK, BITS, RAFT = from_checkout.SOURCES
# Selects the largest k of each row as the bridges of peers/checkouts do, in memory of the host.
LARGEST = """
#include <stdlib.h>
static const float *row;
static int compare(const void *a, const void *b) {
  const float x = row[*(const int *)a], y = row[*(const int *)b];
  return x < y ? 1 : x > y ? -1 : 0;
}
int kselect_peer(const float *rows, float *values, int *indices, int q, int n, int k, int largest, void *stream) {
  if (stream != (void *)7 || !largest) return 1;
  int *order = malloc(n * sizeof(int));
  for (int i = 0; i < q; ++i) {
    row = rows + (long)i * n;
    for (int j = 0; j < n; ++j) order[j] = j;
    qsort(order, n, sizeof(int), compare);
    for (int j = 0; j < k; ++j) {
      indices[i * k + j] = order[j];
      values[i * k + j] = row[order[j]];
    }
  }
  free(order);
  return 0;
}
"""


def checkout(source: Source, folder: Path, commit: bool = True) -> Path:
    """Write what stands for a checkout of a rival's repository."""
    (folder / source.holds).parent.mkdir(parents=True)
    (folder / source.holds).write_text("// a kernel\n")
    if commit:
        identity = ["-c", "user.name=n", "-c", "user.email=n@example.org"]
        for words in (["init", "-q"], ["add", "."], [*identity, "commit", "-q", "-m", "one"]):
            subprocess.run(["git", "-C", str(folder), *words], check=True)
    return folder


@pytest.fixture
def nvcc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the log of a compiler that stands for nvcc: it compiles the C above, whatever it is given."""
    (tmp_path / "largest.c").write_text(LARGEST)
    log, program = tmp_path / "nvcc.log", tmp_path / "nvcc"
    program.write_text(
        f'#!/bin/sh\necho "$*" >> "{log}"\nfor last; do :; done\n'
        f'exec cc -O1 -shared -fPIC "{tmp_path}/largest.c" -o "$last"\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("NVCC", str(program))
    return log


class OnHost(np.ndarray):
    """An array that stands for a tensor."""

    device = "cuda:0"

    def data_ptr(self) -> int:
        """Return the address."""
        return self.ctypes.data


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a torch whose tensors are arrays where torch is imported from."""
    stream = SimpleNamespace(cuda_stream=7)
    fake = SimpleNamespace(
        float32=np.float32, int32=np.int32, cuda=SimpleNamespace(current_stream=lambda: stream),
        empty=lambda shape, dtype, device: np.empty(shape, dtype).view(OnHost),
    )  # fmt: skip
    monkeypatch.setitem(sys.modules, "torch", fake)


def why(source: Source, checkouts: dict[str, Path], built: Path) -> str:
    """Return why a rival cannot be had."""
    with pytest.raises(Missing) as refused:
        from_checkout.library(source, checkouts, built)
    return str(refused.value)


def test_a_rival_that_cannot_be_had_is_left_out_with_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = {"rtopk": tmp_path / "rtopk"}
    assert "clone https://github.com/xiexi51/RTopK" in why(RTOPK, {}, tmp_path)
    assert "--checkout bits-knn=DIR" in why(BITS, named, tmp_path)
    assert "is no checkout of https://github.com/xiexi51/RTopK: it has no rtopk_kernel.cu" in why(
        RTOPK, named, tmp_path
    )
    checkout(RTOPK, named["rtopk"], commit=False)
    monkeypatch.delenv("NVCC", raising=False)
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    assert "nvcc is not on PATH" in why(RTOPK, named, tmp_path)
    monkeypatch.setenv("NVCC", str(tmp_path / "none"))
    assert "No such file" in why(RTOPK, named, tmp_path / "built")
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho one\necho 'x.cu(3): error: no such thing'\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("NVCC", str(broken))
    told = why(RTOPK, named, tmp_path / "built")
    assert "it does not compile: x.cu(3): error: no such thing (all of it: " in told
    assert not list((tmp_path / "built").glob("*.so"))


def test_sources_of_an_installed_package_serve_as_a_checkout(
    tmp_path: Path, nvcc: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "libraft is not installed, and no folder is named by --checkout raft=DIR" in why(RAFT, {}, tmp_path)
    site = checkout(RAFT, tmp_path / "site", commit=False)
    for name, text in (("libraft/__init__.py", ""), ("libraft/VERSION", "26.10.00\n")):
        (site / name).write_text(text)
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("RIVALS_ARCH", "sm_90")
    first = from_checkout.library(RAFT, {}, tmp_path / "built")
    (command,) = nvcc.read_text().splitlines()
    for word in ("-arch=sm_90", f"-I {site}/libraft/include/rapids", f"{site}/librmm/lib64/librmm.so", "raft.cu"):
        assert word in command
    assert from_checkout.state_of(site, RAFT.version) == "26.10.00"
    # What is compiled elsewhere, from the same sources in another folder, is taken without a compiler.
    copy = tmp_path / "copy"
    shutil.copytree(site, copy)
    monkeypatch.setenv("NVCC", str(tmp_path / "none"))
    assert from_checkout.library(RAFT, {"raft": copy}, tmp_path / "built") == first
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace())
    with pytest.raises(Missing, match="it does not load: .*librmm.so"):
        from_checkout.call_of(first, [site / RAFT.libraries[1]])


def test_it_is_compiled_once_for_each_state_of_the_checkout(tmp_path: Path, nvcc: Path) -> None:
    named = {"bits-knn": checkout(BITS, tmp_path / "bits")}
    first = from_checkout.library(BITS, named, tmp_path / "built")
    assert from_checkout.library(BITS, named, tmp_path / "built") == first
    (command,) = nvcc.read_text().splitlines()
    for word in ("-O3", "--expt-extended-lambda", f"-I {tmp_path}/bits/include", "peers/checkouts/bits_knn.cu"):
        assert word in command
    commit = from_checkout.state_of(named["bits-knn"])
    assert len(commit) == 12
    (tmp_path / "bits" / BITS.holds).write_text("// another kernel\n")
    assert from_checkout.state_of(named["bits-knn"]) == f"{commit}-dirty"
    assert from_checkout.library(BITS, named, tmp_path / "built") != first
    assert len(nvcc.read_text().splitlines()) == 2
    assert from_checkout.state_of(tmp_path / "none") == "of unknown version"


def test_a_compiled_rival_is_called_on_the_stream_of_torch(tmp_path: Path, nvcc: Path, torch: None) -> None:
    named = {"rtopk": checkout(RTOPK, tmp_path / "rtopk")}
    call = from_checkout.call_of(from_checkout.library(RTOPK, named, tmp_path / "built"))
    rows = np.random.default_rng(3).random((5, 64), np.float32)
    values, indices = call(rows.view(OnHost), 7, True)
    order = np.argsort(-rows, axis=1)[:, :7]
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_array_equal(values, np.take_along_axis(rows, order, 1))
    sys.modules["torch"].cuda.current_stream = lambda: SimpleNamespace(cuda_stream=0)
    with pytest.raises(RuntimeError, match="CUDA error 1"):
        call(rows.view(OnHost), 7, True)


def test_both_stand_among_the_rivals(
    tmp_path: Path, nvcc: Path, torch: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(callables, "_memory", lambda _: callables.Host())
    named = {"rtopk": checkout(RTOPK, tmp_path / "rtopk")}
    found, missing = callables.available("cuda", ["rtopk", "bits-knn"], named, tmp_path / "built")
    (rival,) = found
    assert list(missing) == ["bits-knn"] and missing["bits-knn"].startswith("no registry has it")
    commit = from_checkout.state_of(named["rtopk"])
    assert rival.facts.source == f"https://github.com/xiexi51/RTopK {commit}, rtopk_kernel, exact"
    usual: dict[str, Any] = {
        "n": 64, "q": 4, "k": 8, "dtype": "float32", "direction": "largest", "layout": "row_major", "lengths": "", "mask": "",
        "payload": "values_and_indices", "workload": "uniform",
    }  # fmt: skip
    for change, reason in (
        ({}, ""), ({"direction": "smallest"}, "it selects the largest elements alone"),
        ({"n": 65}, "n is not a multiple of 32"), ({"n": 16384}, "n > 8192"), ({"k": 64}, "k = n"),
        ({"dtype": "float64"}, "dtype float64 is not supported"),
    ):
        assert rivals.why_not(rival, SimpleNamespace(**usual | change)) == reason
    assert BITS.excluded(1 << 20, 4096) == "k > 2048" and BITS.excluded(64, 8) == ""


@pytest.mark.parametrize("option", ["rtopk", "rtopk=", "radik=/tmp"])
def test_a_wrong_name_is_told(option: str) -> None:
    with pytest.raises(SystemExit, match="is not NAME=DIR with a NAME of rtopk, bits-knn, raft"):
        from_checkout.folders_of([option])


def test_the_bridges_compile(tmp_path: Path) -> None:
    """With nvcc: against a kernel of the same declaration, which stands for the rival's."""
    if shutil.which("nvcc") is None and not Path("/usr/local/cuda/bin/nvcc").exists():
        pytest.skip("needs nvcc")
    folder = checkout(RTOPK, tmp_path / "rtopk", commit=False)
    (folder / RTOPK.holds).write_text(
        "template <int Warps> __global__ void rtopk_kernel(float* data, float* value, int* index, int rows, int n,\n"
        "                                                  int k, int most, float precision) {}\n"
    )
    assert from_checkout.library(RTOPK, {"rtopk": folder}, tmp_path / "built").stat().st_size > 0
