"""The libraries of peers.knn_on_gpu: how the exact search of each is called on a GPU."""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from peers import recorded, searched
from peers.callables import version

MATRIX_BYTES = 4 << 30  # of the distances that torch holds at once

Search = Callable[[], tuple[Any, Any]]  # distances and indices, queries x k, as tensors
Arm = Callable[[Any, Any, int], Search]  # corpus, queries, k; prepares the corpus


@dataclass(frozen=True, eq=False)
class Rival:
    """A library's way to search. The name has the settings that are not its usual ones."""

    name: str
    package: str
    settings: Mapping[str, str]
    what: str
    make: Callable[[Any], Arm]  # of torch; imports the library

    def facts(self) -> recorded.Facts:
        """Return what its cells say of it."""
        known = getattr(importlib.import_module(self.package), "__version__", "") or version(self.package)
        return searched.facts_of(self.name, f"{self.package} {known}, {self.what}", "cuda", "peers/knn_libraries.py")


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


def flashlib_in(torch: Any, dtype: str) -> Arm:
    """FlashLib's flash_knn on float32, whose products are TF32's, or on vectors that are rounded to float16 before."""
    flash_knn = importlib.import_module("flashlib").flash_knn

    def prepare(corpus: Any, queries: Any, k: int) -> Search:
        base = corpus.to(getattr(torch, dtype))
        asked = base if queries is corpus else queries.to(base.dtype)  # a graph is known by it
        return lambda: flash_knn(asked, base, k)

    return prepare


RIVALS = (
    Rival("torch", "torch", {"product": "float32"}, "torch.addmm and torch.topk", lambda t: torch_in(t, tf32=False)),
    Rival("torch+product=tf32", "torch", {"product": "tf32"}, "torch.addmm and torch.topk", lambda t: torch_in(t, tf32=True)),
    Rival("cuvs", "cuvs", {}, "cuvs.neighbors.brute_force", cuvs_of),
    Rival("faiss-gpu", "faiss", {}, "GpuIndexFlatL2", faiss_of),
    Rival("flashlib", "flashlib", {"product": "tf32"}, "flash_knn", lambda t: flashlib_in(t, "float32")),
    Rival("flashlib+product=float16", "flashlib", {"product": "float16"}, "flash_knn", lambda t: flashlib_in(t, "float16")),
)
