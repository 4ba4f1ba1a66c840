"""Times exact k-NN on a GPU beside torch, and cuVS, FAISS and FlashLib where they are installed, in one run.

    python -m peers.knn_on_gpu build/gpu/kselect --out results/MACHINE/knn_on_gpu

Vectors are the same for all: uniform in [0, 1), or whole numbers below 256 (the k-NN graph of 784
components, as MNIST's). They lie in the GPU's memory, and what a library prepares of the corpus is
not timed. kselect's time is that of `kselect knn --product float16 --timing`, by the GPU's own
clock with gaps, and every query of it is proven. Whole numbers are searched by `--product int8`,
too. A rival's is the host's clock around a call that
is waited for. Arms take turns, round by round, in rotating order.

Of every answer CHECKED rows are compared with all float64 distances. A row is exact if it has k
different vectors whose distances are the k least; which of several at the same distance it names
does not matter. A rival that is not installed is named and left out. A search that would take a
rival minutes is left out for it. OUT/knn_on_gpu.jsonl has a line a search.
"""

import argparse
import importlib
import importlib.metadata
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

FILE = "knn_on_gpu.jsonl"
CHECKED = 32  # rows of every answer
REPEATS = 11  # of kselect's process in a round; the first is not counted
SAMPLES = 5  # of a rival in a round; one more is not counted
MOST_PAIRS = 2 * 10**10  # of a search that rivals are given which keep all distances of a query
FUSED = ("FlashLib float32", "FlashLib float16")  # rivals that are given every search
LONG = 1.0  # seconds; of a call that takes longer a round has one sample
MATRIX_BYTES = 4 << 30  # of the distances that torch holds at once


@dataclass(frozen=True)
class Shape:
    """A search. `graph`: every vector is a query, and not its own neighbour."""

    n: int
    queries: int
    dimension: int
    k: int
    whole: bool = False  # components are whole numbers, as bytes hold
    graph: bool = False


SHAPES = (
    Shape(1_000_000, 10_000, 128, 100),
    Shape(1_000_000, 10_000, 128, 10),
    Shape(1_000_000, 4096, 128, 16),
    Shape(100_000, 10_000, 128, 100),
    Shape(10_000, 10_000, 784, 10, whole=True, graph=True),
    Shape(1_000_000, 100, 960, 100),
    Shape(1_000_000, 1_000_000, 128, 10, graph=True),
)

Search = Callable[[], tuple[Any, Any]]  # distances and indices, queries x k, as tensors
Arm = Callable[[Any, Any, int], Search]  # corpus, queries, k; prepares the corpus


