"""The adapters: numpy's, and torch's against a torch that is numpy."""

import json

import numpy as np
import pytest

from peers import recorded
from peers.certificate import disprove
from peers.numpy_argpartition import NumpyArgpartition
from peers.torch_topk import TorchTopk
from plots.records import load

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
        "payload": "values_and_indices", "layout": "row_major", "pitch": 0,
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
        record_text(TorchTopk(fake_torch()), workload="normal"),
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
    assert loaded.records[3].reason == "distribution normal is not generated here"
    assert loaded.records[4].reason == "dtype bfloat16 is not generated here"
    assert all(r.index == "int64" and r.algorithm == peer.facts.name for r in loaded.records)
    timed = loaded.records[0].time
    assert timed is not None and timed.low <= timed.median <= timed.high


def test_a_wrong_answer_has_no_time(fake_torch):
    value = json.loads(record_text(TorchTopk(fake_torch(honest=False))))
    assert value["status"] == "wrong" and value["time"] is None
    assert "left out" in value["reason"]
    assert value["verify"]["rows"] == 0


def test_another_machine_is_refused(run_of_ours, tmp_path, peer, monkeypatch):
    monkeypatch.setattr(type(peer), "machine", lambda _: "Another")
    with pytest.raises(SystemExit, match="this is Another"):
        recorded.write_run(peer, run_of_ours, tmp_path / "peer")
    assert not (tmp_path / "peer").exists()


def test_the_processor_has_a_name():
    assert NumpyArgpartition().machine()


@pytest.mark.parametrize(
    ("values", "indices", "reason"),
    [
        ([1.0, 2.0], [2, 0], None),
        ([1.0, 3.0], [2, 1], "left out"),
        ([1.0, 1.0], [2, 2], "twice"),
        ([1.0, 2.0], [2, 3], "outside"),
        ([1.0, 2.5], [2, 0], "not the input's"),
    ],
)
def test_the_certificate_names_what_is_wrong(values, indices, reason):
    rows = np.array([[2.0, 3.0, 1.0]])
    wrong = disprove(rows, np.array([values]), np.array([indices]), largest=False)
    assert wrong is None if reason is None else reason in wrong
