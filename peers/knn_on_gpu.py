"""Times exact k-NN on a GPU beside torch, and cuVS, FAISS and FlashLib where they are installed, in one run.

    python -m peers.knn_on_gpu build/gpu/kselect --out results/MACHINE/knn_on_gpu

Vectors are the same for all: uniform in [0, 1), or whole numbers below 256 (the k-NN graph of 784
components, as MNIST's). They lie in the GPU's memory, and what a library prepares of the corpus is
not timed. kselect's time is that of `kselect knn --product float16 --timing`, by the GPU's own
clock with gaps, and every query of it is proven. Whole numbers are searched by `--product int8`,
too. A rival's time is that of the host's clock around a call that is waited for. Arms take turns,
round by round, in rotating order.

Of every answer CHECKED rows are compared with all float64 distances. A row is exact if it has k
different vectors whose distances are the k least; which of several at the same distance it names
does not matter. A rival that is not installed is named and left out. A search that would take a
rival minutes is unsupported here. OUT is a run: a cell of each arm for each search, kselect's as it
wrote them itself, and meta.json with the rivals' versions. `counts` have the exact rows. An answer
with others is wrong, and the stage `search` has what it took.
"""

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from peers import recorded, searched
from peers.knn_libraries import RIVALS, Arm, Rival, Search

CHECKED = 32  # rows of every answer
REPEATS = 11  # of kselect's process in a round; the first is not counted
SAMPLES = 5  # of a rival in a round; one more is not counted
MOST_PAIRS = 2 * 10**10  # of a search that rivals are given which keep all distances of a query
FUSED = "flashlib"  # whose arms are given every search
LONG = 1.0  # seconds; of a call that takes longer a round has one sample

Outcome = tuple[str, str, list[float]]  # status, reason, samples in ns


@dataclass(frozen=True)
class Shape:
    """A search. `graph`: every vector is a query, and not its own neighbour."""

    n: int
    queries: int
    dimension: int
    k: int
    whole: bool = False  # components are whole numbers, as bytes hold
    graph: bool = False

    @property
    def file(self) -> str:
        """The name of the corpus' file, which says how its components are distributed."""
        return "bytes.npy" if self.whole else "uniform.npy"


SHAPES = (
    Shape(1_000_000, 10_000, 128, 100),
    Shape(1_000_000, 10_000, 128, 10),
    Shape(1_000_000, 4096, 128, 16),
    Shape(100_000, 10_000, 128, 100),
    Shape(10_000, 10_000, 784, 10, whole=True, graph=True),
    Shape(1_000_000, 100, 960, 100),
    Shape(1_000_000, 1_000_000, 128, 10, graph=True),
)


def arms_of(torch: Any) -> dict[Rival, Arm]:
    """Return the rivals that are installed; say why the others are not."""
    arms = {}
    for rival in RIVALS:
        try:
            arms[rival] = rival.make(torch)
        except Exception as e:  # noqa: BLE001 - a library that does not load is no rival here
            print(f"peers.knn_on_gpu: left out {rival.name}: {recorded.failed(e)[1]}", file=sys.stderr)
    return arms


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
        self._run, self._indices = folder / f"{product}-run", folder / f"{product}.npy"
        asked = ["--query", folder / "queries.npy"]
        if shape.graph:
            asked = ["--self", "--exclude-self"]
        self._command = [program, "knn", "--base", folder / shape.file, *asked, "--k", shape.k,
                         "--executor", "cuda", "--product", product, "--timing", REPEATS,
                         "--indices", self._indices, "--record", self._run]  # fmt: skip

    def turn(self) -> None:
        """Run it once; its rounds are added to the cell."""
        command = [str(part) for part in self._command]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"peers.knn_on_gpu: {' '.join(command)}: {done.stderr.strip()}")

    def meta(self) -> dict[str, Any]:
        """Return meta.json of its run."""
        return json.loads((self._run / "meta.json").read_text())

    def cell(self, truth: Truth) -> dict[str, Any]:
        """Return its cell, with the rows that are exact."""
        cell = json.loads((self._run / "runs.jsonl").read_text().splitlines()[-1])
        del cell["crc32"]
        return searched.judged(cell, truth.exact(np.load(self._indices, mmap_mode="r")), len(truth.rows))


class Turns:
    """A library's search in this process."""

    def __init__(self, torch: Any, rival: Rival, search: Search, *, graph: bool) -> None:
        """`search` is called twice, untimed."""
        self._torch, self._search, self._graph, self._rival = torch, search, graph, rival
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
            begin = time.perf_counter_ns()
            self._answer = self._search()
            self._torch.cuda.synchronize()
            if number > 0:
                self.samples.append(float(time.perf_counter_ns() - begin))

    def cell(self, truth: Truth, asked: searched.Asked) -> dict[str, Any]:
        """Return its cell."""
        indices = {row: self._answer[1][row] for row in truth.rows}
        if self._graph:  # it was asked for one neighbour more, which is the query
            indices = {row: found[found != row][: len(found) - 1] for row, found in indices.items()}
        timed = cell_of(self._rival, asked, ("ok", "", self.samples))
        return searched.judged_rival(timed, truth.exact(indices), len(truth.rows))


def cell_of(rival: Rival, asked: searched.Asked, outcome: Outcome) -> dict[str, Any]:
    """Return a rival's cell of a search."""
    return searched.cell(rival.facts(), asked, outcome, rival.settings, "peers/knn_on_gpu.py")


