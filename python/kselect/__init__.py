"""kselect: the k smallest or largest of many rows, on CPUs and GPUs, and exact k-NN.

    values, indices = kselect.top_k(scores, 10)
    distances, indices = kselect.knn(corpus, queries, 10)

Arrays may be NumPy's, torch's, CuPy's or JAX's, or of any library with DLPack. Answers are of the
same kind.
"""

import importlib
from typing import Any

from kselect._call import TopK
from kselect._knn import Corpus, Neighbours, knn
from kselect._plan import Plan, plan
from kselect._top_k import top_k
from kselect._version import __version__

__all__ = [
    "Corpus",
    "Neighbours",
    "Plan",
    "TopK",
    "__version__",
    "bench",
    "knn",
    "plan",
    "top_k",
    "trace",
]


def __getattr__(name: str) -> Any:
    """Import `kselect.bench`, which loads the harness, and `kselect.trace` when first used."""
    if name in ("bench", "trace"):
        return importlib.import_module(f"kselect.{name}")
    raise AttributeError(f"module 'kselect' has no attribute {name!r}")
