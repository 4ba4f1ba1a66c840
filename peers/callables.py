"""The rivals of peers.rivals: how each library's selection is called, and what it excludes.

Each is called as its users call it, with fresh outputs. What a library excludes stands here as its own documentation or
checks say it, so that a problem outside is "unsupported" and not a failure.
"""

import importlib
import importlib.metadata
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from peers import from_checkout, masked_calls, ragged_calls, recorded
from peers.machine import processor
from peers.torch_topk import TorchTopk

Call = Callable[[Any, int, bool], Any]  # rows, k, largest: values, or None, and indices
BOTH = ("smallest", "largest")
FLOATS = ("float32", "float64", "float16")
OF_NETWORKS = ("float32", "float16", "bfloat16")


@dataclass(eq=False)
class Rival:
    """A library's selection on one device."""

    facts: recorded.Facts
    call: Call
    memory: Any  # a TorchTopk for the GPU, else a Host
    dtypes: Sequence[str] = ("float32",)
    directions: Sequence[str] = BOTH
    excluded: Callable[[int, int], str] = field(default=lambda _n, _k: "")
    ragged: ragged_calls.Call | None = None  # of rows of lengths of their own
    has_values: bool = True  # whether `call` gives values
    ragged_has_values: bool = False
    masked: masked_calls.Call | None = None  # of rows with a mask

    def machine(self) -> str:
        """Return the model name of the processor or GPU."""
        return self.memory.machine()

    def gpus(self) -> list[dict[str, Any]] | None:
        """Return meta.json's facts of the GPUs."""
        return self.memory.gpus()

    def rows(self, rows: np.ndarray, dtype: str = "float32") -> Any:
        """Return the whole input in the device's memory; rows of bfloat16 are given as their bits."""
        return self.memory.typed(rows, dtype)

    def payloads(self, problem: Any) -> Sequence[str]:
        """Return what it can answer. Values that a problem does not ask for are left out of the proof."""
        has_values = bool(problem.mask) or (self.ragged_has_values if problem.lengths else self.has_values)
        return ("values_and_indices", "indices") if has_values else ("indices",)

    def select(self, rows: Any, record: Any, lengths: Any = None, left_out: Any = None) -> Any:
        """Call the library once. `lengths`: of ragged rows, else None. `left_out`: by a mask, else None."""
        largest = record.direction == "largest"
        if left_out is not None:
            return self.masked(rows, left_out, record.k, largest)
        if lengths is None:
            return self.call(rows, record.k, largest)
        return self.ragged(rows, lengths, record.k, largest)

    def timed(self, rows: Any, record: Any, lengths: Any = None, left_out: Any = None) -> tuple[Any, float]:
        """Call it once; return its answer and the time in ns."""
        return self.memory.timed_call(lambda: self.select(rows, record, lengths, left_out))

    def on_host(self, answer: Any, wanted: str = "values_and_indices") -> tuple[np.ndarray | None, np.ndarray]:
        """Return values, unless indices alone are wanted, and indices in host memory.

        Values of bfloat16 are given as their bits, which NumPy lacks.
        """
        values, indices = answer
        found = ragged_calls.host_indices(_host(indices))
        return None if wanted == "indices" else _host(values), found

    def wait(self) -> None:
        """Wait for the device; raise what its work failed by."""
        self.memory.wait()


def _host(array: Any) -> np.ndarray:
    if hasattr(array, "get"):  # CuPy
        return np.asarray(array.get())
    if str(getattr(array, "dtype", "")) == "torch.bfloat16":
        array = array.view(importlib.import_module("torch").int16)
    return np.asarray(array.cpu().numpy() if hasattr(array, "cpu") else array)


class Gpu(TorchTopk):
    """Memory and clock of torch's GPU, for every rival on it."""

    def typed(self, rows: np.ndarray, dtype: str) -> Any:
        """Copy rows to the GPU; those of bfloat16 are given as their bits."""
        there = self.rows(rows)
        return there.view(self.torch.bfloat16) if dtype == "bfloat16" else there

    def wait(self) -> None:
        """Wait for the GPU; raise what its work failed by."""
        self.torch.cuda.synchronize()

    def timed_call(self, call: Callable[[], Any]) -> tuple[Any, float]:
        """Time a call by two events, cold, after the call before it is queued (peers/torch_topk.py)."""
        begin, end = self.events()
        self.hold()
        begin.record()
        answer = call()
        end.record()
        self.torch.cuda.synchronize()
        return answer, begin.elapsed_time(end) * 1e6


