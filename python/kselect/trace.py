"""FlashInfer-Trace: definitions and workloads of top-k as configs, and runs as traces.

    files = kselect.trace.configs("topk_n4096_k64.json", "topk_n4096_k64.jsonl", "configs")
    run = kselect.bench.run(files[0], algorithms=["mine", "auto"])
    kselect.trace.write(run, "topk_n4096_k64.json", "topk_n4096_k64.jsonl", "traces.jsonl")

The format is FlashInfer-Bench's (docs/flashinfer-trace in its repository): a definition is a JSON
object; workloads are lines of JSON, traces without solution and evaluation.
"""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kselect import _safetensors
from kselect._bench_records import Run, parsed
from kselect._version import __version__

__all__ = ["Workload", "configs", "register_evaluator", "traces", "workloads", "write"]

_OPERATIONS = ("topk", "top_k")
_FLOATS = ("float32", "float16", "bfloat16", "float64")
_INDICES = ("int32", "int64")
# What becomes of a cell; a cell that its entry does not take, or that has no time, is no trace.
_STATUSES = {
    "ok": "PASSED",
    "wrong": "INCORRECT_NUMERICAL",
    "error": "RUNTIME_ERROR",
    "out_of_memory": "RUNTIME_ERROR",
    "timeout": "TIMEOUT",
}


@dataclass(frozen=True)
class Workload:
    """A workload of a definition, as a problem of kselect's."""

    uuid: str
    n: int
    q: int
    k: int
    dtype: str
    index: str
    file: Path | None  #: the safetensors file that has the rows; None: they are random
    tensor: str  #: its key there
    line: dict[str, Any]  #: the line that it was read from


def read_definition(file: str | Path) -> dict[str, Any]:
    """Read a definition. Raises ValueError if it is none of a top-k."""
    found = _parsed(Path(file).read_text(), str(file))
    for member in ("name", "op_type", "axes", "inputs", "outputs"):
        if member not in found:
            raise ValueError(f"{file}: has no {member!r}, which a definition has")
    if not isinstance(found["name"], str):
        raise ValueError(f"{file}: its name is {found['name']!r}, which is no text")
    with _reading(str(file), "definition"):
        problem_of(found, str(file))
        _constants(found)
    return found


@contextmanager
def _reading(where: str, what: str) -> Iterator[None]:
    """Say of which file or line a member is missing or of another type than expected."""
    try:
        yield
    except KeyError as missing:
        raise ValueError(f"{where}: lacks {missing}") from None
    except (AttributeError, TypeError):
        raise ValueError(f"{where}: is no {what}: one of its members has a wrong type") from None


def _constants(definition: dict[str, Any]) -> dict[str, Any]:
    """The axes of one length."""
    return {n: axis["value"] for n, axis in definition["axes"].items() if axis["type"] == "const"}


def _parsed(text: str, where: str) -> dict[str, Any]:
    value = parsed(text, where)
    if not isinstance(value, dict):
        raise ValueError(f"{where}: is no JSON object")
    return value


def problem_of(definition: dict[str, Any], where: str = "definition") -> dict[str, str]:
    """The names of rows, values, indices and of the axes q, n and k in a definition of a top-k.

    Raises ValueError if it is none, or one that kselect has no problem for.
    """
    operation = definition["op_type"]
    if operation not in _OPERATIONS:
        raise ValueError(f"{where}: op_type is {operation!r}; {' and '.join(_OPERATIONS)} are read")
    names: dict[str, str] = {}
    for name, tensor in definition["inputs"].items():
        shape = tensor.get("shape")
        if shape is None and name in ("k", "top_k"):
            continue
        if names or not shape or len(shape) != 2 or tensor["dtype"] not in _FLOATS:
            raise ValueError(
                f"{where}: input {name!r} is not read; rows [Q, n] of one length are, and a "
                "scalar k or top_k"
            )
        names = {"rows": name, "dtype": tensor["dtype"], "q": shape[0], "n": shape[1]}
    if not names:
        raise ValueError(f"{where}: has no input of rows, [Q, n]")
    for name, tensor in definition["outputs"].items():
        shape, dtype = tensor.get("shape"), tensor["dtype"]
        kind = "indices" if dtype in _INDICES else "values"
        is_answer = shape and len(shape) == 2 and shape[0] == names["q"]
        if not is_answer or kind in names or dtype not in (*_INDICES, names["dtype"]):
            raise ValueError(f"{where}: output {name!r} is neither values nor indices, [Q, k]")
        if names.setdefault("k", shape[1]) != shape[1]:
            raise ValueError(f"{where}: its outputs have different k: {names['k']}, {shape[1]}")
        names[kind] = name
        if kind == "indices":
            names["index"] = dtype
    if "k" not in names:
        raise ValueError(f"{where}: has no output of values or indices, [Q, k]")
    return names


