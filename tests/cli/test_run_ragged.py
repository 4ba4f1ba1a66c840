"""`kselect run` on ragged rows and on indices alone: each cell is proven, and counts the bytes that it moves."""

import json

import jsonschema
from conftest import RECORD_SCHEMA, one_line, records


def test_lengths_are_an_axis(kselect, config, tmp_path):
    axes = {"n": 2000, "q": 40, "k": 16, "lengths": ["equal", "uniform", "zipf(1)", "two_sizes(0.1)"],
            "payload": ["values_and_indices", "indices"]}
    written = config(axes=axes, algorithms=["one-pass", "cpu/sort"])
    done = kselect("run", written, "--out", "o")
    assert "16 cells run, 16 ok" in done.stdout
    found = records(tmp_path / "o")
    moved = {}
    for record in found:
        jsonschema.validate(record, RECORD_SCHEMA)
        problem = record["problem"]
        moved[problem.get("lengths", "equal"), problem["payload"]] = record["floor"]["bytes"]
    answers = 40 * 16 * 4
    assert moved["equal", "indices"] == 4 * 40 * 2000 + answers
    assert moved["equal", "values_and_indices"] == 4 * 40 * 2000 + 2 * answers
    for lengths in ("uniform", "zipf(1)", "two_sizes(0.1)"):
        assert answers < moved[lengths, "indices"] < moved["equal", "indices"]
    assert len({record["key"] for record in found}) == 16
    meta = json.loads((tmp_path / "o" / "meta.json").read_text())
    assert meta["config"]["axes"]["lengths"] == axes["lengths"]
    kselect("run", written, "--out", "o", "--resume")
    assert len(records(tmp_path / "o")) == 16


def test_equal_lengths_are_not_recorded(kselect, config, tmp_path):
    kselect("run", config(axes={"n": 256, "q": 8, "k": 4}, algorithms=["cpu/sort"]), "--out", "o")
    meta = json.loads((tmp_path / "o" / "meta.json").read_text())
    assert "lengths" not in meta["config"]["axes"]
    assert all("lengths" not in record["problem"] for record in records(tmp_path / "o"))


def test_unknown_lengths_are_named(kselect, config):
    done = kselect("run", config(axes={"n": 256, "q": 8, "k": 4, "lengths": "zip"}), "--out", "o", check=2)
    assert '"zip" is not equal, uniform, zipf(0 to 8) or two_sizes(0 to 1)' in one_line(done.stderr)


def test_an_entry_that_takes_equal_rows_alone_says_so(kselect, config, tmp_path):
    axes = {"n": 500, "q": 4, "k": 4, "lengths": "uniform"}
    kselect("run", config(axes=axes, algorithms=["qms-block"]), "--executor", "fiber", "--out", "o", check=None)
    (record,) = records(tmp_path / "o")
    assert record["status"] == "unsupported"
    assert "lengths or starts of their own are not supported" in record["reason"]
