"""The rivals: turns within one run, wrong answers, what a library excludes, and going on after an interruption."""

import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import jsonschema
import numpy as np
import pytest

from peers import callables, recorded, rivals
from plots.records import load
from stand_ins import config_file, own, partition, problem

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "results" / "record.schema.json").read_text())
def test_the_plan_s_titles_are_read() -> None:
    listing = (
        "390f  cpu/heap  cpu  float32/smallest/Q=8/n=256/k=4/values_and_indices/row_major/uniform#42\n"
        "dd60  cpu/sort  cpu  float32/smallest/Q=8/n=256/k=4/values_and_indices/row_major/uniform#42\n"
        "dd61  cpu/sort  cpu  float16/largest/Q=1/n=9/k=4/values/row_major/few_distinct(16)#7\n2 cells\n"
    )
    first, second = rivals.problems_of(listing).values()
    assert (first.n, first.q, first.k, first.seed, first.workload) == (256, 8, 4, 42, "uniform")
    assert (second.dtype, second.direction, second.payload) == ("float16", "largest", "values")
    assert second.workload == "few_distinct(16)"


def test_kselect_and_rivals_are_in_one_run(tmp_path: Path) -> None:
    calls: list[str] = []

    def slow(rows: np.ndarray, k: int, largest: bool) -> Any:
        calls.append("b")
        return partition(rows, k, largest)

    def quick(rows: np.ndarray, k: int, largest: bool) -> Any:
        calls.append("a")
        return partition(rows, k, largest)

    found = [own("a", quick), own("b", slow), own("only", partition, directions=("largest",))]
    rivals.run(config_file(tmp_path, n=[64], dtype="float32"), tmp_path / "out", found)
    # Once for the proof, then in rotating order, on each of four problems.
    rounds = "".join(calls[2 : 2 + 2 * recorded.ROUNDS])
    assert "".join(calls[:2]) == "ab" and rounds.count("a") == rounds.count("b") == recorded.ROUNDS
    assert "aa" in rounds or "bb" in rounds  # the order changes
    loaded = load(tmp_path / "out")
    by_name: dict[str, list[str]] = {}
    for record in loaded.records:
        by_name.setdefault(record.algorithm, []).append(record.status)
    assert by_name == {
        "cpu/heap": ["ok"] * 4, "cpu/sort": ["ok"] * 4, "a": ["ok"] * 4, "b": ["ok"] * 4,
        "only": ["unsupported", "unsupported", "ok", "ok"],
    } or sorted(by_name["only"]) == ["ok", "ok", "unsupported", "unsupported"]  # fmt: skip
    meta = json.loads((tmp_path / "out" / "meta.json").read_text())
    assert meta["rivals"][0] == {"name": "a", "source": "a 1.0"} and meta["state"] == "complete"
    assert not (tmp_path / "out" / "parts").exists()
    for line in (tmp_path / "out" / "runs.jsonl").read_text().splitlines():
        jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(line))
    with pytest.raises(SystemExit, match="already has a run"):
        rivals.run(config_file(tmp_path), tmp_path / "out", found)


def test_a_wrong_or_failing_rival_costs_itself_alone() -> None:
    def cheat(rows: np.ndarray, k: int, largest: bool) -> Any:
        values, indices = partition(rows, k, largest)
        return values * 1.000001, indices  # close to it is not it

    def fail(rows: np.ndarray, k: int, largest: bool) -> Any:
        raise RuntimeError("CUDA out of memory\nof a kind")

    def shape(rows: np.ndarray, k: int, largest: bool) -> Any:
        return np.zeros(3)

    found = [own("good", partition), own("cheat", cheat), own("fail", fail), own("shape", shape)]
    told = {v["algorithm"]["name"]: v for v in map(json.loads, rivals.turns(found, problem()))}
    assert {name: value["status"] for name, value in told.items()} == {
        "good": "ok", "cheat": "wrong", "fail": "out_of_memory", "shape": "wrong",
    }  # fmt: skip
    assert told["fail"]["reason"] == "RuntimeError: CUDA out of memory"
    assert len(told["good"]["time"]["samples"]) == recorded.ROUNDS


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"layout": "column_major"}, "layout column_major is not asked for here"),
        ({"payload": "values"}, "payload values is not supported"),
        ({"dtype": "bfloat16"}, "dtype bfloat16 is not supported"),
        ({"workload": "nan_fraction(0.5)"}, "distribution nan_fraction(0.5) is not asked for here"),
        ({"direction": "largest"}, ""),
    ],
)
def test_what_a_rival_is_not_given(changes: dict[str, Any], reason: str) -> None:
    assert rivals.why_not(own("a", partition), problem(**changes)) == reason


