"""Functions of Python's as entries of the harness: proven, timed and recorded as native ones are.

    def mine(rows, k, values, indices, stream): ...

    kselect.bench.register("mine", mine, contract=kselect.bench.Contract(mode="smallest"))
    run = kselect.bench.run([(4096, 100, 10)], algorithms=["mine", "auto", "numpy.argpartition"])
    print(run)

One harness (the program's own) measures all: entries take turns in rounds, on fresh rows, with
poisoned outputs between guard bands, proofs before and after. It works in this process, so a crash
of an entry ends it.
"""

import hashlib
import inspect
import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kselect import _bench_arrays, _bench_known, _bench_records, _launch, _libraries, _select
from kselect._arguments import whole
from kselect._bench_contract import Contract, contract_of
from kselect._bench_records import Run

try:
    from kselect import _bench
except ImportError as _missing:  # a build of the library alone
    raise ImportError(f"this kselect was built without its harness: {_missing}") from _missing

if _select.HAS_CUDA:
    _launch.name_cublas()

__all__ = ["Contract", "Run", "refute", "register", "run", "test"]

_USAGE, _INPUT, _RESOURCES, _INTERRUPTED = 2, 3, 5, 130  # docs/reference/exit-codes.md
_FAILED_CELLS = 1
_EXECUTORS = ("cpu", "cuda")


_registered: dict[str, tuple[_bench_arrays.Caller, tuple[str, ...]]] = {}
_one_at_a_time = threading.Lock()


def _refuse(code: int, text: str) -> None:
    """Raise what Python's programs expect of an exit code of the program."""
    if code == _INTERRUPTED:
        raise KeyboardInterrupt(text)
    if code in (_USAGE, _INPUT):
        raise ValueError(text)
    if code == _RESOURCES:
        raise MemoryError(text)
    raise RuntimeError(text)


def _source_of(function: Callable[..., Any]) -> tuple[str, str]:
    """The file of a function, and the hash of its text, by which a changed one is measured anew."""
    known = inspect.unwrap(function)
    known = getattr(known, "fn", known)  # what Triton's and Numba's decorators wrap
    try:
        file = inspect.getsourcefile(known) or ""
        whole = Path(file)
        text = whole.read_bytes() if whole.is_file() else inspect.getsource(known).encode()
    except (OSError, TypeError):
        file = ""
        code = getattr(known, "__code__", None)
        text = repr(known).encode() if code is None else code.co_code + repr(code.co_consts).encode()
    return file, hashlib.sha256(text).hexdigest()[:16]


def register(
    name: str,
    function: Callable[..., Any],
    *,
    contract: Contract | None = None,
    arrays: str = "numpy",
    executors: Sequence[str] | None = None,
    family: str = "python",
    source: str = "",
) -> None:
    """Make a function an entry of the harness, in place of the one of that name.

    Args:
        name: Of up to 128 printable characters, not one of kselect's own entries.
        function: `function(rows, k, values, indices, stream)`. It selects `k` elements of each of
            the `rows`, [Q, n], and writes them to `values`, and where they are in their rows to
            `indices`, both [Q, k] and dense. `stream`: None on the host; on a GPU the library's
            stream, which is its current one, where the work must be when the function returns.
            With `mode="both"` it is called with the keyword `mode`, "largest" or "smallest".
            What it returns is ignored; an exception is an error of the cell. It must keep no array
            beyond the call: the memory is the harness'.
        contract: What it promises and takes.
        arrays: "numpy", "torch" or "cupy": what it is given.
        executors: Where it runs: ("cpu",), ("cuda",) or both. By default where `arrays` can be:
            numpy on the CPU, cupy on a GPU, torch on both.
        family: What figures group it by.
        source: Its origin, such as a paper, for the records.

    Raises:
        ValueError: An argument that the message names makes no sense, or the name is taken.
        ImportError: The library of `arrays` is not installed.
    """
    if not callable(function):
        raise TypeError(f"function is a {type(function).__name__}, which cannot be called")
    _require_name(name)
    where = _executors_of(arrays, executors)
    contract = contract_of(contract)
    file, source_hash = _source_of(function)
    caller = _bench_arrays.Caller(
        function, _bench_arrays.LIBRARIES[arrays](), contract.mode == "both"
    )
    facts = {
        "name": name,
        "family": family,
        "source": source or f"Python, {getattr(function, '__name__', type(function).__name__)}",
        "file": file,
        "source_hash": source_hash,
        "executors": list(where),
        **contract._facts(),
    }
    with _one_at_a_time:
        code, text = _bench.put_entry(json.dumps(facts), caller)
        if code:
            _refuse(code, text)
        _registered[name] = caller, where


