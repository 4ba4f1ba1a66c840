"""FlashInfer-Trace: small files as its schema has them (docs/flashinfer-trace of FlashInfer-Bench)."""

import json
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import kselect

trace = pytest.importorskip("kselect.trace")
bench = pytest.importorskip("kselect.bench")

DEFINITION = {
    "name": "topk_n64_k4",
    "op_type": "topk",
    "tags": ["status:draft"],
    "axes": {
        "batch_size": {"type": "var"}, "vocab_size": {"type": "const", "value": 64},
        "top_k": {"type": "const", "value": 4},
    },
    "inputs": {
        "logits": {"shape": ["batch_size", "vocab_size"], "dtype": "float32"},
        "k": {"shape": None, "dtype": "int32"},
    },
    "outputs": {
        "values": {"shape": ["batch_size", "top_k"], "dtype": "float32"},
        "indices": {"shape": ["batch_size", "top_k"], "dtype": "int64"},
    },
    "reference": "import torch\n\ndef run(logits, k):\n    return torch.topk(logits, k)",
}  # fmt: skip
QUICK = {"warmup": 0, "rounds": 1, "min_samples": 2, "max_samples": 2}


def workload(uuid, batch, source=None):
    rows = source or {"type": "random"}
    return {
        "definition": "topk_n64_k4",
        "workload": {
            "uuid": uuid, "axes": {"batch_size": batch},
            "inputs": {"logits": rows, "k": {"type": "scalar", "value": 4}},
        },
        "solution": None,
        "evaluation": None,
    }  # fmt: skip


def safetensors(tensors):
    """The bytes of a file with these arrays of float32."""
    header, data = {}, b""
    for key, array in tensors.items():
        begin, data = len(data), data + array.tobytes()
        header[key] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


@pytest.fixture
def files(tmp_path):
    """A trace set: a definition, and two random workloads and one with rows of its own."""
    rows = np.random.default_rng(4).normal(size=(3, 64)).astype(np.float32)
    (tmp_path / "blob").mkdir()
    (tmp_path / "blob" / "rows.safetensors").write_bytes(safetensors({"other": rows[:1], "x": rows}))
    own = {"type": "safetensors", "path": "blob/rows.safetensors", "tensor_key": "x"}
    lines = [workload("a-1", 5), workload("b-2", 2), workload("c-3", 3, own)]
    (tmp_path / "workloads" / "topk").mkdir(parents=True)
    definition, work = tmp_path / "topk_n64_k4.json", tmp_path / "workloads" / "topk" / "topk_n64_k4.jsonl"
    definition.write_text(json.dumps(DEFINITION))
    work.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return definition, work, rows


def test_workloads_are_problems(files):
    definition, work, _ = files
    found = trace.workloads(definition, work)
    assert [(w.uuid, w.n, w.q, w.k, w.dtype, w.index, w.file is None) for w in found] == [
        ("a-1", 64, 5, 4, "float32", "int64", True), ("b-2", 64, 2, 4, "float32", "int64", True),
        ("c-3", 64, 3, 4, "float32", "int64", False),
    ]  # fmt: skip


def test_configs_are_measured_and_runs_become_traces(files, tmp_path):
    definition, work, rows = files

    def lies(rows, k, values, indices, stream):
        values[...], indices[...] = rows[:, :k], np.arange(k)

    bench.register("lies", lies)
    names = ["auto", "numpy.argpartition", "lies", "qms-warp"]
    random, own = trace.configs(definition, work, tmp_path / "configs", algorithms=names, measure=QUICK)
    told = json.loads(random.read_text())
    assert told["axes"]["shapes"] == [[64, 5, 4], [64, 2, 4]] and told["axes"]["distribution"] == "normal"
    assert (np.load(own.with_suffix(".npy")) == rows).all()
    out = tmp_path / "traces.jsonl"
    for number, config in enumerate((random, own)):
        run = bench.run(config, out=tmp_path / f"run{number}", executor="cpu")
        count = trace.write(run, definition, work, out, reference="numpy.argpartition")
        assert count == (6 if number == 0 else 3)  # the kernel does not run on the CPU
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [line["workload"]["uuid"] for line in lines].count("c-3") == 3
    for line in lines:
        assert line.keys() == {"definition", "workload", "solution", "evaluation"}
        check_evaluation(line["evaluation"], line["solution"])