def workloads(definition: str | Path, file: str | Path) -> list[Workload]:
    """Read the workloads of a definition of a top-k.

    Args:
        definition: Its JSON file.
        file: The lines of its workloads. Paths of safetensors files in them are relative to the
            root of the trace set, which is two folders above the file's, workloads/OP_TYPE.

    Raises:
        ValueError: A file or line that the message names is none of that.
    """
    known = read_definition(definition)
    names = problem_of(known, str(definition))
    return list(_read_workloads(known, names, Path(file)))


def _read_workloads(
    definition: dict[str, Any], names: dict[str, str], file: Path
) -> Iterator[Workload]:
    for number, text in enumerate(file.read_text().splitlines(), 1):
        if not text.strip():
            continue
        where = f"{file}:{number}"
        line = _parsed(text, where)
        if line.get("definition") != definition["name"]:
            raise ValueError(f"{where}: is of {line.get('definition')!r}, not {definition['name']!r}")
        with _reading(where, "workload"):
            found = _workload_of(line, _constants(definition), names, where, file)
        yield found


def _workload_of(
    line: dict[str, Any], constants: dict[str, Any], names: dict[str, str], where: str, file: Path
) -> Workload:
    work = line.get("workload") or {}
    axes = constants | work.get("axes", {})
    q, n, k = (axes[names[axis]] for axis in ("q", "n", "k"))
    for axis, length in (("q", q), ("n", n), ("k", k)):
        if type(length) is not int or length < 0:
            raise ValueError(f"{where}: axis {names[axis]!r} is {length!r}, which is no length")
    rows = work["inputs"][names["rows"]]
    uuid, kind = work["uuid"], rows["type"]
    if not isinstance(uuid, str):
        raise ValueError(f"{where}: its uuid is {uuid!r}, which is no text")
    if kind not in ("random", "safetensors"):
        raise ValueError(f"{where}: rows are {kind!r}; random and safetensors are read")
    if not 1 <= k <= n:
        raise ValueError(f"{where}: k = {k}, but rows have {n} elements")
    path = file.absolute().parents[2] / rows["path"] if kind == "safetensors" else None
    dtype, index = names["dtype"], names.get("index", "int32")
    return Workload(uuid, n, q, k, dtype, index, path, rows.get("tensor_key", ""), line)


def configs(
    definition: str | Path,
    file: str | Path,
    folder: str | Path,
    *,
    algorithms: Sequence[str] = ("auto",),
    mode: str = "largest",
    measure: dict[str, Any] | None = None,
) -> list[Path]:
    """Write configs that measure the workloads of a definition of a top-k.

    One has all workloads of random rows, which are normally distributed, as FlashInfer-Bench makes
    them. Each workload of rows from a file has its own, and the rows beside it as .npy.

    Args:
        definition: Its JSON file.
        file: The lines of its workloads.
        folder: Where to write.
        algorithms: Names or globs of the configs.
        mode: "largest" or "smallest", which a definition says in its reference's code alone.
        measure: The configs' measure.

    Returns:
        The configs' files.

    Raises:
        ValueError: A file or line that the message names cannot be read as that.
    """
    if mode not in ("largest", "smallest"):
        raise ValueError(f"mode is {mode!r}, but must be 'largest' or 'smallest'")
    asked = workloads(definition, file)
    name = re.sub(r"[^a-z0-9_-]", "_", read_definition(definition)["name"].lower())[:40]
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    written = []
    for number, group in enumerate(_groups(asked)):
        first = group[0]
        own = name if first.file is None else f"{name}-{number}"
        axes: dict[str, Any] = {
            "shapes": [list(shape) for shape in dict.fromkeys((w.n, w.q, w.k) for w in group)],
            "dtype": first.dtype,
            "direction": mode,
            "index": first.index,
        }
        config = {"schema": "kselect-config/1", "name": own, "axes": axes}
        config["description"] = f"{definition}: workloads {', '.join(w.uuid for w in group)}"[:1000]
        if first.file is None:
            axes["distribution"] = "normal"
        else:
            np.save(target / f"{own}.npy", _rows_of(first))
            config["input"] = {"rows": {"file": f"{own}.npy"}}
        config |= {"algorithms": list(algorithms)} | ({"measure": measure} if measure else {})
        written.append(target / f"{own}.json")
        written[-1].write_text(json.dumps(config, indent=2) + "\n")
    return written


