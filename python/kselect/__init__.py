"""kselect: the k smallest or largest of many rows, on CPUs and GPUs.

    values, indices = kselect.top_k(scores, 10)

Arrays may be NumPy's, torch's, CuPy's or JAX's, or of any library with DLPack. Answers are of the
same kind.
"""

from kselect._plan import Plan, plan
from kselect._top_k import TopK, top_k
from kselect._version import __version__

__all__ = ["Plan", "TopK", "__version__", "plan", "top_k"]