def check_evaluation(told, solution):
    """What FlashInfer-Bench's models require (flashinfer_bench/data/trace.py)."""
    assert told["environment"]["hardware"] and told["environment"]["libs"]["kselect"] and told["timestamp"]
    if solution == "lies":
        assert told["status"] == "INCORRECT_NUMERICAL" and told["performance"] is None
        assert told["correctness"]["max_absolute_error"] == "NaN"
        assert "rows wrong" in told["correctness"]["extra"]["certificate"] and told["log"]
        return
    assert told["status"] == "PASSED" and told["correctness"]["max_relative_error"] == 0
    speed = told["performance"]
    assert speed["latency_ms"] > 0 and speed["reference_latency_ms"] > 0
    assert speed["speedup_factor"] == pytest.approx(speed["reference_latency_ms"] / speed["latency_ms"])
    assert (solution == "numpy.argpartition") == (speed["speedup_factor"] == 1)


def changed(**members):
    return DEFINITION | members


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        (changed(op_type="gemm"), "op_type is 'gemm'"),
        ({k: v for k, v in DEFINITION.items() if k != "axes"}, "has no 'axes'"),
        (changed(inputs={"k": {"shape": None, "dtype": "int32"}}), "has no input of rows"),
        (
            changed(inputs=DEFINITION["inputs"] | {"seq_lens": {"shape": ["batch_size"], "dtype": "int32"}}),
            "input 'seq_lens' is not read; rows .* of one length",
        ),
        (changed(outputs={"mask": {"shape": ["batch_size", "top_k"], "dtype": "bool"}}), "output 'mask'"),
        (changed(outputs={}), "has no output"),
        ([], "no JSON object"),
    ],
)
def test_definitions_that_are_not_read(tmp_path, definition, message):
    (tmp_path / "d.json").write_text(json.dumps(definition))
    with pytest.raises(ValueError, match=message):
        trace.read_definition(tmp_path / "d.json")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "w.jsonl:2: is no JSON"),
        (workload("a", 5) | {"definition": "another"}, "w.jsonl:2: is of 'another'"),
        (workload("a", 5, {"type": "scalar", "value": 1}), "rows are 'scalar'"),
        ({"definition": "topk_n64_k4", "workload": {"axes": {}}}, "lacks 'batch_size'"),
    ],
)
def test_workloads_that_are_not_read(files, line, message):
    definition, work, _ = files
    bad = work.parent / "w.jsonl"
    bad.write_text(json.dumps(workload("a", 1)) + "\n" + (line if isinstance(line, str) else json.dumps(line)))
    with pytest.raises(ValueError, match=message):
        trace.workloads(definition, bad)


def test_files_of_rows_that_are_not_read(files, tmp_path):
    definition, work, rows = files
    blob = tmp_path / "blob" / "rows.safetensors"
    for content, message in (
        (None, "No such file"), (b"short", "no safetensors file"), (safetensors({"y": rows}), "no tensor 'x'"),
        (safetensors({"x": rows})[:-4], "is cut off"), (safetensors({"x": rows[:2]}), "the workload says"),
    ):  # fmt: skip
        blob.unlink() if content is None else blob.write_bytes(content)
        with pytest.raises(ValueError, match=message):
            trace.configs(definition, work, tmp_path / "configs")


class Tensor(np.ndarray):
    """An array with what the evaluator asks of a tensor."""

    def cpu(self):
        return self.view(np.ndarray)

    def long(self):
        return self.astype(np.int64)

    def gather(self, axis, places):
        return np.take_along_axis(self, places, axis)


