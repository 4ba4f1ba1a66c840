"""The times of calls from Python beside torch's: the turns, and a whole record where torch and the package are."""

import json

import pytest

from peers import python_calls


def test_arms_take_turns_in_rotating_order():
    asked = []

    def sample(name):
        asked.append(name)
        return {"torch.topk": 2.0, "mine": 3.0, "graph of torch.topk": 5.0, "graph of mine": 1.0}[name]

    names = ["torch.topk", "mine", "graph of torch.topk", "graph of mine"]
    found = python_calls.timed({name: (sample, name) for name in names}, 5)
    assert [asked[i] for i in range(0, 20, 4)] == [*names, names[0]]
    assert sorted(asked) == sorted(names * 5)
    assert {name: arm["over_torch"] for name, arm in found.items()} == {
        "torch.topk": 1, "mine": 1.5, "graph of torch.topk": 1, "graph of mine": 0.2,
    }  # fmt: skip
    assert found["mine"] == {"microseconds": 3, "least": 3, "most": 3, "over_torch": 1.5, "samples": [3.0] * 5}


def test_without_its_basis_an_arm_is_beside_nothing():
    assert python_calls.timed({"mine": (lambda _: 1.0, None)}, 1)["mine"]["over_torch"] is None


def test_a_record_in_host_memory(tmp_path, monkeypatch):
    torch, kselect = pytest.importorskip("torch"), pytest.importorskip("kselect")
    first = kselect.top_k

    def broken(a, k, **options):
        if options.get("sorted", True) is False:
            raise ValueError("not today\nnor tomorrow")
        answer = first(a, k, **options)
        if "lengths" in options and "out" not in options:
            answer.indices.zero_()
        return answer

    monkeypatch.setattr(kselect, "top_k", broken)
    monkeypatch.setattr(python_calls, "SHAPES", ((3, 20, 2),))
    python_calls.main(["--out", str(tmp_path), "--device", "cpu", "--rounds", "2", "--calls", "3"])
    record = json.loads((tmp_path / python_calls.FILE).read_text())
    assert record["versions"]["torch"] == torch.__version__ and record["clock"] == "processors"
    (shape,) = record["shapes"]
    assert (shape["q"], shape["n"], shape["k"]) == (3, 20, 2)
    assert shape["failed"] == {
        "kselect.top_k, unsorted": "ValueError: not today",
        "kselect.top_k, lengths": "the values are not where the indices point",
    }
    assert len(shape["arms"]) == 8 and all(len(arm["samples"]) == 2 for arm in shape["arms"].values())


def test_a_gpu_that_is_not_there():
    torch = pytest.importorskip("torch")
    pytest.importorskip("kselect")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(SystemExit, match="torch finds no GPU; pass --device cpu"):
        python_calls.main(["--out", "nowhere", "--device", "cuda"])
