"""Rivals on rows of lengths of their own, and those that give indices alone."""

import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import jsonschema
import numpy as np
import pytest

from peers import callables, program, ragged_calls, rivals
from plots.records import load
from stand_ins import config_file, own, partition, problem

SCHEMA = json.loads((Path(__file__).resolve().parents[2] / "results" / "record.schema.json").read_text())
RAGGED = ragged_calls.numpy_masked(np)


def indices_alone(rows: np.ndarray, lengths: np.ndarray, k: int, largest: bool) -> Any:
    return None, RAGGED(rows, lengths, k, largest)[1]


def told_of(rival: callables.Rival, **changes: Any) -> tuple[str, str]:
    value = json.loads(rivals.turns([rival], problem(**changes))[0])
    jsonschema.Draft202012Validator(SCHEMA).validate(value)
    return value["status"], value["reason"]


def test_the_plan_s_ragged_titles_are_read() -> None:
    row = "390f  auto  cuda  float32/largest/Q=8/n=256/k=4/indices/row_major"
    ragged = f"{row}/lengths:int32/uniform#42"
    listing = f"{ragged}/two_sizes(0.1)\n{ragged}/uniform\n{row}/uniform#42\n{ragged}/file(L.npy, 0123456789abcdef)\n"
    found = rivals.problems_of(listing).values()
    assert [p.lengths for p in found] == ["two_sizes(0.1)", "uniform", "", "file(L.npy, 0123456789abcdef)"]
    assert {(p.workload, p.layout, p.payload) for p in found} == {("uniform", "row_major", "indices")}


@pytest.mark.parametrize("direction", ["largest", "smallest"])
@pytest.mark.parametrize("lengths", ["uniform", "zipf(1)", "two_sizes(0.3)"])
def test_ragged_rows_are_measured_and_proven(lengths: str, direction: str) -> None:
    both = own("both", partition, ragged=RAGGED, ragged_has_values=True)
    assert told_of(both, lengths=lengths, direction=direction) == ("ok", "")
    lean = own("lean", partition, ragged=indices_alone)
    assert told_of(lean, lengths=lengths, direction=direction, payload="indices") == ("ok", "")
    assert told_of(lean, lengths=lengths) == ("unsupported", "payload values_and_indices is not supported")
    assert told_of(own("equal", partition), lengths=lengths) == (
        "unsupported", "rows of lengths of their own are not supported"
    )  # fmt: skip


def test_an_answer_that_looks_beyond_a_length_is_wrong() -> None:
    def careless(rows: np.ndarray, lengths: np.ndarray, k: int, largest: bool) -> Any:
        return partition(rows, k, largest)

    def unfilled(rows: np.ndarray, lengths: np.ndarray, k: int, largest: bool) -> Any:
        values, indices = RAGGED(rows, lengths, k, largest)
        return values, np.where(indices < 0, 0, indices)

    for call in (careless, unfilled):
        status, reason = told_of(own("x", partition, ragged=call, ragged_has_values=True), lengths="two_sizes(0.3)")
        assert status == "wrong" and ("index" in reason or "fill" in reason), reason


def test_indices_alone_are_proven_of_equal_rows_too() -> None:
    lean = own("lean", lambda rows, k, largest: (None, partition(rows, k, largest)[1]), has_values=False)
    assert told_of(lean, payload="indices") == ("ok", "")
    assert told_of(lean) == ("unsupported", "payload values_and_indices is not supported")
    wrong = own("wrong", lambda rows, k, largest: (None, np.zeros((len(rows), k), int)), has_values=False)
    assert told_of(wrong, payload="indices")[0] == "wrong"


def test_kselect_and_rivals_take_the_same_ragged_rows(tmp_path: Path) -> None:
    config = config_file(
        tmp_path, n=[64], dtype="float32", direction="largest", distribution="uniform", lengths=["uniform"],
    )  # fmt: skip
    value = json.loads(config.read_text())
    config.write_text(json.dumps(value | {"algorithms": ["auto"]}))
    rivals.run(config, tmp_path / "out", [own("both", partition, ragged=RAGGED, ragged_has_values=True)])
    found = load(tmp_path / "out").records
    assert [(r.algorithm, r.status, r.lengths) for r in found] == [("auto", "ok", "uniform"), ("both", "ok", "uniform")]


def test_lengths_are_those_of_the_sweep(tmp_path: Path) -> None:
    file = program.generate_rows(problem(lengths="two_sizes(0.5)", n=5000, q=40), tmp_path)
    lengths = np.load(program.lengths_beside(file))
    assert lengths.dtype == np.int32 and lengths.shape == (40,) and set(lengths) == {5, 5000}