def opened(
    torch: Any, shape: Shape, arms: Mapping[Rival, Arm], corpus: Any, queries: Any
) -> tuple[dict[Rival, Turns], dict[Rival, Outcome]]:
    """Return the rivals of a search, and why others have none."""
    turns, left_out = {}, {}
    for rival, arm in arms.items():
        if shape.n * shape.queries > MOST_PAIRS and rival.package != FUSED:
            left_out[rival] = ("unsupported", "the search is too long for it here", [])
            continue
        try:
            search = arm(corpus, queries, shape.k + (1 if shape.graph else 0))
            turns[rival] = Turns(torch, rival, search, graph=shape.graph)
        except Exception as e:  # noqa: BLE001 - what a rival raises costs that rival this search alone
            left_out[rival] = recorded.failed(e)
    return turns, left_out


def measured(
    torch: Any, program: Path, shape: Shape, arms: Mapping[Rival, Arm], rounds: int
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Measure one search with every arm; return its cells, kselect's first, and meta.json of kselect's run."""
    with tempfile.TemporaryDirectory(dir=data_folder()) as name:
        folder = Path(name)
        base, query = vectors(shape, folder)
        corpus = torch.from_numpy(base).cuda()
        queries = corpus if shape.graph else torch.from_numpy(query).cuda()
        truth = Truth(torch, shape, corpus, queries)
        taking, left_out = opened(torch, shape, arms, corpus, queries)
        products = ["float16", "int8"] if shape.whole else ["float16"]
        own = [Kselect(program, shape, folder, product) for product in products]
        turns = [*own, *taking.values()]
        for number in range(rounds):
            at = number % len(turns)
            for arm in [*turns[at:], *turns[:at]]:
                arm.turn()
        cells = [arm.cell(truth) for arm in own]
        asked = searched.Asked(cells[0]["problem"], cells[0]["input"], cells[0]["threads"])
        cells += [arm.cell(truth, asked) for arm in taking.values()]
        cells += [cell_of(rival, asked, why) for rival, why in left_out.items()]
        return cells, own[0].meta()


def vectors(shape: Shape, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Make corpus and queries, and the files of them that kselect reads."""
    base = made(shape, shape.n, 1)
    np.save(folder / shape.file, base)
    if shape.graph:
        return base, base
    query = made(shape, shape.queries, 2)
    np.save(folder / "queries.npy", query)
    return base, query


def data_folder() -> str | None:
    """Return a folder without a disk, if there is one with room."""
    memory = Path("/dev/shm")  # noqa: S108
    if not memory.is_dir():
        return None
    room = os.statvfs(memory)
    return str(memory) if room.f_bavail * room.f_frsize > 5 << 30 else None


def told(cells: Sequence[dict[str, Any]]) -> Iterable[str]:
    """Yield what is printed of a search."""
    p = cells[0]["problem"]
    yield f"n = {p['n']:,}, Q = {p['q']:,}, d = {p['dimension']}, k = {p['k']}, queries {p['queries']}"
    for cell in cells:
        took, counts = cell["time"] or cell["stages"].get("search"), cell["counts"]
        share = counts.get("share_of_products")
        more = "" if share is None else f", {100 * share:.0f} % of the products' ceiling"
        exact = f"{counts['rows_exact']:.0f} of {counts['rows_checked']:.0f} rows exact" if took else ""
        told_ = f"{took['median'] / 1e6:.3f} ms, {exact}{more}" if took else f"{cell['status']}, {cell['reason']}"
        yield f"  {cell['algorithm']['name']}: {told_}"


def options_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add = parser.add_argument
    add("program", type=Path, help="kselect")
    add("--out", type=Path, required=True, help="run directory to write")
    add("--rounds", type=int, default=2, help="turns of every arm (%(default)s)")
    add("--seconds", type=float, default=200, help="no search begins after so many (%(default)s)")
    add("--shapes", default="", metavar="NUMBERS", help="only these of the searches, by commas, from 0")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line and run."""
    options = options_of(arguments)
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        sys.exit("peers.knn_on_gpu: torch is not installed: it is a rival, and computes the float64 distances")
    if not torch.cuda.is_available():
        sys.exit("peers.knn_on_gpu: torch finds no GPU")
    begin, arms, meta = time.monotonic(), arms_of(torch), {}
    more = {"run": options.out.name, "arguments": recorded.command_line(), "state": "running",
            "rivals": [{"name": rival.name, "source": rival.facts().source} for rival in arms]}  # fmt: skip
    chosen = [SHAPES[int(i)] for i in options.shapes.split(",") if i] or SHAPES
    options.out.mkdir(parents=True)
    with (options.out / "runs.jsonl").open("w") as file:
        for shape in chosen:
            if time.monotonic() - begin > options.seconds:
                print(f"peers.knn_on_gpu: no time is left for {shape}", file=sys.stderr)
                continue
            cells, own = measured(torch, options.program.resolve(), shape, arms, options.rounds)
            meta = meta or own | more
            recorded.write_meta(options.out, meta)
            file.write("".join(map(recorded.sealed, cells)))
            file.flush()
            torch.cuda.empty_cache()
            print("\n".join(told(cells)), f"\n  {time.monotonic() - begin:.0f} s", flush=True)
    if meta:
        recorded.write_meta(options.out, meta | {"state": "complete"})


if __name__ == "__main__":
    main()