def test_an_interrupted_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def counted(rows: np.ndarray, k: int, largest: bool) -> Any:
        calls.append(1)
        if len(calls) == recorded.ROUNDS + 3:
            raise KeyboardInterrupt
        return partition(rows, k, largest)

    config = config_file(tmp_path, dtype="float32", direction="smallest", distribution="uniform")
    with pytest.raises(KeyboardInterrupt):
        rivals.run(config, tmp_path / "out", [own("a", counted)])
    journal = tmp_path / "out" / "parts" / "rivals.jsonl"
    assert len(journal.read_text().splitlines()) == 1
    journal.write_text(journal.read_text() + '{"torn')
    calls.clear()
    rivals.run(config, tmp_path / "out", [own("a", counted)])
    assert len(calls) == recorded.ROUNDS + 1  # of the second problem alone
    assert [r.algorithm for r in load(tmp_path / "out").records].count("a") == 2


def test_quack_s_limits_are_those_of_its_source() -> None:
    assert callables._of_quack(4096, 128) == ""
    assert callables._of_quack(8192, 8) == "n > 4096"
    assert callables._of_quack(1024, 256) == "k > 128"
    assert callables._of_quack(1000, 8) == "n and k must be powers of two"


def test_rivals_that_are_not_installed_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)  # as if it were not there
    found, missing = callables.available("cpu")
    assert [rival.facts.name for rival in found] == ["numpy-argpartition"]
    assert found[0].facts.source == f"numpy {np.__version__}, numpy.argpartition"
    assert "torch" in missing["torch-cpu-topk"]
    with pytest.raises(SystemExit, match="no rival on cpu is called 'numby'; there are numpy-argpartition"):
        callables.available("cpu", ["numby"])


def test_gpu_libraries_are_called_as_documented(fake_torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = fake_torch()
    torch.cuda.is_available = lambda: True
    said: dict[str, Any] = {}
    flashinfer, quack, gems = ModuleType("flashinfer"), ModuleType("quack.topk"), ModuleType("flag_gems.ops")
    flashinfer.top_k = lambda rows, k: torch.topk(rows, k, 1, True, False)
    quack.topk_fwd = lambda rows, k: torch.topk(rows, k, 1, True, False)

    def gems_topk(rows: Any, k: int, dim: int, largest: bool, sorted: bool) -> Any:  # noqa: A002
        said["gems"] = (dim, largest, sorted)
        return torch.topk(rows, k, 1, largest, False)

    gems.topk = gems_topk
    for name, module in (("torch", torch), ("flashinfer", flashinfer), ("quack", ModuleType("quack")),
                         ("quack.topk", quack), ("flag_gems", ModuleType("flag_gems")), ("flag_gems.ops", gems)):  # fmt: skip
        monkeypatch.setitem(sys.modules, name, module)
    made = ModuleType("triton_kernels.topk")
    made.topk = lambda rows, k, apply_softmax: SimpleNamespace(
        vals=torch.topk(rows, k, 1, True, False)[0],
        indx=torch.topk(rows, k, 1, True, False)[1].astype(np.int16), softmax=said.update(softmax=apply_softmax),
    )  # fmt: skip
    monkeypatch.setitem(sys.modules, "triton_kernels", ModuleType("triton_kernels"))
    monkeypatch.setitem(sys.modules, "triton_kernels.topk", made)
    names = ["torch-topk", "flashinfer-top-k", "quack-topk", "flaggems-topk", "triton-kernels-topk"]
    found, missing = callables.available("cuda", names)
    assert not missing and [rival.facts.name for rival in found] == names
    lines = [json.loads(line) for line in rivals.turns(found, problem(direction="largest"))]
    assert [(value["status"], value["reason"]) for value in lines] == [("ok", "")] * 5
    assert all(value["executor"] == "cuda" and value["time"]["cache"] == "cold" for value in lines)
    assert said["gems"] == (1, True, True) and said["softmax"] is False
    made.topk = lambda rows, k, apply_softmax: (*torch.topk(rows, k, 1, True, False), "a mask")  # older ones
    assert json.loads(rivals.turns(found[-1:], problem(direction="largest"))[0])["status"] == "ok"
    assert callables._of_triton_kernels(1 << 15, 8) == "n >= 32768"
    assert callables._of_flaggems(128256, 1) == "" and callables._of_flaggems(512, 8) == ""
    assert "1024 candidates" in callables._of_flaggems(128256, 50) and callables._of_flaggems(1000, 300) == ""
    assert callables._of_triton_kernels(512, 64) == "k > 32" and callables._of_triton_kernels(512, 8) == ""
    reasons = [json.loads(line)["reason"] for line in rivals.turns(found, problem())]
    assert reasons[1] == reasons[2] == "it selects the largest elements alone"


def test_one_s_own_function_is_a_rival(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.py").write_text("from peers.callables import _partition\nimport numpy\n"
                                      "def best(rows, k, largest):\n    return _partition(numpy, rows, k, largest)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    rival = callables.named_call("my-kernel=mine:best", "cpu")
    [line] = rivals.turns([rival], problem(dtype="float16"))
    value = json.loads(line)
    assert (value["algorithm"]["name"], value["status"]) == ("my-kernel", "ok"), value["reason"]
    for text, why in (("x", "is not NAME=MODULE:FUNCTION"), ("x=mine:worst", "no attribute"), ("x=none:f", "No module")):
        with pytest.raises(SystemExit, match=why):
            callables.named_call(text, "cpu")