def _groups(asked: Sequence[Workload]) -> list[list[Workload]]:
    random = [w for w in asked if w.file is None]
    return ([random] if random else []) + [[w] for w in asked if w.file is not None]


def _rows_of(asked: Workload) -> np.ndarray:
    assert asked.file is not None
    rows = _safetensors.read(asked.file, asked.tensor)
    if rows.shape != (asked.q, asked.n) or rows.dtype.name != asked.dtype:
        raise ValueError(
            f"{asked.file}: {asked.tensor} has shape {rows.shape} and dtype {rows.dtype}; the "
            f"workload says {(asked.q, asked.n)} and {asked.dtype}"
        )
    return rows


def traces(
    run: Run, definition: str | Path, file: str | Path, *, reference: str = "torch.topk"
) -> list[dict[str, Any]]:
    """The traces of a run on a definition's workloads: solutions are its entries.

    Args:
        run: A run of a config that `configs` wrote.
        definition: The definition's JSON file.
        file: The lines of its workloads.
        reference: The entry whose time is the reference's; without it that time is 0.

    Returns:
        A dictionary for each workload and entry that took it. Status PASSED is the certificate's:
        so its errors are 0; those of a wrong answer are NaN, and `extra` says what was wrong.
        Latencies are means.
    """
    asked: dict[tuple[Any, ...], list[Workload]] = {}
    for w in workloads(definition, file):
        asked.setdefault((w.n, w.q, w.k, w.dtype, w.file is not None), []).append(w)
    meta = json.loads((run.folder / "meta.json").read_text())
    latency = {(_key(r), r["algorithm"]["name"]): _mean_ms(r) for r in run.records if r["time"]}
    found = []
    for record in run.records:
        status = _STATUSES.get(record["status"])
        if status is None or (status == "PASSED" and not record["time"]):
            continue
        compared = latency.get((_key(record), reference), 0.0)
        for w in asked.get(_key(record), []):
            evaluation = _evaluation(record, status, compared, meta)
            name = record["algorithm"]["name"]
            found.append({**w.line, "solution": name, "evaluation": evaluation})
    return found


def write(
    run: Run,
    definition: str | Path,
    file: str | Path,
    out: str | Path,
    *,
    reference: str = "torch.topk",
) -> int:
    """Append the run's traces to a file of lines; returns how many there are (`traces`)."""
    lines = [json.dumps(one) for one in traces(run, definition, file, reference=reference)]
    with Path(out).open("a") as target:
        target.writelines(f"{line}\n" for line in lines)
    return len(lines)


def _key(record: dict[str, Any]) -> tuple[Any, ...]:
    p = record["problem"]
    return p["n"], p["q"], p["k"], p["dtype"], record["input"]["kind"] != "generated"


def _mean_ms(record: dict[str, Any]) -> float:
    samples = record["time"]["samples"]
    return sum(samples) / len(samples) * 1e-6


def _evaluation(
    record: dict[str, Any], status: str, reference_ms: float, meta: dict[str, Any]
) -> dict[str, Any]:
    gpu = (meta.get("gpu") or [{}])[0] if record["executor"] == "cuda" else {}
    hardware = gpu.get("name") or meta.get("host", {}).get("cpu") or "unknown"
    libs = {"kselect": __version__}
    if "cuda_runtime" in gpu:
        libs["cuda"] = str(gpu["cuda_runtime"])
    told: dict[str, Any] = {
        "status": status,
        "environment": {"hardware": hardware.replace(" ", "_"), "libs": libs},
        "timestamp": record["started"],
        "log": record["reason"],
        "correctness": None,
        "performance": None,
    }
    if status == "PASSED":
        mean = _mean_ms(record)
        told["correctness"] = {"max_relative_error": 0.0, "max_absolute_error": 0.0}
        told["correctness"]["extra"] = {"certificate": "proven"}
        told["performance"] = {
            "latency_ms": mean,
            "reference_latency_ms": reference_ms,
            "speedup_factor": reference_ms / mean,
        }
    elif status == "INCORRECT_NUMERICAL":
        told["correctness"] = {"max_relative_error": "NaN", "max_absolute_error": "NaN"}
        told["correctness"]["extra"] = {"certificate": record["reason"]}
    return told


def register_evaluator() -> Any:
    """Let the certificate judge top-k in FlashInfer-Bench, of this process; returns the evaluator.

    It needs flashinfer_bench. Solutions are then right or wrong by kselect's proof, without a
    tolerance, whatever elements of equal value they choose.
    """
    from kselect import _trace_evaluator

    return _trace_evaluator.register()
