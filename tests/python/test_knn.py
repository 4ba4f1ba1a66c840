"""kselect.knn and kselect.Corpus, held against float64 distances and a stable sort."""

import threading

import numpy as np
import pytest
from test_mask import as_given

import kselect
from kselect import _select

METRICS = ["sqeuclidean", "euclidean", "cosine", "pearson", "inner_product"]


def distances_of(corpus, queries, metric):
    """[Q, n] in float64, straightforwardly."""
    x, y = queries.astype(np.float64), corpus.astype(np.float64)
    if metric == "inner_product":
        return -(x @ y.T)
    if metric == "pearson":
        x, y = (v - v.mean(axis=1, keepdims=True) for v in (x, y))
    if metric in ("cosine", "pearson"):
        x, y = (v / np.sqrt((v * v).sum(axis=1, keepdims=True)) for v in (x, y))
        return 1 - x @ y.T
    squares = ((x[:, None, :] - y[None, :, :]) ** 2).sum(axis=2)
    return np.sqrt(squares) if metric == "euclidean" else squares


def check(corpus, queries, k, metric, found, own=False):
    every = distances_of(corpus, queries, metric)
    if own:
        np.fill_diagonal(every, np.inf)
    distances, indices = map(np.asarray, found)
    assert distances.shape == indices.shape == (len(queries), k)
    assert distances.dtype == np.float32
    chosen = np.take_along_axis(every, indices, axis=1)
    least = np.sort(every, axis=1)[:, :k]
    # Two ways of rounding in float64 may order nearly equal ones differently.
    assert np.allclose(chosen, least, rtol=1e-12, atol=1e-13)
    assert np.allclose(distances, chosen, rtol=1e-6, atol=1e-7)
    assert (np.diff(np.sort(indices, axis=1), axis=1) > 0).all()


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("seed", range(6))
def test_random_vectors(metric, seed):
    random = np.random.default_rng(seed)
    n, q, dimension = (int(x) for x in random.integers(2, (400, 40, 60)))
    corpus = random.normal(size=(n, dimension)).astype(np.float32)
    queries = random.normal(size=(q, dimension)).astype(np.float32)
    k = int(random.integers(1, n + 1))
    check(corpus, queries, k, metric, kselect.knn(corpus, queries, k, metric=metric, threads=2))
    if n > 1:
        k = min(k, n - 1)
        check(corpus, corpus, k, metric, kselect.knn(corpus, None, k, metric=metric), own=True)


def test_integers_are_exact_and_ties_go_by_index():
    random = np.random.default_rng(9)
    corpus = random.integers(-3, 4, (500, 5)).astype(np.int8)
    queries = random.integers(-3, 4, (30, 5)).astype(np.int8)
    every = distances_of(corpus, queries, "sqeuclidean")
    wanted = np.argsort(every, axis=1, kind="stable")[:, :20]
    found = kselect.knn(corpus, queries, 20)
    assert (found.indices == wanted).all()
    assert (found.distances == np.take_along_axis(every, wanted, axis=1)).all()


def test_a_corpus_is_prepared_once_and_shared():
    random = np.random.default_rng(3)
    vectors = random.random((800, 16), np.float32)
    corpus = kselect.Corpus(vectors, metric="euclidean", threads=2)
    assert (len(corpus), corpus.dimension, corpus.metric) == (800, 16, "euclidean")
    wrong = []

    def search(seed):
        try:
            queries = np.random.default_rng(seed).random((20, 16), np.float32)
            for _ in range(5):
                check(vectors, queries, 7, "euclidean", corpus.search(queries, 7))
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=search, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    check(vectors, vectors[:3], 4, "euclidean", kselect.knn(corpus, vectors[:3], 4))
    check(vectors, vectors, 4, "euclidean", corpus.graph(4), own=True)


def test_a_corpus_keeps_its_vectors():
    memory = bytearray(np.arange(12, dtype=np.float32).tobytes())
    corpus = kselect.Corpus(np.frombuffer(memory, np.float32).reshape(6, 2))
    with pytest.raises(BufferError):
        memory.append(0)
    query = np.array([[0, 1]], np.float32)
    assert corpus.search(query, 2).indices.tolist() == [[0, 1]]
    del corpus
    memory.append(0)


