"""The adapters: numpy's, and torch's against a torch that is numpy."""

import dataclasses
import json
from pathlib import Path

import jsonschema
import pytest

from peers import recorded
from peers.machine import processor
from peers.numpy_argpartition import NumpyArgpartition
from peers.shapes import listed
from peers.torch_topk import TorchTopk
from plots.errors import PlotError
from plots.records import load

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "results" / "record.schema.json").read_text())
META = {
    "schema": 1,
    "run": "mine",
    "state": "complete",
    "host": {"cpu": "Fake CPU"},
    "gpu": [{"name": "Fake GPU"}],
    "git": {"commit": "", "dirty": False},
}


def record_text(peer, **problem):
    """Return a line of a run of ours with one problem; the adapter's own writer frames it."""
    from types import SimpleNamespace

    fields = {
        "n": 50, "q": 3, "k": 5, "dtype": "float32", "index": "int32", "direction": "smallest",
        "payload": "values_and_indices", "layout": "row_major", "pitch": 0, "lengths": "", "mask": "",
        "workload": "uniform", "seed": 7,
    }  # fmt: skip
    return recorded.line_of(peer, SimpleNamespace(**(fields | problem)))


@pytest.fixture
def run_of_ours(tmp_path, fake_torch):
    directory = tmp_path / "mine"
    directory.mkdir()
    (directory / "meta.json").write_text(json.dumps(META))
    lines = [
        record_text(TorchTopk(fake_torch()), k=5),
        record_text(TorchTopk(fake_torch()), k=5, direction="largest"),
        record_text(TorchTopk(fake_torch()), dtype="float64", q=2),
        record_text(TorchTopk(fake_torch()), workload="nan_fraction(0.5)"),
        record_text(TorchTopk(fake_torch()), dtype="bfloat16"),
    ]
    (directory / "runs.jsonl").write_text("".join(lines))
    return directory


@pytest.fixture(params=["torch-topk", "numpy-argpartition"])
def peer(request, fake_torch, monkeypatch):
    monkeypatch.setattr(NumpyArgpartition, "machine", lambda _: "Fake CPU")
    return TorchTopk(fake_torch()) if request.param == "torch-topk" else NumpyArgpartition()


def test_every_problem_of_the_run_is_timed_proven_and_readable(run_of_ours, tmp_path, peer):
    recorded.write_run(peer, run_of_ours, tmp_path / "peer")
    loaded = load(tmp_path / "peer")
    assert loaded.run.state == "complete" and loaded.run.gpu == "Fake GPU"
    assert loaded.warnings == ()
    assert [(r.status, r.direction, r.dtype) for r in loaded.records] == [
        ("ok", "smallest", "float32"),
        ("ok", "largest", "float32"),
        ("ok", "smallest", "float64"),
        ("unsupported", "smallest", "float32"),
        ("unsupported", "smallest", "bfloat16"),
    ]
    assert loaded.records[3].reason == "distribution nan_fraction(0.5) is not asked for here"
    assert loaded.records[4].reason == "dtype bfloat16 is not supported"
    assert all(r.index == "int64" and r.algorithm == peer.facts.name for r in loaded.records)
    for line in (tmp_path / "peer" / "runs.jsonl").read_text().splitlines():
        jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(line))
    timed = loaded.records[0].time
    assert timed is not None and timed.low <= timed.median <= timed.high


def test_a_wrong_answer_has_no_time(fake_torch):
    value = json.loads(record_text(TorchTopk(fake_torch(honest=False))))
    assert value["status"] == "wrong" and value["time"] is None
    assert "count" in value["reason"]
    assert value["verify"]["rows"] == 0


CONFIG = {
    "schema": "kselect-config/1",
    "name": "small",
    "seed": 5,
    "axes": {"shapes": [[40, 3, 7], [1, 1, 1]], "dtype": ["float32", "float64"]},
    "algorithms": ["auto"],
    "executor": "cuda",
}


def config_file(directory, **axes):
    path = directory / "small.json"
    path.write_text(json.dumps(CONFIG | {"axes": CONFIG["axes"] | axes}))
    return path


def test_a_configs_shapes_are_timed_without_a_run(tmp_path, peer):
    recorded.write_run(peer, config_file(tmp_path), tmp_path / "peer")
    loaded = load(tmp_path / "peer")
    assert loaded.run.name == "peer" and loaded.run.state == "complete"
    assert loaded.run.gpu == ("Fake GPU" if peer.facts.executor == "cuda" else "")
    assert loaded.run.cpu == processor()
    assert [(r.status, r.n, r.q, r.k, r.dtype, r.seed) for r in loaded.records] == [
        ("ok", 40, 3, 7, "float32", 5),
        ("ok", 1, 1, 1, "float32", 5),
        ("ok", 40, 3, 7, "float64", 5),
        ("ok", 1, 1, 1, "float64", 5),
    ]


def test_the_goals_shapes_are_read():
    problems = listed(ROOT / "configs" / "goal.json")
    assert len(problems) == 53
    assert {(p.dtype, p.direction, p.seed) for p in problems} == {("float32", "smallest", 42)}
    assert (problems[0].n, problems[0].q, problems[0].k) == (1024, 131072, 8)


@pytest.mark.parametrize(
    ("axes", "reason"),
    [
        ({"layout": ["column_major"]}, "axes.layout is not read here"),
        ({"distribution": ["uniform", "normal"]}, "axes.distribution is not uniform alone"),
        ({"payload": "values"}, "axes.payload is not values_and_indices alone"),
        ({"shapes": [["2^10", 3, 7]]}, "its shapes are not all plain numbers"),
    ],
)
def test_what_a_config_says_beyond_shapes_is_refused(tmp_path, axes, reason):
    with pytest.raises(PlotError, match=reason):
        listed(config_file(tmp_path, **axes))


def test_another_machine_is_refused(run_of_ours, tmp_path, peer, monkeypatch):
    monkeypatch.setattr(type(peer), "machine", lambda _: "Another")
    with pytest.raises(SystemExit, match="this is Another"):
        recorded.write_run(peer, run_of_ours, tmp_path / "peer")
    assert not (tmp_path / "peer").exists()


def test_the_processor_has_a_name():
    assert NumpyArgpartition().machine()


def test_a_program_that_is_not_there_is_named(fake_torch, monkeypatch):
    monkeypatch.setenv("KSELECT_BINARY", "/nowhere/kselect")
    with pytest.raises(PlotError, match="/nowhere/kselect: No such file.*scripts/build.sh"):
        record_text(TorchTopk(fake_torch()))


def test_the_source_hash_is_of_the_file_that_a_peer_names():
    hashes = set()
    for file in ("peers/checkouts/rtopk.cu", "peers/checkouts/raft.cu"):
        peer = NumpyArgpartition()
        peer.facts = dataclasses.replace(peer.facts, file=file)
        algorithm = json.loads(record_text(peer))["algorithm"]
        assert algorithm["file"] == file
        hashes.add(algorithm["source_hash"])
    assert len(hashes) == 2