def _executors_of(arrays: str, executors: Sequence[str] | None) -> tuple[str, ...]:
    """Where a function of these arrays runs. Raises ValueError if it cannot run there."""
    if arrays not in _bench_arrays.LIBRARIES:
        raise ValueError(f"arrays is {arrays!r}, but must be numpy, torch or cupy")
    possible = {"numpy": ("cpu",), "cupy": ("cuda",), "torch": _EXECUTORS}[arrays]
    where = possible if executors is None else tuple(executors)
    if not where or not set(where) <= set(possible):
        raise ValueError(f"executors are {where}, but arrays of {arrays} can be on {possible}")
    return where


def _require_name(name: Any) -> None:
    if not isinstance(name, str):
        raise TypeError(f"name is a {type(name).__name__}, not a str")
    if not 0 < len(name) <= 128 or any(not "!" <= c <= "~" or c in "[]\\@*?;," for c in name):
        raise ValueError(
            f"name is {name!r}; take up to 128 printable characters other than spaces and []\\@*?;,"
        )


def _register_known(names: Iterable[str]) -> None:
    """Register the libraries' selections among these names, unless the caller did."""
    for name in names:
        if name in _bench_known.KNOWN and name not in _registered:
            function, arrays, executors, dtypes, index_dtypes = _bench_known.KNOWN[name]
            contract = Contract(mode="both", dtypes=dtypes, index_dtypes=index_dtypes)
            version = getattr(__import__(arrays), "__version__", "of unknown version")
            register(
                name, function, contract=contract, arrays=arrays, executors=executors,
                family="library top-k", source=f"{arrays} {version}, {name}",
            )  # fmt: skip


def _parts_of(config: dict[str, Any]) -> list[Any]:
    """The parts of a config, or the config itself, if it has none."""
    parts = config.get("parts")
    return parts if isinstance(parts, list) else [config]


def _config_of(
    what: Any, algorithms: Sequence[str] | None, axes: Mapping[str, Any], measure: Mapping[str, Any]
) -> dict[str, Any]:
    """The config of a sweep: that of a file with other algorithms, or one of shapes."""
    if isinstance(what, str | Path):
        file = _bench_records.config_file(what)
        config = _bench_records.parsed(file.read_text(), str(file))
        if not isinstance(config, dict) or not all(
            isinstance(part, dict) and isinstance(part.get("axes", {}), dict)
            for part in _parts_of(config)
        ):
            raise ValueError(f"{file}: is no config, which is an object with axes")
        _bench_records.anchor_paths(config, file.resolve().parent)
    else:
        shapes = [[whole("a number of a shape", one) for one in shape] for shape in what]
        config = {"schema": "kselect-config/1", "name": "bench", "axes": {"shapes": shapes}}
        if algorithms is None:
            raise ValueError("algorithms is None, but shapes say nothing of them: name some")
    if isinstance(algorithms, str):
        raise TypeError("algorithms is a str, but must be a list of names")
    for part in _parts_of(config):
        # Searches have no such axis.
        usual = {"index": "int64"} if part.get("task", "select") == "select" else {}
        part["axes"] = {**usual, **part.get("axes", {}), **axes}
        if algorithms is not None:
            part["algorithms"] = list(algorithms)
    if measure:
        config["measure"] = {**config.get("measure", {}), **measure}
    return config


def run(
    what: Any,
    *,
    algorithms: Sequence[str] | None = None,
    out: str | Path | None = None,
    executor: str | None = None,
    axes: Mapping[str, Any] | None = None,
    measure: Mapping[str, Any] | None = None,
    filter: str = "",
    resume: bool = False,
) -> Run:
    """Prove and time entries: registered functions, kselect's own, and libraries' selections.

    Args:
        what: A config: its file, or a stock config's name such as "quick". Or shapes (n, Q, k).
        algorithms: Names, or globs over names, in place of the config's. Registered are also
            "numpy.argpartition", "torch.topk" and "cupy.argpartition", where they are installed.
        out: The folder of the records; by default one in out/ that has the time in its name.
        executor: "cpu" or "cuda", in place of the config's.
        axes: Axes beside the config's or in their place: {"dtype": "float16"}. Indices are int64,
            as Python's libraries have them, unless the config or this says otherwise.
        measure: The same for the config's measure: {"rounds": 5}.
        filter: A glob of cells, as `kselect run --filter` takes it.
        resume: Go on in `out`, and skip what is done.

    Returns:
        The run. Cells that failed are among its records, as are those that an entry does not take.

    Raises:
        ValueError: The config, a name or a shape makes no sense.
        ImportError: A library that `algorithms` names is not installed.
        RuntimeError: The sweep cannot go on.
    """
    config = _config_of(what, algorithms, axes or {}, measure or {})
    if executor is not None and executor not in _EXECUTORS:
        raise ValueError(f"executor is {executor!r}, but must be cpu or cuda")
    _register_known(
        name
        for part in _parts_of(config)
        if isinstance(part.get("algorithms"), list)
        for name in part["algorithms"]
        if isinstance(name, str)
    )
    with _one_at_a_time, _bench_records.as_file(config) as file:
        folder = Path(out) if out is not None else _bench_records.new_folder(config.get("name"))
        try:
            code, text = _bench.run_sweep(file, str(folder), executor or "", filter, resume)
        finally:
            for caller, _ in _registered.values():
                caller.forget()
    if code not in (0, _FAILED_CELLS):
        # The sweep reads a copy of the config.
        text = text.replace(f"{file}: ", f"{what}: " if isinstance(what, str | Path) else "")
        _refuse(code, text or f"{folder}: the sweep was interrupted; go on by resume=True")
    return Run(folder)


