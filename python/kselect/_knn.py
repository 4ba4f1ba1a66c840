"""Exact k nearest neighbours, in host memory and on a GPU."""

from typing import Any, NamedTuple

import numpy as np

from kselect import _libraries, _masks, _select
from kselect._arguments import is_wide, thread_count, whole
from kselect._knn_gpu import GpuVectors

# include/kselect/metric.hpp
_METRICS = ("sqeuclidean", "euclidean", "cosine", "pearson", "inner_product")
# include/kselect/knn.hpp
_PRODUCTS = ("float16", "bfloat16", "int8")
# What float32 represents exactly.
_EXACT = frozenset(("float32", "float16", "bfloat16", "int8", "uint8", "int16", "uint16"))


class Neighbours(NamedTuple):
    """What a search returns. It unpacks: `distances, indices = kselect.knn(...)`."""

    distances: Any  #: float32, [Q, k], nearest first
    indices: Any  #: [Q, k]; rows of the corpus


def _is_on_gpu(given: Any, name: str) -> bool:
    library, given = _libraries.of(given, name)
    try:
        return library.check(given) and hasattr(library, "float_rows")
    except TypeError as error:
        raise TypeError(f"{name}{str(error).removeprefix('a')}") from None


def _check_vectors(shape: tuple[int, ...], dtype: str, name: str) -> None:
    if dtype not in _EXACT:
        raise TypeError(
            f"{name} has dtype {dtype}; distances are between vectors of float32: "
            f"pass {name}.astype(numpy.float32)"
        )
    if len(shape) != 2:
        raise ValueError(f"{name} has shape {shape}; vectors are the rows of a matrix")
    if shape[1] == 0:
        raise ValueError(f"{name} has shape {shape}; vectors have at least one component")


def _gpu_matrix(given: Any, name: str) -> tuple[Any, Any]:
    """The same on a GPU."""
    library, given = _libraries.of(given, name)
    _check_vectors(tuple(given.shape), library.type_name(given), name)
    return library, library.float_rows(given)


def _matrix(given: Any, name: str) -> tuple[Any, np.ndarray]:
    """The module of the library of `given`, and its vectors as a dense matrix of float32."""
    library, given = _libraries.of(given, name)
    if not hasattr(library, "as_numpy"):
        raise TypeError(f"{name} is on a GPU, but the corpus is in host memory")
    try:
        seen = library.as_numpy(given)
    except TypeError as error:
        raise TypeError(f"{name}{str(error).removeprefix('a')}") from None
    _check_vectors(seen.shape, seen.dtype.name, name)
    return library, np.require(seen, np.float32, ("C", "A"))


def _words(given: Any, corpus: int, queries: int) -> np.ndarray | None:
    """A filter as words of 32 bits, [words] or [Q, words]; None: no filter."""
    if given is None:
        return None
    mask = _masks.in_host_memory("filter", given)
    _masks.check_filter(mask.shape, mask.dtype.name, corpus, queries)
    return _masks.packed(mask, corpus)


