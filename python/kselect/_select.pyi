"""The extension module (python/extension/select_module.cpp)."""

from typing import Any

HAS_CUDA: bool

def top_k(
    a: Any,
    k: int,
    axis: int,
    flags: int,
    values: Any,
    indices: Any,
    workspace: Any,
    threads: int,
    stream: int,
    /,
    *ragged: Any,
) -> bool: ...
def workspace_bytes(
    a: Any, k: int, axis: int, flags: int, threads: int, has_values: bool, /, *ragged: Any
) -> int | None: ...
def open_torch(
    tensor: Any, exchange: Any, int32: Any, int64: Any, pair: Any, threads: int, /
) -> bool: ...
def top_k_of_tensor(
    a: Any,
    k: int,
    mode: str,
    sorted: bool,
    nan: str,
    stable: bool,
    indices_only: bool,
    lengths: Any,
    starts: Any,
    offsets: Any,
    mask: Any,
    max_length: int | None,
    fill: int,
    out: Any,
    index_dtype: Any,
    threads: int | None,
    /,
) -> Any: ...
def keep_call(
    a: Any,
    k: int,
    mode: str,
    sorted: bool | int,
    nan: str,
    stable: bool | int,
    indices_only: bool,
    lengths: Any,
    starts: Any,
    offsets: Any,
    mask: Any,
    max_length: int | None,
    fill: int,
    out: Any,
    index_dtype: Any,
    threads: int,
    workspace: Any,
    /,
) -> Any: ...
def run_kept(kept: Any, a: Any, /) -> bool: ...
def prepare_corpus(vectors: Any, metric: int, threads: int, /) -> Any: ...
def search_corpus(
    corpus: Any,
    queries: Any,
    k: int,
    distances: Any,
    indices: Any,
    first_own: int,
    filter: Any,
    /,
) -> None: ...
def gpu_corpus_bytes(vectors: Any, metric: int, product: int, /) -> int: ...
def prepare_gpu_corpus(
    vectors: Any, metric: int, memory: Any, stream: int, product: int, /
) -> Any: ...
def gpu_search_bytes(
    corpus: Any, queries: Any, k: int, first_own: int, filter: Any, /
) -> int: ...
def search_gpu_corpus(
    corpus: Any,
    queries: Any,
    k: int,
    distances: Any,
    indices: Any,
    first_own: int,
    filter: Any,
    workspace: Any,
    stream: int,
    proven: bool,
    /,
) -> None: ...