def test(name: str, *, executor: str | None = None, cases: str = "*") -> list[dict[str, Any]]:
    """Hold an entry against the battery: sizes, orders, ties, NaN, -0, guard bands, every type.

    Args:
        name: A registered function's, or any entry's.
        executor: "cpu" or "cuda". By default the first that the function was registered for.
        cases: A glob over the names of the cases: "Boundary*".

    Returns:
        A dictionary for each case: `case`, `executor`, `proven` (problems with a right answer),
        `skipped` (why it was not run), `problem` and `reason` (the first that failed, and why) and
        `seconds`. An entry has passed if every `reason` is empty.

    Raises:
        ValueError: There is no such entry or case.
        RuntimeError: The entry cannot run here.
    """
    _register_known([name])
    if executor is None:
        executor = _registered[name][1][0] if name in _registered else "cpu"
    with _one_at_a_time:
        try:
            code, text = _bench.test_entry(name, executor, cases)
        finally:
            if name in _registered:
                _registered[name][0].forget()
    if code:
        _refuse(code, text)
    return json.loads(text)


def _on_host(array: Any, name: str) -> np.ndarray:
    """A dense array in host memory; types of torch's that NumPy has not as their bits."""
    _, array = _libraries.of(array, name)
    if hasattr(array, "detach"):  # torch
        array = array.detach().cpu()
        bits = _TORCH_BITS.get(str(array.dtype))
        array = (array if bits is None else array.view(_torch_type(bits))).numpy()
    elif hasattr(array, "get"):  # CuPy
        array = array.get()
    return np.ascontiguousarray(array)


_TORCH_BITS = {
    "torch.bfloat16": "int16",
    "torch.float8_e4m3fn": "uint8",
    "torch.float8_e5m2": "uint8",
}


def _torch_type(name: str) -> Any:
    return getattr(__import__("torch"), name)


def refute(
    rows: Any, values: Any, indices: Any = None, *, contract: Contract | None = None
) -> str | None:
    """Hold an answer against its rows by the certificate: exact, without a second selection.

    Args:
        rows: [Q, n] of a dtype that `top_k` takes; of NumPy's, torch's or CuPy's.
        values: [Q, k] of the same dtype.
        indices: [Q, k] of int32 or int64. None: the values are proven as those of some k elements.
        contract: What the answer promises; its mode is "largest" or "smallest".

    Returns:
        What is wrong, in one line; None if the answer is proven.

    Raises:
        ValueError, TypeError: A shape or dtype that the message names.
    """
    contract = contract_of(contract)
    if contract.mode == "both":
        raise ValueError("contract.mode is 'both', but an answer is of the largest or the smallest")
    library, rows = _libraries.of(rows, "rows")
    dtype = library.type_name(rows)
    if dtype not in _libraries.TYPES:
        raise TypeError(f"rows have dtype {dtype}; {', '.join(_libraries.TYPES)} are supported")
    given, best = _on_host(rows, "rows"), _on_host(values, "values")
    places = np.empty((0,), np.int64) if indices is None else _on_host(indices, "indices")
    if given.ndim != 2 or best.ndim != 2 or len(best) != len(given):
        raise ValueError(f"rows have shape {given.shape} and values {best.shape}: [Q, n] and [Q, k]")
    if best.dtype != given.dtype:
        raise TypeError(f"values have dtype {best.dtype}, but rows have {given.dtype}")
    if indices is not None and places.shape != best.shape:
        raise ValueError(f"indices have shape {places.shape}, but values have {best.shape}")
    if places.dtype.name not in ("int32", "int64"):
        raise TypeError(f"indices have dtype {places.dtype}, but must have int32 or int64")
    facts = contract._facts()
    facts |= {
        "n": given.shape[1],
        "q": len(given),
        "k": best.shape[1],
        "dtype": dtype,
        "index": places.dtype.name,
        "direction": contract.mode,
        "payload": "values" if indices is None else "values_and_indices",
    }
    code, text = _bench.refute(
        json.dumps(facts), *(array.view(np.uint8).data for array in (given, best, places))
    )
    if code:
        _refuse(code, text)
    return text or None