class Host:
    """Memory and clock of the host."""

    def machine(self) -> str:
        """Return the processor's model name."""
        return processor()

    def gpus(self) -> None:
        """Return None: no GPU is used."""

    def typed(self, rows: np.ndarray, _dtype: str) -> np.ndarray:
        """Return the rows unchanged."""
        return rows

    def wait(self) -> None:
        """Return: a call has ended when it returns."""

    def timed_call(self, call: Callable[[], Any]) -> tuple[Any, float]:
        """Time a call by the host's clock."""
        begin = time.perf_counter_ns()
        answer = call()
        return answer, float(time.perf_counter_ns() - begin)


def _partition(xp: Any, rows: Any, k: int, largest: bool) -> Any:
    n = rows.shape[1]
    if largest:
        indices = xp.argpartition(rows, n - k, axis=1)[:, n - k :]
    else:
        indices = xp.argpartition(rows, k - 1, axis=1)[:, :k]
    return xp.take_along_axis(rows, indices, 1), indices


def numpy_argpartition(numpy: ModuleType) -> Call:
    """numpy.argpartition, whose indices give the values."""
    return lambda rows, k, largest: _partition(numpy, rows, k, largest)


def torch_topk(torch: ModuleType) -> Call:
    """torch.topk, unsorted, which is its faster form."""
    return lambda rows, k, largest: torch.topk(rows, k, dim=1, largest=largest, sorted=False)


def torch_on_host(torch: ModuleType) -> Call:
    """torch.topk in host memory."""
    return lambda rows, k, largest: torch.topk(
        torch.from_numpy(rows), k, dim=1, largest=largest, sorted=False
    )


def cupy_argpartition(cupy: ModuleType) -> Call:
    """cupy.argpartition on the tensor's own memory."""
    return lambda rows, k, largest: _partition(cupy, cupy.from_dlpack(rows), k, largest)


def flashinfer_top_k(flashinfer: ModuleType) -> Call:
    """flashinfer.top_k, unsorted."""
    return lambda rows, k, largest: flashinfer.top_k(rows, k)


def raft_select_k(matrix: ModuleType) -> Call:
    """pylibraft.matrix.select_k on torch's stream, into fresh tensors."""
    torch = importlib.import_module("torch")
    resources = importlib.import_module("pylibraft.common").DeviceResources

    def call(rows: Any, k: int, largest: bool) -> Any:
        values = torch.empty((rows.shape[0], k), dtype=rows.dtype, device=rows.device)
        indices = torch.empty((rows.shape[0], k), dtype=torch.int64, device=rows.device)
        matrix.select_k(
            rows, distances=values, indices=indices, select_min=not largest,
            handle=resources(stream=torch.cuda.current_stream().cuda_stream),
        )  # fmt: skip
        return values, indices

    return call


def quack_topk(topk: ModuleType) -> Call:
    """QuACK's forward top-k."""
    return lambda rows, k, largest: topk.topk_fwd(rows, k)


def flag_gems_topk(ops: ModuleType) -> Call:
    """FlagGems' top-k in Triton, which sorts its answer."""
    return lambda rows, k, largest: ops.topk(rows, k, dim=1, largest=largest, sorted=True)


def triton_kernels_topk(topk: ModuleType) -> Call:
    """Triton's own kernels, by which servers choose experts; older ones return values, indices and a mask."""

    def call(rows: Any, k: int, largest: bool) -> Any:
        found = topk.topk(rows, k, apply_softmax=False)
        return (found[0], found[1]) if isinstance(found, tuple) else (found.vals, found.indx)

    return call


def _of_triton_kernels(n: int, k: int) -> str:
    """Triton's kernels' own assertion (triton_kernels/topk.py), and the k that their sorting network is meant for."""
    return "n >= 32768" if n >= 32768 else "k > 32" if k > 32 else ""


