"""What kselect.bench and kselect.trace refuse, and configs that lie where they say."""

import json

import numpy as np
import pytest

import kselect

bench = pytest.importorskip("kselect.bench", reason="the package was built without the program")
trace = pytest.importorskip("kselect.trace")
SHORT = {"warmup": 0, "rounds": 1, "min_samples": 1, "max_samples": 1, "max_seconds": 1}


def nothing(rows, k, values, indices, stream):
    pass


@pytest.mark.parametrize(("change", "error", "message"), [
    ({"nan": "last"}, ValueError, "contract.nan is 'last', but must be one of"),
    ({"zeros": 3}, ValueError, "contract.zeros is 3"),
    ({"dtypes": "float32"}, TypeError, "contract.dtypes is a str, not a list of names"),
    ({"dtypes": [np.float32]}, ValueError, "contract.dtypes is .*; name some of float16"),
    ({"index_dtypes": []}, ValueError, "contract.index_dtypes is"),
    ({"max_n": -1}, ValueError, "contract.max_n = -1"),
    ({"max_k": "9"}, TypeError, "contract.max_k is a str"),
    ({"alignment": 3}, ValueError, "contract.alignment = 3, but must be 0 or a power of 2"),
])
def test_contracts(change, error, message):
    with pytest.raises(error, match=message):
        bench.register("refused", nothing, contract=bench.Contract(**change))


def test_what_is_no_contract():
    with pytest.raises(TypeError, match="contract is a str, not a kselect.bench.Contract"):
        bench.register("refused", nothing, contract="smallest")


@pytest.mark.parametrize(("shapes", "algorithms", "error", "message"), [
    ([(10.5, 1, 1)], ["auto"], TypeError, "a number of a shape is a float, but must be an integer"),
    ([(10, 1, 1)], "auto", TypeError, "algorithms is a str, but must be a list of names"),
    ([(10, 1, 11)], ["auto"], ValueError, "^/axes/k: k > n"),
])
def test_runs(tmp_path, shapes, algorithms, error, message):
    with pytest.raises(error, match=message):
        bench.run(shapes, algorithms=algorithms, out=tmp_path / "o")


@pytest.mark.parametrize("text", ["[]", "{", '{"parts": [3]}', '{"axes": 3}', '{"algorithms": 3}'])
def test_files_that_are_no_configs(tmp_path, text):
    (tmp_path / "bad.json").write_text(text)
    with pytest.raises(ValueError, match=r"bad.json: "):
        bench.run(tmp_path / "bad.json", out=tmp_path / "o")


def test_a_config_of_parts_with_lengths_beside_it(tmp_path):
    """The sweep reads a copy of the config elsewhere."""
    np.save(tmp_path / "lengths.npy", np.array([3, 0, 16]))
    rows = {"n": 16, "q": 3, "k": 2, "lengths": {"file": "lengths.npy"}}
    vectors = {"n": 64, "q": 3, "k": 2, "dimension": 4}
    parts = [{"axes": rows, "algorithms": ["auto"]}, {"task": "knn", "axes": vectors, "algorithms": ["auto"]}]
    config = {"schema": "kselect-config/1", "name": "parts", "parts": parts, "measure": SHORT}
    (tmp_path / "parts.json").write_text(json.dumps(config))
    found = bench.run(tmp_path / "parts.json", executor="cpu", out=tmp_path / "o")
    assert [record["status"] for record in found.records] == ["ok", "ok"]


def test_runs_in_one_second_have_folders_of_their_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("time.strftime", lambda form: "now")
    folders = [kselect._bench_records.new_folder("mine")]
    for _ in range(2):
        folders[-1].mkdir(parents=True)
        folders.append(kselect._bench_records.new_folder("mine"))
    assert [folder.name for folder in folders] == ["mine-now", "mine-now-2", "mine-now-3"]


DEFINITION = {
    "name": "topk", "op_type": "topk",
    "axes": {"n": {"type": "const", "value": 100}, "q": {"type": "var"}, "k": {"type": "const", "value": 3}},
    "inputs": {"x": {"shape": ["q", "n"], "dtype": "float32"}},
    "outputs": {"values": {"shape": ["q", "k"], "dtype": "float32"}},
}
WORKLOAD = {"definition": "topk", "workload": {"uuid": "1", "axes": {"q": 4}, "inputs": {"x": {"type": "random"}}}}


@pytest.mark.parametrize(("change", "message"), [
    ({"axes": 3}, "d.json: is no definition: one of its members has a wrong type"),
    ({"axes": {"n": {}}}, "d.json: lacks 'type'"),
    ({"inputs": {"x": None}}, "d.json: is no definition"),
    ({"name": 3}, "d.json: its name is 3, which is no text"),
])
def test_definitions(tmp_path, change, message):
    (tmp_path / "d.json").write_text(json.dumps(DEFINITION | change))
    with pytest.raises(ValueError, match=message):
        trace.read_definition(tmp_path / "d.json")


@pytest.mark.parametrize(("change", "message"), [
    (None, None),
    ({"axes": 3}, "w.jsonl:1: is no workload: one of its members has a wrong type"),
    ({"axes": {"q": "4"}}, "w.jsonl:1: axis 'q' is '4', which is no length"),
    ({"inputs": {"x": 3}}, "w.jsonl:1: is no workload"),
    ({"uuid": 3}, "w.jsonl:1: its uuid is 3, which is no text"),
])
def test_workloads(tmp_path, monkeypatch, change, message):
    monkeypatch.chdir(tmp_path)  # a file without folders in its name
    (tmp_path / "d.json").write_text(json.dumps(DEFINITION))
    line = WORKLOAD | {"workload": WORKLOAD["workload"] | (change or {})}
    (tmp_path / "w.jsonl").write_text(json.dumps(line))
    if message is None:
        assert [(w.n, w.q, w.k) for w in trace.workloads("d.json", "w.jsonl")] == [(100, 4, 3)]
        return
    with pytest.raises(ValueError, match=message):
        trace.workloads("d.json", "w.jsonl")