@pytest.fixture
def evaluator(monkeypatch):
    """The evaluator, with stand-ins for torch and for what it imports of flashinfer_bench."""

    class Quiet:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            return False

    def module(name, **members):
        made = ModuleType(name)
        made.__dict__.update(members)
        monkeypatch.setitem(sys.modules, name, made)
        return made

    statuses = SimpleNamespace(**{s: s for s in ("RUNTIME_ERROR", "INCORRECT_SHAPE", "INCORRECT_DTYPE", "INCORRECT_NUMERICAL")})
    module("torch", no_grad=Quiet, cuda=SimpleNamespace(synchronize=lambda device: None))
    for name in ("flashinfer_bench", "flashinfer_bench.bench"):
        module(name)
    registry = module("flashinfer_bench.bench.evaluators.registry", _EVALUATORS=[])
    module("flashinfer_bench.bench.evaluators", registry=registry)
    module("flashinfer_bench.bench.evaluators.default", DefaultEvaluator=object)
    module("flashinfer_bench.bench.evaluators.utils", normalize_result=lambda definition, result, device: result,
           allocate_outputs=lambda definition, given, device: [
               np.zeros((len(given[0]), 4), np.float32).view(Tensor), np.zeros((len(given[0]), 4), np.int64).view(Tensor)])  # fmt: skip
    module("flashinfer_bench.bench.utils", make_eval=lambda **given: given)
    module("flashinfer_bench.data", Correctness=lambda **given: given, EvaluationStatus=statuses)
    monkeypatch.delattr(kselect, "_trace_evaluator", raising=False)
    monkeypatch.delitem(sys.modules, "kselect._trace_evaluator", raising=False)
    found = trace.register_evaluator()
    assert trace.register_evaluator() is found and registry._EVALUATORS == [found]
    yield found
    sys.modules.pop("kselect._trace_evaluator", None)


def judged(evaluator, solution, definition=DEFINITION, writes=False):
    """What the evaluator says of a solution on one trial."""
    model = SimpleNamespace(
        inputs=definition["inputs"], outputs=definition["outputs"], model_dump=lambda mode: definition
    )
    assert evaluator.can_evaluate(model)
    rows = np.random.default_rng(1).integers(0, 5, (3, 64)).astype(np.float32).view(Tensor)
    best = [np.asarray(a).view(Tensor) for a in kselect.top_k(np.asarray(rows), 4)]
    if "values" not in definition["outputs"]:
        best = best[1:]

    class Runnable:
        metadata = SimpleNamespace(destination_passing_style=writes)

        def __call__(self, *given):
            return solution(*given)

    return evaluator.check_correctness(model, Runnable(), [[rows, 4]], [best], None, "log", "cpu")


def right(rows, k, *out):
    """Those that tie from the end of the row: others than torch's or kselect's."""
    n = rows.shape[1]
    places = n - 1 - np.argsort(-np.asarray(rows)[:, ::-1], axis=1, kind="stable")[:, :k]
    answer = np.take_along_axis(rows, places, 1).view(Tensor), places.view(Tensor)
    for target, found in zip(out, answer, strict=bool(out)):
        target[...] = found
    return answer


def test_the_certificate_judges_in_flashinfer_bench(evaluator):
    for writes in (False, True):
        told, failed = judged(evaluator, right, writes=writes)
        assert failed is None and told["max_absolute_error"] == 0
    only = DEFINITION | {"outputs": {"indices": DEFINITION["outputs"]["indices"]}}
    assert judged(evaluator, lambda rows, k: right(rows, k)[1:], only)[1] is None
    outside = judged(evaluator, lambda rows, k: (right(rows, k)[1] + 64,), only)
    assert outside[1]["status"] == "INCORRECT_NUMERICAL" and "index_range" in outside[0]["extra"]["certificate"]


def test_wrong_solutions_fail_in_flashinfer_bench(evaluator):
    def nearly(rows, k):
        values, indices = right(rows, k)
        values[1, 2] *= 1 + 1e-6
        return values, indices

    def raises(rows, k):
        raise RuntimeError("no kernel")

    for solution, status in (
        (nearly, "INCORRECT_NUMERICAL"),
        (lambda rows, k: [a[:, :3] for a in right(rows, k)], "INCORRECT_SHAPE"),
        (lambda rows, k: (right(rows, k)[0], right(rows, k)[1].astype(np.int32)), "INCORRECT_DTYPE"),
        (raises, "RUNTIME_ERROR"),
    ):
        assert judged(evaluator, solution)[1]["status"] == status
    other = SimpleNamespace(model_dump=lambda mode: DEFINITION | {"op_type": "gemm"})
    assert not evaluator.can_evaluate(other)
