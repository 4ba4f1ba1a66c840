"""`kselect run` on ragged rows and on indices alone: each cell is proven, and counts the bytes that it moves."""

import json

import jsonschema
import numpy as np
import pytest
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
    assert '"zip" is not equal, uniform, zipf(0 to 8), two_sizes(0 to 1) or {"file": "L.npy"}' in one_line(done.stderr)


def test_an_entry_that_takes_equal_rows_alone_says_so(kselect, config, tmp_path):
    axes = {"n": 500, "q": 4, "k": 4, "lengths": "uniform"}
    kselect("run", config(axes=axes, algorithms=["qms-block"]), "--executor", "fiber", "--out", "o", check=None)
    (record,) = records(tmp_path / "o")
    assert record["status"] == "unsupported"
    assert "lengths or starts of their own are not supported" in record["reason"]


def write_lengths(tmp_path, numbers, dtype=np.int64):
    np.save(tmp_path / "lengths.npy", np.array(numbers, dtype))


def test_lengths_of_a_file(kselect, config, tmp_path):
    write_lengths(tmp_path, [3, 0, 500, 17, 400])
    axes = {"n": 500, "q": 4, "k": 8, "lengths": ["equal", {"file": "lengths.npy"}]}
    written = config(axes=axes, algorithms=["auto", "cpu/sort"])
    done = kselect("run", written, "--executor", "cpu", "--out", "o")
    assert "4 cells run, 4 ok" in done.stdout
    ragged = [record for record in records(tmp_path / "o") if "lengths" in record["problem"]]
    assert len(ragged) == 2
    for record in ragged:
        assert record["problem"]["lengths"].startswith("file(lengths.npy, ")
        assert record["floor"]["bytes"] == 4 * (3 + 0 + 500 + 17) + 2 * 4 * 4 * 8
    assert json.loads((tmp_path / "o" / "meta.json").read_text())["config"]["axes"]["lengths"] == axes["lengths"]
    again = kselect("run", written, "--executor", "cpu", "--out", "o", "--resume")
    assert "0 cells run" in again.stdout or "nothing" in again.stdout.lower()
    write_lengths(tmp_path, [3, 1, 500, 17])
    kselect("run", written, "--executor", "cpu", "--out", "changed")
    keys = {record["key"] for record in records(tmp_path / "changed")}
    assert len(keys & {record["key"] for record in ragged}) == 0


@pytest.mark.parametrize("numbers, dtype, code, message", [
    (None, None, 3, "lengths.npy"),
    ([1, 2, 3], np.int64, 2, "lengths.npy has 3 lengths, fewer than the rows at n = 500, q = 4, k = 8"),
    ([1, 2, 501, 3], np.int64, 2, "lengths.npy: row 2 has length 501, more than n at n = 500, q = 4, k = 8"),
    ([1, 2, -3, 3], np.int32, 3, "number 2 is -3, but a length is 0 to 2^31 - 1"),
    ([1, 2, 3, 3], np.float32, 3, "holds float32, but lengths are int32 or int64"),
    ([[1, 2], [3, 3]], np.int32, 3, "has 2 dimensions, but lengths are one number a row"),
])  # fmt: skip
def test_what_may_be_wrong_with_a_file_of_lengths(kselect, config, tmp_path, numbers, dtype, code, message):
    if numbers is not None:
        write_lengths(tmp_path, numbers, dtype)
    axes = {"n": 500, "q": 4, "k": 8, "lengths": {"file": "lengths.npy"}}
    done = kselect("run", config(axes=axes, algorithms=["cpu/sort"]), "--out", "o", check=code)
    assert message in one_line(done.stderr)


def test_a_file_of_lengths_is_an_object_with_one_key(kselect, config):
    axes = {"n": 500, "q": 4, "k": 8, "lengths": {"files": "lengths.npy"}}
    done = kselect("run", config(axes=axes, algorithms=["cpu/sort"]), "--out", "o", check=2)
    assert '"file"' in one_line(done.stderr)
