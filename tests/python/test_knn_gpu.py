"""kselect.knn on a GPU: the answers of the host, by torch's and CuPy's arrays. Skipped without one."""

import numpy as np
import pytest

import kselect
from kselect import _select


def torch_side():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch finds no GPU")
    return lambda a: torch.from_numpy(a).cuda(), lambda a: a.cpu().numpy()


def cupy_side():
    cupy = pytest.importorskip("cupy")
    try:
        cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError:
        pytest.skip("CuPy finds no GPU")
    return cupy.asarray, cupy.asnumpy


@pytest.fixture(params=[torch_side, cupy_side])
def side(request):
    there, here = request.param()
    if not _select.HAS_CUDA:
        pytest.skip("the package was built without code for GPUs")
    return there, here


def vectors(n, q, dimension, seed=1):
    """Small integers, of which both sides have the same distances."""
    random = np.random.default_rng(seed)
    return (random.integers(-8, 9, (count, dimension)).astype(np.float32) for count in (n, q))


@pytest.mark.parametrize(("n", "k"), [(300, 5), (9000, 32)])
@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine"])
def test_answers_are_those_of_the_host(side, n, k, metric):
    there, here = side
    corpus, queries = vectors(n, 40, 24)
    prepared = kselect.Corpus(there(corpus), metric=metric)
    assert (len(prepared), prepared.dimension) == (n, 24)
    for found, wanted in (
        (prepared.search(there(queries), k), kselect.knn(corpus, queries, k, metric=metric)),
        (prepared.graph(k), kselect.knn(corpus, None, k, metric=metric)),
    ):
        assert type(found.indices) is type(there(queries))
        assert np.allclose(here(found.distances), wanted.distances, rtol=1e-6, atol=1e-6)
        if metric == "sqeuclidean":
            assert (here(found.indices) == wanted.indices).all()
    narrow = prepared.search(there(queries), k, index_dtype="int32")
    assert here(narrow.indices).dtype == np.int32


@pytest.mark.parametrize("product", ["bfloat16", "int8"])
def test_products_have_the_same_answers(side, product):
    there, here = side
    corpus, queries = vectors(5000, 40, 200)
    wanted = kselect.knn(corpus, queries, 9)
    for found in (
        kselect.knn(there(corpus), there(queries), 9, product=product),
        kselect.Corpus(there(corpus), product=product).search(there(queries), 9),
    ):
        assert (here(found.indices) == wanted.indices).all()
        assert (here(found.distances) == wanted.distances).all()


@pytest.mark.parametrize("each", [False, True])
@pytest.mark.parametrize("packed", [False, True])
def test_filters_are_those_of_the_host(side, each, packed):
    there, here = side
    corpus, queries = vectors(4500, 9, 16)
    mask = np.random.default_rng(2).random((9, 4500) if each else 4500) < 0.01
    given = np.packbits(mask, axis=-1, bitorder="little") if packed else mask
    wanted = kselect.knn(corpus, queries, 60, filter=mask)
    for filter in (given, there(given)):
        found = kselect.knn(there(corpus), there(queries), 60, filter=filter)
        assert (here(found.indices) == wanted.indices).all()
        assert (here(found.distances) == wanted.distances).all()


def test_arrays_elsewhere_are_refused(side):
    there, _ = side
    corpus, queries = vectors(100, 3, 4)
    with pytest.raises(TypeError, match="queries are in host memory"):
        kselect.knn(there(corpus), queries, 1)
    with pytest.raises(TypeError, match="queries is on a GPU"):
        kselect.knn(corpus, there(queries), 1)
    with pytest.raises(ValueError, match="threads is given"):
        kselect.knn(there(corpus), there(queries), 1, threads=2)
    with pytest.raises(ValueError, match="filter has shape"):
        kselect.knn(there(corpus), there(queries), 1, filter=np.ones(99, bool))
    with pytest.raises(ValueError, match="k = 101"):
        kselect.knn(there(corpus), there(queries), 101)


@pytest.mark.parametrize("n", [31, 32, 70])
@pytest.mark.parametrize("packed", [False, True])
def test_torch_packs_filters_as_numpy_does(n, packed):
    torch = pytest.importorskip("torch")
    from kselect import _knn, _torch

    mask = np.random.default_rng(n).random((3, n)) < 0.5
    given = np.packbits(mask, axis=-1, bitorder="little") if packed else mask
    words = _torch.filter_words(torch.from_numpy(given), n, 3, torch.empty(0))
    assert (words.numpy().view(np.uint32) == _knn._words(given, n, 3)).all()


@pytest.mark.parametrize("n", [300, 9000])
def test_without_proof(side, n):
    """Distances are those of the vectors that are named; of random vectors the products prove nearly all."""
    there, here = side
    corpus, queries = vectors(n, 40, 24)
    found = kselect.knn(there(corpus), there(queries), 6, proven=False)
    wanted = kselect.knn(corpus, queries, 6)
    indices = here(found.indices)
    true = ((corpus[indices].astype(np.float64) - queries[:, None].astype(np.float64)) ** 2).sum(-1)
    assert (here(found.distances) == true.astype(np.float32)).all()
    assert (indices == wanted.indices).all(axis=1).sum() >= (40 if n == 300 else 36)


def test_without_proof_it_does_not_wait():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available() or not _select.HAS_CUDA:
        pytest.skip("no GPU")
    prepared = kselect.Corpus(torch.randn(9000, 24, device="cuda"))
    queries = torch.randn(64, 24, device="cuda")
    prepared.search(queries, 5, proven=False)  # loads kernels, which may wait
    torch.cuda.synchronize()
    for proven in (False, True):
        torch.cuda._sleep(200_000_000)  # about a tenth of a second
        begun = torch.cuda.Event()
        begun.record()
        prepared.search(queries, 5, proven=proven)
        assert begun.query() == proven
        torch.cuda.synchronize()