def test_other_layouts_and_types():
    random = np.random.default_rng(3)
    vectors = random.random((90, 8), np.float32)
    queries = random.random((5, 8), np.float32)
    wanted = kselect.knn(vectors, queries, 6)
    wide = np.zeros((180, 16), np.float32)
    wide[::2, ::2] = vectors
    for other in (np.asfortranarray(vectors), wide[::2, ::2], vectors.astype(">f4")):
        found = kselect.knn(other, np.asfortranarray(queries), 6)
        assert (found.indices == wanted.indices).all()
    half = vectors.astype(np.float16)
    check(half, queries, 6, "sqeuclidean", kselect.knn(half, queries, 6))
    found = kselect.knn(vectors, queries, 6, index_dtype=np.int32)
    assert found.indices.dtype == np.int32 and (found.indices == wanted.indices).all()
    assert kselect.knn(vectors, queries[:0], 6).indices.shape == (0, 6)


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_other_libraries(library):
    module = pytest.importorskip(library)
    if library == "jax":
        module.config.update("jax_platforms", "cpu")
    make = module.from_numpy if library == "torch" else module.numpy.asarray
    random = np.random.default_rng(3)
    vectors, queries = random.random((90, 8), np.float32), random.random((5, 8), np.float32)
    options = {"index_dtype": np.int32}
    found = kselect.knn(make(vectors), make(queries), 6, **options)
    assert type(found.distances) is type(make(queries))
    assert (np.asarray(found.indices) == kselect.knn(vectors, queries, 6).indices).all()


VECTORS = np.random.default_rng(1).random((9, 4), np.float32)
INFINITE = VECTORS.copy()
INFINITE[5, 2] = np.inf


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((VECTORS, VECTORS, 0), {}, ValueError, "k = 0, but must be 1 to 9"),
        ((VECTORS, VECTORS, 10), {}, ValueError, "k = 10, but must be 1 to 9"),
        ((VECTORS, None, 9), {}, ValueError, "k = 9, but must be 1 to 8"),
        ((VECTORS, VECTORS, 1.5), {}, TypeError, "float"),
        ((VECTORS, VECTORS[:, :3], 1), {}, ValueError, "queries have dimension 3, but the corpus has 4"),
        ((VECTORS[0], VECTORS, 1), {}, ValueError, "corpus has shape (4,)"),
        ((VECTORS, VECTORS[0], 1), {}, ValueError, "queries has shape (4,)"),
        ((VECTORS[:0], VECTORS, 1), {}, ValueError, "corpus has shape (0, 4)"),
        ((VECTORS[:, :0], VECTORS, 1), {}, ValueError, "corpus has shape (9, 0)"),
        ((VECTORS.astype(float), VECTORS, 1), {}, TypeError, "corpus has dtype float64"),
        ((VECTORS, VECTORS.astype(int), 1), {}, TypeError, "queries has dtype int64"),
        ((VECTORS, np.ma.masked_array(VECTORS), 1), {}, TypeError, "queries is a masked array"),
        ((VECTORS, VECTORS, 1), {"metric": "manhattan"}, ValueError, "metric is 'manhattan'"),
        ((VECTORS, VECTORS, 1), {"threads": 0}, ValueError, "threads = 0"),
        ((VECTORS, VECTORS, 1), {"product": "float8"}, ValueError, "product is 'float8', but must be one of float16"),
        ((VECTORS, VECTORS, 1), {"product": "int8"}, ValueError, "product is 'int8', but corpus is in host memory"),
        ((VECTORS, VECTORS, 1), {"product": "int8", "metric": "cosine"}, ValueError, "metric 'cosine' does not have"),
        ((kselect.Corpus(VECTORS), VECTORS, 1), {"product": "float16"}, ValueError, "product is given"),
        ((VECTORS, VECTORS, 1), {"index_dtype": "int8"}, ValueError, "index_dtype"),
        ((INFINITE, VECTORS, 1), {}, ValueError, "corpus"),
        ((VECTORS, INFINITE, 1), {}, ValueError, "queries"),
        ((kselect.Corpus(VECTORS), VECTORS, 1), {"metric": "cosine"}, ValueError, "metric is 'cosine'"),
        ((kselect.Corpus(VECTORS), VECTORS, 1), {"threads": 1}, ValueError, "threads is given"),
        ((VECTORS, VECTORS, 1), {"filter": np.ones(8, bool)}, ValueError, "filter has shape (8,) and dtype bool"),
        ((VECTORS, VECTORS, 1), {"filter": np.ones((8, 9), bool)}, ValueError, "(9,) or (9, 9)"),
        ((VECTORS, VECTORS, 1), {"filter": np.ones(1, np.uint8)}, ValueError, "(2,) or (9, 2)"),
        ((VECTORS, VECTORS, 1), {"filter": np.ones(9)}, TypeError, "filter has dtype float64"),
    ],
)
def test_refusals(arguments, options, error, message):
    with pytest.raises(error, match=message.replace("(", r"\(").replace(")", r"\)")):
        kselect.knn(*arguments, **options)