class Corpus:
    """Vectors that are prepared once and searched many times, by any number of threads at once.

    It keeps the vectors. They are not copied if they are dense and of float32, so they must not be
    changed. In host memory it takes 32 bytes a vector and 8 bytes a component beside them.
    """

    def __init__(
        self,
        vectors: Any,
        *,
        metric: str = "sqeuclidean",
        product: str | None = None,
        threads: int | None = None,
    ) -> None:
        """Read the vectors and prepare them.

        Args:
            vectors: [n, dimension] of float32, or of a type that float32 represents exactly:
                NumPy's, torch's, JAX's or another library's in host memory, all finite; or torch's
                or CuPy's on a GPU, where it is searched.
            metric: "sqeuclidean", "euclidean", "cosine" (1 - cosine similarity), "pearson" or
                "inner_product" (minus the product, so that the nearest comes first).
            product: What a GPU multiplies before float64 distances decide; the answer is the same.
                "float16" (the default); "bfloat16", for vectors of which most are small beside a
                few; "int8", for vectors and queries of bytes, integers from 0 to 255 or from -128
                to 127, and "sqeuclidean" or "euclidean". All other vectors are found slowly by it.
            threads: Of this and of each search; by default one for each processor.

        Raises:
            ValueError: A wrong shape, an unknown metric or product, a product that the metric or
                the host does not have, or a component that is not finite.
            TypeError: A wrong dtype, or vectors that are not where the others are.
        """
        if not isinstance(metric, str) or metric not in _METRICS:
            raise ValueError(f"metric is {metric!r}, but must be one of {', '.join(_METRICS)}")
        if product is not None and product not in _PRODUCTS:
            raise ValueError(f"product is {product!r}, but must be one of {', '.join(_PRODUCTS)}")
        if product == "int8" and metric not in ("sqeuclidean", "euclidean"):
            raise ValueError(f"product is 'int8', which metric {metric!r} does not have")
        self._gpu: GpuVectors | None = None
        self._vectors: Any
        on_gpu = _is_on_gpu(vectors, "corpus")
        library, self._vectors = (_gpu_matrix if on_gpu else _matrix)(vectors, "corpus")
        if len(self._vectors) == 0:
            raise ValueError(f"corpus has shape {tuple(self._vectors.shape)}; it has no vectors")
        self._metric = metric
        if on_gpu:
            if threads is not None:
                raise ValueError("threads is given, but corpus is on a GPU")
            of_product = _PRODUCTS.index(product or "float16")
            self._gpu = GpuVectors(library, self._vectors, _METRICS.index(metric), of_product)
            return
        if product is not None:
            raise ValueError(f"product is {product!r}, but corpus is in host memory")
        self._held = _select.prepare_corpus(
            self._vectors, _METRICS.index(metric), thread_count(threads)
        )

    def __len__(self) -> int:
        """The number of vectors."""
        return len(self._vectors)

    @property
    def dimension(self) -> int:
        """The number of components of each vector."""
        return self._vectors.shape[1]

    @property
    def metric(self) -> str:
        """The metric that it was prepared for."""
        return self._metric

    def search(
        self,
        queries: Any,
        k: int,
        /,
        *,
        filter: Any = None,
        proven: bool = True,
        index_dtype: Any = None,
    ) -> Neighbours:
        """Find the `k` nearest vectors of each query.

        The answer is exact and unique: float64 distances between the float32 vectors decide, equal
        ones go by index. What is returned is these distances, rounded to float32. On a GPU what
        is not proven by products in float16 is searched again, until every query is proven.

        Args:
            queries: [Q, dimension], as the corpus' vectors.
            k: 1 to the number of vectors.
            filter: Which vectors may be found: booleans, [n] for all queries or [Q, n] for each; or
                bits of uint8, [ceil(n / 8)] or [Q, ceil(n / 8)], as
                `numpy.packbits(mask, axis=-1, bitorder="little")` has them; or words of 32 bits, of
                uint32 or int32, the lowest bit first. A query that fewer than `k` may answer gets
                those, then index -1 at distance infinity.
            proven: Whether every query is proven before the call returns. False: a search on a GPU
                does not wait. All distances are true, but a query that the products in float16 do
                not prove may lack a nearer vector, and nothing says which. Searches without such
                products (below 4096 vectors, more than 4096 components, k beyond about a thousand)
                and those in host memory are proven all the same.
            index_dtype: int32 or int64 (the default).

        Returns:
            Distances and indices, both [Q, k], nearest first. They are arrays of the library of
            `queries`.

        Raises:
            ValueError: A wrong shape or `k`, or a component that is not finite.
            TypeError: A wrong dtype, or queries that are not where the corpus is.
        """
        of_gpu = self._gpu is not None
        if of_gpu and not _is_on_gpu(queries, "queries"):
            raise TypeError("queries are in host memory, but the corpus is on a GPU")
        library, rows = (_gpu_matrix if of_gpu else _matrix)(queries, "queries")
        if rows.shape[1] != self.dimension:
            raise ValueError(
                f"queries have dimension {rows.shape[1]}, but the corpus has {self.dimension}"
            )
        found = self._search(rows, k, -1, filter, proven, index_dtype)
        if of_gpu:
            return Neighbours(*found)
        return Neighbours(*library.returned(*found, queries, 1))

    def graph(
        self, k: int, /, *, filter: Any = None, proven: bool = True, index_dtype: Any = None
    ) -> Neighbours:
        """Find the `k` nearest other vectors of each vector: the k-NN graph.

        Returns arrays of shape [n, k] as `search`, whose `filter` and `proven` it has: NumPy's, or
        on a GPU its library's. `k` is 1 to n - 1.
        """
        return Neighbours(*self._search(self._vectors, k, 0, filter, proven, index_dtype))

    def _search(
        self, rows: Any, k: int, first_own: int, filter: Any, proven: bool, index_dtype: Any
    ) -> tuple[Any, Any]:
        k, most = whole("k", k), len(self) - (first_own >= 0)
        if not 1 <= k <= most:
            raise ValueError(f"k = {k}, but must be 1 to {most}")
        wide = is_wide(index_dtype)
        if wide is False and len(self) > np.iinfo(np.int32).max:
            raise ValueError(f"index_dtype is int32, but the corpus has {len(self)} vectors")
        if self._gpu is not None:
            return self._gpu.search(rows, k, first_own, filter, wide is not False, bool(proven))
        distances = np.empty((len(rows), k), np.float32)
        indices = np.empty((len(rows), k), np.int64)
        words = _words(filter, len(self), len(rows))
        _select.search_corpus(self._held, rows, k, distances, indices, first_own, words)
        return distances, indices.astype(np.int32) if wide is False else indices


