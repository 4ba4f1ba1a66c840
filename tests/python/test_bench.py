"""kselect.bench: functions of Python's in the harness, proven and timed as native entries are."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from source_tree import ROOT

import kselect

bench = pytest.importorskip("kselect.bench", reason="the package was built without the program")
RECORD_SCHEMA = ROOT / "results" / "record.schema.json"
QUICK = {"warmup": 0, "rounds": 3, "min_samples": 2, "max_samples": 2, "max_seconds": 0.05}
SMALLEST = bench.Contract(mode="smallest")


def select(rows, k, values, indices, stream):
    """A right answer, in NumPy."""
    assert stream is None
    found = np.argpartition(rows, k - 1, axis=1)[:, :k]
    indices[...] = found
    values[...] = np.take_along_axis(rows, found, 1)


def measured(tmp_path, names, shapes=((64, 5, 4),), **more):
    return bench.run(shapes, algorithms=names, out=tmp_path / "run", executor="cpu", **{"measure": QUICK} | more)


def statuses(run):
    return {r["algorithm"]["name"]: r["status"] for r in run.records}


def test_its_records_are_those_of_native_entries(tmp_path):
    bench.register("own", select, contract=SMALLEST, family="mine", source="this test")
    run = measured(tmp_path, ["own", "auto", "numpy.argpartition"], [(64, 5, 4), (300, 2, 1)])
    by_name = {}
    for record in run.records:
        by_name.setdefault(record["algorithm"]["name"], []).append(record)
    assert {name: len(cells) for name, cells in by_name.items()} == {"own": 2, "auto": 2, "numpy.argpartition": 2}
    own, native = by_name["own"][0], by_name["auto"][0]
    assert own["status"] == "ok" and own.keys() == native.keys()
    assert own["verify"] == native["verify"] and own["verify"]["after"] and own["inputs"] == native["inputs"]
    assert len(own["time"]["rounds"]) == len(native["time"]["rounds"])
    assert own["time"]["clock"] == native["time"]["clock"]
    assert (own["algorithm"]["family"], own["algorithm"]["source"]) == ("mine", "this test")
    assert own["algorithm"]["file"] == str(Path(__file__))
    assert run.median("own").keys() == {(64, 5, 4), (300, 2, 1)} and str(run).count("own") == 2
    schema = pytest.importorskip("jsonschema")
    if RECORD_SCHEMA.exists():
        for record in run.records:
            schema.Draft202012Validator(json.loads(RECORD_SCHEMA.read_text())).validate(record)


def test_entries_take_turns_on_fresh_rows_and_poisoned_outputs(tmp_path):
    calls, seen, stale = [], set(), []

    def watched(name):
        def call(rows, k, values, indices, stream):
            calls.append(name)
            seen.add(rows.tobytes())
            stale.append(bool((values == np.sort(rows, axis=1)[:, :k]).all()))
            select(rows, k, values, indices, stream)

        return call

    for name in ("turn-a", "turn-b"):
        bench.register(name, watched(name), contract=SMALLEST)
    assert set(statuses(measured(tmp_path, ["turn-a", "turn-b"])).values()) == {"ok"}
    changes = sum(a != b for a, b in zip(calls, calls[1:], strict=False))
    assert changes >= QUICK["rounds"]  # not all of one, then all of the other
    assert len(seen) >= QUICK["rounds"] and not any(stale)


def remembering():
    """Gives the first answer for ever."""
    kept = []

    def call(rows, k, values, indices, stream):
        if not kept:
            select(rows, k, values, indices, stream)
            kept.extend((values.copy(), indices.copy()))
        values[...], indices[...] = kept

    return call


def lazy(rows, k, values, indices, stream):
    """Leaves out the last row."""
    select(rows[:-1], k, values[:-1], indices[:-1], stream)


def changing(rows, k, values, indices, stream):
    """Sorts the rows where they are."""
    select(rows, k, values, indices, stream)
    rows.sort(axis=1)


def failing(rows, k, values, indices, stream):
    raise LookupError("no kernel for this")


@pytest.mark.parametrize(
    ("function", "status", "reason"),
    [
        (remembering(), "wrong", "rows wrong"),
        (lazy, "wrong", "rows wrong"),
        (changing, "wrong", "changed its input"),
        (failing, "error", "LookupError('no kernel for this')"),
    ],
)
def test_a_function_that_cheats_or_fails_costs_its_cell(tmp_path, function, status, reason):
    bench.register("suspect", function, contract=SMALLEST)
    run = measured(tmp_path, ["suspect", "auto"])
    assert statuses(run) == {"suspect": status, "auto": "ok"}
    assert reason in next(r["reason"] for r in run.records if r["status"] == status)


def test_a_function_replaces_that_of_its_name(tmp_path):
    bench.register("again", failing, contract=SMALLEST)
    assert statuses(measured(tmp_path, ["again"])) == {"again": "error"}
    bench.register("again", select, contract=SMALLEST)
    assert statuses(bench.run([(64, 5, 4)], algorithms=["again"], out=tmp_path / "second", measure=QUICK,
                              executor="cpu")) == {"again": "ok"}  # fmt: skip


def test_the_source_of_a_function_is_in_the_cells_key(tmp_path):
    def keys(text):
        (tmp_path / "entry.py").write_text(text)
        scope = {}
        exec(compile(text, tmp_path / "entry.py", "exec"), {"np": np}, scope)
        bench.register("edited", scope["f"], contract=SMALLEST)
        return {r["key"] for r in measured(tmp_path, ["edited"], resume=(tmp_path / "run").exists()).records}

    text = (
        "def f(rows, k, values, indices, stream):\n"
        "    indices[...] = np.argsort(rows, axis=1)[:, :k]\n"
        "    values[...] = np.take_along_axis(rows, indices, 1)\n"
    )
    first = keys(text)
    assert keys(text) == first  # resumed: nothing to do
    assert len(keys(text + "# edited\n") - first) == 1


def test_modes_and_types(tmp_path):
    told = set()

    def both(rows, k, values, indices, stream, *, mode):
        told.add((mode, rows.dtype.name, indices.dtype.name))
        keys = -rows.astype(np.float32) if mode == "largest" else rows.astype(np.float32)
        found = np.argsort(keys, axis=1, kind="stable")[:, :k]
        indices[...] = found
        values[...] = np.take_along_axis(rows, found, 1)

    pytest.importorskip("ml_dtypes")
    dtypes = ("float32", "float64", "float16", "bfloat16")
    contract = bench.Contract(mode="both", dtypes=dtypes, sorted=True, stable=True)
    bench.register("both", both, contract=contract)
    bench.register("largest", select, contract=bench.Contract(mode="largest"))
    axes = {"dtype": dtypes, "direction": ["smallest", "largest"], "index": ["int32", "int64"]}
    run = measured(tmp_path, ["both"], axes=axes)
    assert statuses(run) == {"both": "ok"}
    assert told == {(m, d, i) for m in ("smallest", "largest") for d in dtypes for i in ("int32", "int64")}
    refused = bench.run([(9, 1, 1)], algorithms=["largest"], out=tmp_path / "refused", measure=QUICK, executor="cpu")
    assert [r["reason"] for r in refused.records] == ["selects the largest alone"]


def test_the_battery_is_a_conformance_test():
    bench.register("whole", select, contract=SMALLEST)
    passed = bench.test("whole", cases="ExhaustiveSmallWorlds")
    assert [(c["case"], c["reason"]) for c in passed] == [("ExhaustiveSmallWorlds", "")] and passed[0]["proven"] > 20
    bench.register("part", lazy, contract=SMALLEST)
    assert any("wrong" in case["reason"] for case in bench.test("part", cases="BoundarySizes"))


def test_a_config_s_file_or_name_is_taken(tmp_path):
    config = {
        "schema": "kselect-config/1", "name": "own", "axes": {"n": 50, "q": 2, "k": [1, 3]},
        "algorithms": ["cpu/sort"], "executor": "cpu", "measure": QUICK,
    }  # fmt: skip
    (tmp_path / "own.json").write_text(json.dumps(config))
    run = bench.run(tmp_path / "own.json", out=tmp_path / "run")
    assert [(r["algorithm"]["name"], r["problem"]["index"]) for r in run.records] == [("cpu/sort", "int64")] * 2
    np.save(tmp_path / "rows.npy", np.random.default_rng(1).random((2, 50), np.float32))
    config |= {"input": {"rows": {"file": "rows.npy"}}, "plugins": ["./absent.so"]}
    (tmp_path / "own.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match=f"/plugins/0: {tmp_path / 'absent.so'}"):
        bench.run(tmp_path / "own.json", out=tmp_path / "plugins")
    (tmp_path / "own.json").write_text(json.dumps(config | {"plugins": ["${KSELECT_ABSENT}"]}))
    with pytest.raises(ValueError, match="KSELECT_ABSENT"):
        bench.run(tmp_path / "own.json", out=tmp_path / "variable")
    del config["plugins"]
    (tmp_path / "own.json").write_text(json.dumps(config))
    read = bench.run(tmp_path / "own.json", out=tmp_path / "read", axes={"index": "int32"})
    assert [(r["status"], r["input"]["kind"]) for r in read.records] == [("ok", "rows")] * 2, read
    planned = bench._config_of("goal.json", ["mine", "auto", "torch.topk"], {}, {})
    assert len(planned["axes"]["shapes"]) == 53 and planned["algorithms"] == ["mine", "auto", "torch.topk"]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_an_answer_is_proven_or_refuted(dtype):
    if dtype == "bfloat16":
        dtype = pytest.importorskip("ml_dtypes").bfloat16
    rows = np.random.default_rng(2).integers(-9, 9, (4, 30)).astype(dtype)
    values, indices = kselect.top_k(rows, 5, stable=True)
    largest = bench.Contract(sorted=True, stable=True)
    assert bench.refute(rows, values, indices) is None
    assert bench.refute(rows, values, indices.astype(np.int32), contract=largest) is None
    assert bench.refute(rows, values) is None
    assert "row 0" in bench.refute(rows, values, indices, contract=SMALLEST)
    values[2, 1] += 20
    assert "value_bits: row 2, position 1" in bench.refute(rows, values, indices)
    values, indices = kselect.top_k(rows, 5)
    assert "ordering" in bench.refute(rows, values[:, ::-1], indices[:, ::-1], contract=bench.Contract(sorted=True))
    indices[3, 0] = 30
    assert "index_range: row 3, position 0" in bench.refute(rows, values, indices)


def test_what_is_no_answer_is_refused():
    rows, values, places = np.zeros((2, 9), np.float32), np.zeros((2, 3), np.float32), np.zeros((2, 3), np.int64)
    for error, message, given in (
        (ValueError, "rows have shape", (rows[0], values, places)),
        (ValueError, "rows have shape", (rows, values[:1], places[:1])),
        (ValueError, "indices have shape", (rows, values, places[:, :2])),
        (TypeError, "values have dtype float64", (rows, values.astype(float), places)),
        (TypeError, "indices have dtype int8", (rows, values, places.astype(np.int8))),
        (TypeError, "rows have dtype int64", (places, places, places)),
    ):
        with pytest.raises(error, match=message):
            bench.refute(*given)
    for given, message in (
        ((3, values), "rows have dtype int64"),
        ((rows, "x"), "rows have shape|values have dtype"),
        ((rows, None), "rows have shape|values have dtype"),
        ((rows, [[1], [2, 3]]), "values cannot be made an array"),
        ((rows, values, object()), "indices have"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            bench.refute(*given)
    with pytest.raises(ValueError, match="'both'"):
        bench.refute(rows, values, places, contract=bench.Contract(mode="both"))


def test_bad_arguments_are_named(tmp_path):
    for name in ("", "two words", "glob*", "x" * 129):
        with pytest.raises(ValueError, match="name is"):
            bench.register(name, select)
    with pytest.raises(ValueError, match="auto is an entry of kselect"):
        bench.register("auto", select)
    with pytest.raises(TypeError, match="cannot be called"):
        bench.register("x", 3)
    with pytest.raises(ValueError, match="arrays is 'jax'"):
        bench.register("x", select, arrays="jax")
    with pytest.raises(ValueError, match="executors are"):
        bench.register("x", select, executors=("cuda",))
    with pytest.raises(ValueError, match=r"contract\.mode is 'least'"):
        bench.register("x", select, contract=bench.Contract(mode="least"))
    with pytest.raises(ValueError, match=r"contract\.dtypes is \('int16',\)"):
        bench.register("x", select, contract=bench.Contract(dtypes=("int16",)))
    with pytest.raises(ValueError, match="no such config"):
        bench.run("no such config")
    with pytest.raises(ValueError, match="name some"):
        bench.run([(8, 1, 1)])
    with pytest.raises(ValueError, match="k"):
        bench.run([(8, 1, 9)], algorithms=["auto"], out=tmp_path / "k", executor="cpu")
    with pytest.raises(ValueError, match="no algorithm"):
        bench.run([(8, 1, 1)], algorithms=["nobody"], out=tmp_path / "nobody", executor="cpu")
    with pytest.raises(ValueError, match="no such|unknown|nobody"):
        bench.test("nobody")


def test_importing_kselect_does_not_load_the_harness():
    program = "import sys, kselect; assert 'kselect.bench' not in sys.modules; print(kselect.bench.Contract().mode)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("largest\n", "")
    with pytest.raises(AttributeError, match="'nothing'"):
        _ = kselect.nothing