def test_libraries_of_ragged_rows_are_called_as_documented(fake_torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = fake_torch()
    torch.cuda.is_available = lambda: True
    torch.int32 = np.int32
    torch.zeros = lambda shape, dtype, device: torch.from_numpy(np.zeros(shape, dtype))
    torch.empty = lambda shape, dtype, device: torch.from_numpy(np.empty(shape, dtype))
    torch.full = lambda shape, value, dtype, device: torch.from_numpy(np.full(shape, value, dtype))
    said: list[Any] = []

    def transform(rows: Any, offsets: Any, lengths: Any, k: int) -> Any:
        said.append((offsets.dtype, offsets.sum()))
        return torch.from_numpy(RAGGED(rows.numpy(), lengths.numpy(), k, True)[1].astype(np.int32))

    def prefill(
        rows: Any, starts: Any, ends: Any, indices: Any, count: int, stride0: int, stride1: int, k: int
    ) -> None:
        said.append((starts.sum(), ends.dtype, count, stride0, stride1))
        indices[...] = RAGGED(rows.numpy(), ends.numpy(), k, True)[1]

    class Rows(type(torch.from_numpy(np.zeros(1)))):
        device = "cuda"

        def stride(self, axis: int) -> int:
            return self.strides[axis] // self.itemsize

    torch.from_numpy = lambda array: array.view(Rows)
    torch.ops = SimpleNamespace(_C=SimpleNamespace(top_k_per_row_prefill=prefill))
    flashinfer, gems = ModuleType("flashinfer"), ModuleType("flaggems_vllm.ops")
    flashinfer.top_k_ragged_transform, gems.top_k_per_row_prefill = transform, prefill
    for name, module in (("torch", torch), ("flashinfer", flashinfer), ("vllm", ModuleType("vllm")),
                         ("vllm._custom_ops", ModuleType("vllm._custom_ops")),
                         ("flaggems_vllm", ModuleType("flaggems_vllm")), ("flaggems_vllm.ops", gems)):  # fmt: skip
        monkeypatch.setitem(sys.modules, name, module)
    names = ["flashinfer-top-k", "vllm-top-k-per-row", "flaggems-vllm-top-k-per-row"]
    found, missing = callables.available("cuda", names)
    assert not missing
    ragged = {"direction": "largest", "payload": "indices", "lengths": "uniform"}
    assert [told_of(rival, **ragged) for rival in found] == [("ok", "")] * 3
    assert (np.int32, 0) in said and (0, np.int32, 4, 64, 1) in said
    assert [told_of(rival, **ragged | {"lengths": ""}) for rival in found[1:]] == [("ok", "")] * 2
    assert told_of(found[1], direction="smallest", payload="indices")[1] == "it selects the largest elements alone"


def test_those_that_are_not_installed_say_so(fake_torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = fake_torch()
    torch.cuda.is_available = lambda: True
    monkeypatch.setitem(sys.modules, "torch", torch)
    for name in ("vllm", "flaggems_vllm"):
        monkeypatch.setitem(sys.modules, name, None)
    found, missing = callables.available("cuda", ["vllm-top-k-per-row", "flaggems-vllm-top-k-per-row"])
    assert not found and "vllm" in missing["vllm-top-k-per-row"]
    assert "flaggems_vllm" in missing["flaggems-vllm-top-k-per-row"]


def test_torch_s_masked_rows_are_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """With numpy for torch: what is beyond a length is the worst infinity, and its index -1."""

    class Array(np.ndarray):
        device = "cpu"

        def unsqueeze(self, axis: int) -> Any:
            return np.expand_dims(self, axis)

        def masked_fill(self, mask: Any, value: float) -> Any:
            return np.where(mask, value, self).view(Array)

    def topk(rows: Any, k: int, dim: int, largest: bool, sorted: bool) -> Any:  # noqa: A002
        assert dim == 1 and sorted
        order = np.argsort(-rows if largest else rows, axis=1, kind="stable")[:, :k]
        return np.take_along_axis(rows, order, 1), order.view(Array)

    torch = SimpleNamespace(arange=lambda n, device: np.arange(n).view(Array), topk=topk)
    rows, lengths = np.array([[3.0, 1, 2, 9], [5, 6, 7, 8]]).view(Array), np.array([3, 1]).view(Array)
    values, indices = ragged_calls.torch_masked(torch)(rows, lengths, 2, True)
    assert values.tolist() == [[3, 2], [5, -np.inf]] and indices.tolist() == [[0, 2], [0, -1]]
    values, indices = ragged_calls.torch_masked(torch)(rows, lengths, 2, False)
    assert values.tolist() == [[1, 2], [5, np.inf]] and indices.tolist() == [[1, 2], [0, -1]]