def torch_in(torch: Any, *, tf32: bool) -> Arm:
    """torch.addmm of the queries and the corpus, then torch.topk, a part of the queries at a time."""

    def prepare(corpus: Any, queries: Any, k: int) -> Search:
        squares = (corpus * corpus).sum(1)
        at_once = max(1, min(len(queries), MATRIX_BYTES // (4 * len(corpus))))
        matrix = torch.empty((at_once, len(corpus)), device="cuda")

        def search() -> tuple[Any, Any]:
            torch.backends.cuda.matmul.allow_tf32 = tf32
            found = []
            for some in queries.split(at_once):
                into = matrix[: len(some)]
                torch.addmm(squares, some, corpus.T, alpha=-2, out=into)
                found.append(torch.topk(into, k, largest=False))
            return torch.cat([f.values for f in found]), torch.cat([f.indices for f in found])

        return search

    return prepare


def cuvs_of(torch: Any) -> Arm:
    """cuVS's brute_force index."""
    brute_force = importlib.import_module("cuvs.neighbors.brute_force")

    def prepare(corpus: Any, queries: Any, k: int) -> Search:
        index = brute_force.build(corpus, metric="sqeuclidean")

        def search() -> tuple[Any, Any]:
            distances, indices = brute_force.search(index, queries, k)
            return torch.as_tensor(distances, device="cuda"), torch.as_tensor(indices, device="cuda")

        return search

    return prepare


def faiss_of(_torch: Any) -> Arm:
    """FAISS's GpuIndexFlatL2."""
    faiss = importlib.import_module("faiss")
    importlib.import_module("faiss.contrib.torch_utils")
    resources = faiss.StandardGpuResources()

    def prepare(corpus: Any, queries: Any, k: int) -> Search:
        index = faiss.GpuIndexFlatL2(resources, corpus.shape[1])
        index.add(corpus)
        return lambda: index.search(queries, k)

    return prepare


def flashlib_of(torch: Any) -> Arm:
    """FlashLib's flash_knn in float32, whose products are TF32's."""
    return _flash_knn(torch.float32)


def flashlib_float16_of(torch: Any) -> Arm:
    """FlashLib's flash_knn on vectors that are rounded to float16 before."""
    return _flash_knn(torch.float16)


def _flash_knn(dtype: Any) -> Arm:
    flash_knn = importlib.import_module("flashlib").flash_knn

    def prepare(corpus: Any, queries: Any, k: int) -> Search:
        base = corpus.to(dtype)
        asked = base if queries is corpus else queries.to(dtype)  # a graph is known by it
        return lambda: flash_knn(asked, base, k)

    return prepare


def arms_of(torch: Any) -> tuple[dict[str, Arm], dict[str, str]]:
    """Return the rivals that are installed, and why the others are not."""
    arms = {"torch float32": torch_in(torch, tf32=False), "torch TF32": torch_in(torch, tf32=True)}
    missing = {}
    offered = {"cuVS": cuvs_of, "FAISS": faiss_of, "FlashLib float32": flashlib_of, "FlashLib float16": flashlib_float16_of}
    for name, make in offered.items():
        try:
            arms[name] = make(torch)
        except Exception as e:  # noqa: BLE001 - a library that does not load is no rival here
            missing[name] = f"{type(e).__name__}: {e}".splitlines()[0][:200]
    return arms, missing


def made(shape: Shape, count: int, seed: int) -> np.ndarray:
    """Return [count][dimension] floats."""
    random = np.random.default_rng(seed)
    size = (count, shape.dimension)
    if shape.whole:
        return random.integers(0, 256, size).astype(np.float32)
    return random.random(size, dtype=np.float32)


class Truth:
    """The distances of some queries to all vectors, in float64."""

    def __init__(self, torch: Any, shape: Shape, corpus: Any, queries: Any) -> None:
        """Compute the k least distances of each checked query."""
        self._torch = torch
        self.rows = np.linspace(0, len(queries) - 1, min(CHECKED, len(queries))).astype(int)
        self._graph, self._k = shape.graph, shape.k
        self._corpus, self._queries = corpus, queries
        self._least = [self._distances(row).topk(shape.k, largest=False).values for row in self.rows]

    def _distances(self, row: int) -> Any:
        query = self._queries[row].double()
        parts = [((part.double() - query) ** 2).sum(1) for part in self._corpus.split(1 << 18)]
        distances = self._torch.cat(parts)
        if self._graph:
            distances[row] = float("inf")
        return distances

    def exact(self, indices: Any) -> int:
        """Return how many of the checked rows of an answer are exact."""
        right = 0
        for row, least in zip(self.rows, self._least, strict=True):
            mine = self._torch.as_tensor(indices[row], device="cuda").long()
            if len(mine.unique()) != self._k or int(mine.min()) < 0:
                continue
            found = self._distances(row)[mine].sort().values
            right += bool(((found - least).abs() <= 1e-12 * least).all())
        return right


class Kselect:
    """`kselect knn` as a process, on vectors in files."""

    def __init__(self, program: Path, shape: Shape, folder: Path, product: str) -> None:
        """Name the files of a search."""
        self.name = f"kselect {product}"
        self._run, self._indices = folder / f"{product}-run", folder / f"{product}.npy"
        asked = ["--query", folder / "query.npy"]
        if shape.graph:
            asked = ["--self", "--exclude-self"]
        self._command = [program, "knn", "--base", folder / "base.npy", *asked, "--k", shape.k,
                         "--executor", "cuda", "--product", product, "--timing", REPEATS,
                         "--indices", self._indices, "--record", self._run]  # fmt: skip

    def turn(self) -> None:
        """Run it once; its rounds are added to the cell."""
        command = [str(part) for part in self._command]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"peers.knn_on_gpu: {' '.join(command)}: {done.stderr.strip()}")
        self.meta = json.loads((self._run / "meta.json").read_text())

    def outcome(self, truth: Truth) -> dict[str, Any]:
        """Return the arm's part of the line."""
        cell = json.loads((self._run / "runs.jsonl").read_text().splitlines()[-1])
        counts = cell["counts"]
        return timed([ns / 1e6 for ns in cell["time"]["rounds"]]) | {
            "exact": truth.exact(np.load(self._indices, mmap_mode="r")),
            "proven": counts["rows_proven"],
            "stages_ms": {name: stage["median"] / 1e6 for name, stage in cell["stages"].items()},
            "product": {"type": cell["algorithm"]["settings"]["product"],
                        "share_of_ceiling": counts.get("share_of_products")},
        }  # fmt: skip


def timed(samples: Sequence[float]) -> dict[str, Any]:
    """Return milliseconds with their median."""
    return {"ms": statistics.median(samples), "samples_ms": list(samples)}


class Rival:
    """A library's search in this process."""

    def __init__(self, torch: Any, search: Search, *, graph: bool) -> None:
        """`search` is called twice, untimed."""
        self._torch, self._search, self._graph = torch, search, graph
        self.samples: list[float] = []
        self._answer = search()  # may compile
        torch.cuda.synchronize()
        begin = time.perf_counter()
        self._answer = search()
        torch.cuda.synchronize()
        self._count = SAMPLES if time.perf_counter() - begin < LONG else 1

    def turn(self) -> None:
        """Call it some times."""
        for number in range(self._count + 1):
            self._torch.cuda.synchronize()
            begin = time.perf_counter()
            self._answer = self._search()
            self._torch.cuda.synchronize()
            if number > 0:
                self.samples.append((time.perf_counter() - begin) * 1e3)

    def outcome(self, truth: Truth) -> dict[str, Any]:
        """Return the arm's part of the line."""
        indices = {row: self._answer[1][row] for row in truth.rows}
        if self._graph:  # it was asked for one neighbour more, which is the query
            indices = {row: found[found != row][: len(found) - 1] for row, found in indices.items()}
        return timed(self.samples) | {"exact": truth.exact(indices)}


def opened(
    torch: Any, shape: Shape, arms: dict[str, Arm], corpus: Any, queries: Any
) -> tuple[dict[str, Rival], dict[str, str]]:
    """Return the rivals of a search, and why others have none."""
    rivals, left_out = {}, {}
    for name, arm in arms.items():
        if shape.n * shape.queries > MOST_PAIRS and name not in FUSED:
            left_out[name] = "the search is too long for it here"
            continue
        try:
            search = arm(corpus, queries, shape.k + (1 if shape.graph else 0))
            rivals[name] = Rival(torch, search, graph=shape.graph)
        except Exception as e:  # noqa: BLE001 - what a rival raises costs that rival this search alone
            left_out[name] = f"{type(e).__name__}: {e}".splitlines()[0][:200]
    return rivals, left_out


def measured(torch: Any, program: Path, shape: Shape, arms: dict[str, Arm], rounds: int) -> dict[str, Any]:
    """Measure one search with every arm; return its line without the machine's facts."""
    with tempfile.TemporaryDirectory(dir=data_folder()) as name:
        folder = Path(name)
        base = made(shape, shape.n, 1)
        query = base if shape.graph else made(shape, shape.queries, 2)
        np.save(folder / "base.npy", base)
        if not shape.graph:
            np.save(folder / "query.npy", query)
        corpus = torch.from_numpy(base).cuda()
        queries = corpus if shape.graph else torch.from_numpy(query).cuda()
        truth = Truth(torch, shape, corpus, queries)
        rivals, left_out = opened(torch, shape, arms, corpus, queries)
        products = ["float16", "int8"] if shape.whole else ["float16"]
        own = [Kselect(program, shape, folder, product) for product in products]
        turns = [*own, *rivals.values()]
        for number in range(rounds):
            at = number % len(turns)
            for arm in [*turns[at:], *turns[:at]]:
                arm.turn()
        outcomes = {arm.name: arm.outcome(truth) for arm in own}
        outcomes |= {name: rival.outcome(truth) for name, rival in rivals.items()}
        gpu = own[0].meta["gpu"][0]
    return {"shape": asdict(shape), "checked": len(truth.rows), "rounds": rounds, "gpu": gpu,
            "git": own[0].meta["git"], "arms": outcomes, "left_out": left_out}  # fmt: skip


def data_folder() -> str | None:
    """Return a folder without a disk, if there is one with room."""
    memory = Path("/dev/shm")  # noqa: S108
    if not memory.is_dir():
        return None
    room = os.statvfs(memory)
    return str(memory) if room.f_bavail * room.f_frsize > 5 << 30 else None


def version_of(module: str) -> str:
    """Return an installed package's version; empty without one."""
    for name in (module, f"{module}-cu13", f"{module}-cu12", f"{module}-gpu"):
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return ""


def told(line: dict[str, Any]) -> Iterable[str]:
    """Yield what is printed of a search."""
    s = line["shape"]
    graph = ", graph" if s["graph"] else ""
    yield f"n = {s['n']:,}, Q = {s['queries']:,}, d = {s['dimension']}, k = {s['k']}{graph}"
    for name, arm in line["arms"].items():
        share = arm.get("product", {}).get("share_of_ceiling")
        more = "" if share is None else f", {100 * share:.0f} % of the products' ceiling"
        yield f"  {name}: {arm['ms']:.3f} ms, {arm['exact']} of {line['checked']} rows exact{more}"
    yield from (f"  left out {name}: {why}" for name, why in line["left_out"].items())


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add = parser.add_argument
    add("program", type=Path, help="kselect")
    add("--out", type=Path, required=True, help=f"folder of the record, {FILE}")
    add("--rounds", type=int, default=2, help="turns of every arm (%(default)s)")
    add("--seconds", type=float, default=200, help="no search begins after so many (%(default)s)")
    add("--shapes", default="", metavar="NUMBERS", help="only these of the searches, by commas, from 0")
    options = parser.parse_args(arguments)
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        sys.exit("peers.knn_on_gpu: torch is not installed: it is a rival, and computes the float64 distances")
    if not torch.cuda.is_available():
        sys.exit("peers.knn_on_gpu: torch finds no GPU")
    begin, started = time.monotonic(), f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    arms, missing = arms_of(torch)
    facts = {"schema": 1, "what": "knn_on_gpu", "started": started, "unit": "ms",
             "versions": {name: version_of(name) for name in ("torch", "cuvs", "faiss", "flashlib", "numpy")},
             "missing": missing}  # fmt: skip
    chosen = [SHAPES[int(i)] for i in options.shapes.split(",") if i] or SHAPES
    options.out.mkdir(parents=True, exist_ok=True)
    with (options.out / FILE).open("w") as file:
        for shape in chosen:
            if time.monotonic() - begin > options.seconds:
                print(f"peers.knn_on_gpu: no time is left for {shape}", file=sys.stderr)
                continue
            line = facts | measured(torch, options.program.resolve(), shape, arms, options.rounds)
            file.write(json.dumps(line) + "\n")
            file.flush()
            torch.cuda.empty_cache()
            print("\n".join(told(line)), f"\n  {time.monotonic() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
