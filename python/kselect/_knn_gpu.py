"""Exact k nearest neighbours among vectors on a GPU, of torch's or CuPy's arrays."""

from typing import Any

from kselect import _select


class GpuVectors:
    """Vectors that are prepared on their GPU. It keeps them, and memory that they need beside."""

    def __init__(self, library: Any, vectors: Any, metric: int, product: int) -> None:
        """`vectors`: dense, [n, dimension] of float32."""
        self._library, self.vectors = library, vectors
        needed = _select.gpu_corpus_bytes(library.exported(vectors), metric, product)
        self._memory = library.empty_bytes(needed, vectors)
        self._held = _select.prepare_gpu_corpus(
            library.exported(vectors),
            metric,
            library.exported(self._memory),
            library.current_stream(vectors),
            product,
        )
        self._prepared = library.mark(vectors)

    def search(
        self, queries: Any, k: int, first_own: int, filter: Any, wide: bool, proven: bool
    ) -> Any:
        """Distances and indices, [Q, k], on the GPU. Waits for them if they are to be proven."""
        library = self._library
        if library.place(queries) != library.place(self.vectors):
            raise ValueError(
                f"queries are on {library.place(queries)}, but the corpus is on "
                f"{library.place(self.vectors)}"
            )
        library.wait(self._prepared, queries)
        words = None
        if filter is not None:
            words = library.filter_words(filter, len(self.vectors), len(queries), queries)

        def exported_words() -> Any:
            return None if words is None else library.exported(words)

        rows = library.exported(queries)
        needed = _select.gpu_search_bytes(self._held, rows, k, first_own, exported_words())
        distances = library.empty((len(queries), k), queries)
        indices = library.empty_indices((len(queries), k), True, queries)
        workspace = library.empty_bytes(needed, queries)
        _select.search_gpu_corpus(
            self._held,
            library.exported(queries),
            k,
            library.exported(distances),
            library.exported(indices),
            first_own,
            exported_words(),
            library.exported(workspace),
            library.current_stream(queries),
            proven,
        )
        return distances, indices if wide else library.narrowed(indices)