@pytest.mark.parametrize("each", [False, True])
@pytest.mark.parametrize("form", ["booleans", "bytes", "uint32", "int32"])
@pytest.mark.parametrize("n", [31, 32, 70, 4500])
def test_a_filter_leaves_vectors_out(each, form, n):
    random = np.random.default_rng(n)
    corpus = random.integers(-4, 5, (n, 3)).astype(np.float32)
    queries = random.integers(-4, 5, (6, 3)).astype(np.float32)
    mask = random.random((6, n) if each else n) < 0.3
    mask[..., -1] = True
    every = distances_of(corpus, queries, "sqeuclidean")
    k = min(n, 25)

    def check_filtered(found, admitted):
        distances = np.where(admitted, every if len(found[0]) == 6 else own, np.inf)
        wanted = np.argsort(distances, axis=1, kind="stable")[:, :k]
        nearest = np.take_along_axis(distances, wanted, axis=1)
        assert (found.distances == nearest).all()
        assert (found.indices == np.where(np.isinf(nearest), -1, wanted)).all()

    given = as_given(random, mask, form)
    check_filtered(kselect.knn(corpus, queries, k, filter=given), mask)
    check_filtered(kselect.Corpus(corpus).search(queries, k, filter=given, index_dtype="int32"), mask)
    if not each and n <= 70:
        own = distances_of(corpus, corpus, "sqeuclidean")
        np.fill_diagonal(own, np.inf)
        k = min(k, n - 1)
        check_filtered(kselect.knn(corpus, None, k, filter=given), mask)


def test_the_extension_checks_its_arguments():
    held = _select.prepare_corpus(VECTORS, 0, 1)
    good = [held, VECTORS, 2, np.empty((9, 2), np.float32), np.empty((9, 2), np.int64), -1, None]
    assert _select.search_corpus(*good) is None
    for place, bad in (
        (0, None), (0, VECTORS), (1, VECTORS.T), (1, VECTORS[:, :3].copy()), (1, VECTORS.astype("f8")), (2, 0),
        (2, 10), (3, np.empty((9, 1), np.float32)), (3, np.empty((9, 2))), (4, np.empty((9, 2), np.int32)),
        (4, np.empty((9, 4), np.int64)[:, ::2]), (5, -2), (5, 3),
        (6, np.zeros(2, np.uint32)), (6, np.zeros((8, 1), np.uint32)), (6, np.zeros(1, np.int32)), (6, np.uint32(3)),
    ):
        given = list(good)
        given[place] = bad
        with pytest.raises((TypeError, ValueError)):
            _select.search_corpus(*given)
    for bad in ((VECTORS, 0, 0), (VECTORS, 5, 0), (None, 0, 0), (VECTORS, 0, 3)):
        with pytest.raises((TypeError, ValueError)):
            _select.gpu_corpus_bytes(*bad)
    with pytest.raises(ValueError, match="corpus is no dense array on the GPU"):
        _select.prepare_gpu_corpus(VECTORS, 0, np.empty(9, np.uint8), 0, 0)
    with pytest.raises(ValueError):
        _select.gpu_search_bytes(held, VECTORS, 1, -1, None)  # a corpus in host memory
    with pytest.raises(ValueError):
        _select.search_gpu_corpus(held, *good[1:6], None, np.empty(9, np.uint8), 0, True)
    for bad in ((VECTORS, 5, 1), (VECTORS, -1, 1), (VECTORS, 0, -1), (VECTORS[0], 0, 1), (b"1234", 0, 1)):
        with pytest.raises((TypeError, ValueError)):
            _select.prepare_corpus(*bad)


def test_in_host_memory_everything_is_proven():
    vectors = np.random.default_rng(1).random((300, 8), np.float32)
    for found, wanted in (
        (kselect.knn(vectors, vectors[:9], 4, proven=False), kselect.knn(vectors, vectors[:9], 4)),
        (kselect.knn(vectors, None, 4, proven=False), kselect.Corpus(vectors).graph(4, proven=True)),
    ):
        assert (found.indices == wanted.indices).all() and (found.distances == wanted.distances).all()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"metric": np.ones(3)}, ValueError, "metric is"),
        ({"metric": ""}, ValueError, "metric is ''"),
        ({"metric": 3}, ValueError, "metric is 3"),
        ({"threads": 100_000}, ValueError, "threads = 100000, but must be 1 to 4096"),
        ({"filter": [[True], [True, False]]}, ValueError, "filter cannot be made an array"),
    ],
)
def test_bad_options_are_named(options, error, message):
    vectors = np.ones((5, 3), np.float32)
    with pytest.raises(error, match=message):
        kselect.knn(vectors, vectors, 2, **options)
    if "metric" in options:
        with pytest.raises(error, match=message):
            kselect.knn(kselect.Corpus(vectors), vectors, 2, **options)


def test_what_is_no_array_is_named():
    vectors = np.ones((5, 3), np.float32)
    with pytest.raises(ValueError, match="queries cannot be made an array"):
        kselect.knn(vectors, [[1.0], [2.0, 3.0]], 2)
    with pytest.raises(ValueError, match="corpus cannot be made an array"):
        kselect.knn([[1.0], [2.0, 3.0]], vectors, 2)
    with pytest.raises(TypeError, match="k is a float, but must be an integer"):
        kselect.knn(vectors, vectors, 2.0)