def knn(
    corpus: Any,
    queries: Any,
    k: int,
    /,
    *,
    metric: str | None = None,
    product: str | None = None,
    filter: Any = None,
    proven: bool = True,
    index_dtype: Any = None,
    threads: int | None = None,
) -> Neighbours:
    """Find the exact `k` nearest corpus vectors of each query, in host memory or on a GPU.

    Args:
        corpus: [n, dimension], as `Corpus` takes it; or a `Corpus`, which then has metric, product
            and threads.
        queries: [Q, dimension]. None: the corpus' own vectors, of which none is its own neighbour.
        k: 1 to n; 1 to n - 1 without queries.
        metric: As `Corpus` takes it; "sqeuclidean" by default.
        product: As `Corpus` takes it, on a GPU; "float16" by default.
        filter: Which vectors may be found, for all queries or for each (`Corpus.search`).
        proven: Whether every query is proven before the call returns (`Corpus.search`).
        index_dtype: int32 or int64 (the default).
        threads: By default one for each processor.

    Returns:
        Distances (float32) and indices, both [Q, k], nearest first. The answer is exact and unique
        (`Corpus.search`).

    Both are in host memory, or both on one GPU; there the call waits for the answer, because what
    is not proven by products is searched again, unless proven is False.

    Raises:
        ValueError: A wrong shape, `k` or metric, or a component that is not finite.
        TypeError: A wrong dtype, or vectors that are not where the others are.
    """
    if isinstance(corpus, Corpus):
        if threads is not None:
            raise ValueError("threads is given, but the Corpus has its own")
        if product is not None:
            raise ValueError("product is given, but the Corpus has its own")
        if metric is not None and not (isinstance(metric, str) and metric == corpus.metric):
            raise ValueError(f"metric is {metric!r}, but the Corpus was made for {corpus.metric!r}")
    else:
        metric = "sqeuclidean" if metric is None else metric
        corpus = Corpus(corpus, metric=metric, product=product, threads=threads)
    if queries is None:
        return corpus.graph(k, filter=filter, proven=proven, index_dtype=index_dtype)
    return corpus.search(queries, k, filter=filter, proven=proven, index_dtype=index_dtype)