def _of_quack(n: int, k: int) -> str:
    """QuACK's own assertions (quack/topk.py)."""
    if n & (n - 1) or k & (k - 1):
        return "n and k must be powers of two"
    return "n > 4096" if n > 4096 else "k > 128" if k > 128 else ""


def _of_flaggems(n: int, k: int) -> str:
    """One program sorts all chunks' candidates (flag_gems/ops/topk.py), which takes long to compile."""
    chunk = 256 if n < 1024 else 1024
    chunk = chunk if k <= chunk else 1 << (k - 1).bit_length()
    return "more than 1024 candidates to sort in one program" if -(-n // chunk) * k > 1024 else ""


@dataclass(frozen=True)
class _Known:
    """A rival that may be installed."""

    name: str
    device: str
    package: str  # whose version the record states
    module: str
    call: Callable[[ModuleType], Call]
    what: str
    dtypes: Sequence[str] = ("float32",)
    directions: Sequence[str] = BOTH
    excluded: Callable[[int, int], str] = lambda _n, _k: ""
    ragged: Callable[[ModuleType], ragged_calls.Call] | None = None
    has_values: bool = True
    ragged_has_values: bool = False
    masked: Callable[[ModuleType], masked_calls.Call] | None = None


def _of_ragged(make: Callable[[ModuleType], ragged_calls.Call]) -> Callable[[ModuleType], Call]:
    """The call on equal rows of a library that knows ragged rows alone."""
    return lambda module: ragged_calls.of_equal_rows(make(module))


KNOWN = (
    _Known("numpy-argpartition", "cpu", "numpy", "numpy", numpy_argpartition,
           "numpy.argpartition", FLOATS, ragged=ragged_calls.numpy_masked, ragged_has_values=True,
           masked=masked_calls.numpy_masked),
    _Known("torch-cpu-topk", "cpu", "torch", "torch", torch_on_host, "torch.topk", FLOATS,
           masked=masked_calls.torch_masked_on_host),
    _Known("torch-topk", "cuda", "torch", "torch", torch_topk, "torch.topk", (*FLOATS, "bfloat16"),
           ragged=ragged_calls.torch_masked, ragged_has_values=True, masked=masked_calls.torch_masked),
    _Known("raft-python", "cuda", "pylibraft", "pylibraft.matrix", raft_select_k,
           "pylibraft.matrix.select_k"),
    _Known("flashinfer-top-k", "cuda", "flashinfer-python", "flashinfer", flashinfer_top_k,
           "flashinfer.top_k, of ragged rows top_k_ragged_transform", OF_NETWORKS, ("largest",),
           ragged=ragged_calls.flashinfer_ragged),
    _Known("vllm-top-k-per-row", "cuda", "vllm", "vllm._custom_ops", _of_ragged(ragged_calls.vllm_per_row),
           "top_k_per_row_prefill", ("float32",), ("largest",), has_values=False, ragged=ragged_calls.vllm_per_row),
    _Known("flaggems-vllm-top-k-per-row", "cuda", "flaggems_vllm", "flaggems_vllm.ops",
           _of_ragged(ragged_calls.flaggems_vllm_per_row), "flaggems_vllm.ops.top_k_per_row_prefill", ("float32",),
           ("largest",), has_values=False, ragged=ragged_calls.flaggems_vllm_per_row),
    _Known("cupy-argpartition", "cuda", "cupy", "cupy", cupy_argpartition,
           "cupy.argpartition", ("float32", "float64")),
    _Known("quack-topk", "cuda", "quack-kernels", "quack.topk", quack_topk, "quack.topk",
           OF_NETWORKS, ("largest",), _of_quack),
    _Known("flaggems-topk", "cuda", "flag_gems", "flag_gems.ops", flag_gems_topk,
           "flag_gems.ops.topk", OF_NETWORKS, excluded=_of_flaggems),
    _Known("triton-kernels-topk", "cuda", "triton_kernels", "triton_kernels.topk", triton_kernels_topk,
           "triton_kernels.topk.topk", OF_NETWORKS, ("largest",), _of_triton_kernels),
)  # fmt: skip


def version(package: str) -> str:
    """Return an installed distribution's version, also of one with CUDA's version in its name."""
    names = [package, *(f"{package}-{suffix}" for suffix in ("cu13", "cu12", "cuda13x", "cuda12x"))]
    for name in names:
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return "of unknown version"


def _facts(name: str, source: str, device: str, file: str) -> recorded.Facts:
    gpu = device == "cuda"
    return recorded.Facts(
        name=name, family="library top-k", source=source, file=file, executor=device,
        clock="cuda_event" if gpu else "steady", cache="cold" if gpu else "warm", gap_hidden=gpu,
    )  # fmt: skip


def _memory(device: str) -> Any:
    """Return the device's memory and clock; raise ImportError without torch or a GPU."""
    if device == "cpu":
        return Host()
    torch = importlib.import_module("torch")
    if not torch.cuda.is_available():
        raise ImportError("torch finds no GPU")
    return Gpu(torch)


def available(
    device: str, wanted: Sequence[str] = (), checkouts: Mapping[str, Path] | None = None, built: Path = Path("built")
) -> tuple[list[Rival], dict[str, str]]:
    """Return the rivals of a device that can be had here, and why others cannot.

    Those of `checkouts` (folders by name) are compiled into the folder `built`.
    """
    offered: dict[str, Callable[[Any], Rival]] = {
        k.name: lambda memory, k=k: _installed(k, memory) for k in KNOWN if k.device == device
    }
    if device == "cuda":
        for source in from_checkout.SOURCES:
            offered[source.name] = lambda memory, s=source: _compiled(s, memory, checkouts or {}, built)
    if unknown := [name for name in wanted if name not in offered]:
        raise SystemExit(
            f"peers.rivals: no rival on {device} is called {unknown[0]!r}; there are {', '.join(offered)}"
        )
    rivals: list[Rival] = []
    missing: dict[str, str] = {}
    memory = None
    for name, make in offered.items():
        if wanted and name not in wanted:
            continue
        try:
            memory = memory or _memory(device)
            rivals.append(make(memory))
        except from_checkout.Missing as e:
            missing[name] = str(e)
        except Exception as e:  # noqa: BLE001 - a library may fail in any way as it is imported
            missing[name] = f"{type(e).__name__}: {(str(e).splitlines() or [''])[0]}"
    return rivals, missing


def _installed(k: _Known, memory: Any) -> Rival:
    module = importlib.import_module(k.module)
    call, ragged = k.call(module), k.ragged(module) if k.ragged else None
    facts = _facts(k.name, f"{k.package} {version(k.package)}, {k.what}", k.device, "peers/callables.py")
    return Rival(
        facts, call, memory, k.dtypes, k.directions, k.excluded,
        ragged=ragged, has_values=k.has_values, ragged_has_values=k.ragged_has_values,
        masked=k.masked(module) if k.masked else None,
    )  # fmt: skip


def _compiled(source: from_checkout.Source, memory: Any, checkouts: Mapping[str, Path], built: Path) -> Rival:
    checkout = from_checkout.checkout_of(source, checkouts)
    linked = [checkout / file for file in source.libraries]
    call = from_checkout.call_of(from_checkout.library(source, checkouts, built), linked)
    told = f"{source.repository} {from_checkout.state_of(checkout, source.version)}, {source.what}"
    facts = _facts(source.name, told, "cuda", f"peers/checkouts/{source.bridge}")
    return Rival(facts, call, memory, ("float32",), source.directions, source.excluded)


def named_call(text: str, device: str) -> Rival:
    """Return the rival of NAME=MODULE:FUNCTION; ends the program if it cannot be had."""
    name, _, place = text.partition("=")
    module, _, function = place.partition(":")
    if not (name and module and function):
        raise SystemExit(f"peers.rivals: --call {text!r} is not NAME=MODULE:FUNCTION")
    try:
        call = getattr(importlib.import_module(module), function)
        memory = _memory(device)
    except (ImportError, AttributeError) as e:
        raise SystemExit(f"peers.rivals: --call {text}: {e}") from None
    source = f"{module}.{function}, {version(module.split('.')[0])}"
    return Rival(_facts(name, source, device, "peers/callables.py"), call, memory, FLOATS)
