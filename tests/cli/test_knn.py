"""`kselect knn` against a brute-force float64 computation."""

import gzip
import json
import struct

import numpy as np
import pytest
from conftest import one_line, records
from knn_jobs import sanitized

RNG = np.random.default_rng(11)
METRICS = ["sqeuclidean", "euclidean", "cosine", "pearson", "inner_product"]


def distances(query, base, metric):
    """All distances in float64."""
    query, base = query.astype(np.float64), base.astype(np.float64)
    if metric in ("sqeuclidean", "euclidean"):
        squared = ((query[:, None, :] - base[None, :, :]) ** 2).sum(axis=2)
        return np.sqrt(squared) if metric == "euclidean" else squared
    if metric == "inner_product":
        return -(query @ base.T)
    if metric == "pearson":
        query = query - query.mean(axis=1, keepdims=True)
        base = base - base.mean(axis=1, keepdims=True)
    query = query / np.linalg.norm(query, axis=1, keepdims=True)
    base = base / np.linalg.norm(base, axis=1, keepdims=True)
    return 1 - query @ base.T


def check(indices, found, exact):
    """The k nearest up to ties within one rounding to float32."""
    rows = np.arange(exact.shape[0])[:, None]
    assert all(len(set(row)) == len(row) for row in indices)
    np.testing.assert_allclose(found, exact[rows, indices], rtol=2e-7, atol=1e-12)
    best = np.sort(exact, axis=1)[:, : indices.shape[1]]
    np.testing.assert_allclose(found, best, rtol=2e-7, atol=1e-12)
    assert (np.diff(found, axis=1) >= 0).all()


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("block", [1, 256])
def test_queries(kselect, tmp_path, metric, block):
    base = RNG.standard_normal((300, 17)).astype(np.float32)
    query = RNG.standard_normal((41, 17)).astype(np.float32)
    np.save(tmp_path / "base.npy", base)
    np.save(tmp_path / "query.npy", query)
    kselect("knn", "--base", "base.npy", "--query", "query.npy", "--metric", metric, "--k", 7,
            "--algorithm", "cpu/nth_element", "--indices", "i.npy", "--distances", "d.npy",
            "--block", block)
    check(np.load(tmp_path / "i.npy"), np.load(tmp_path / "d.npy"), distances(query, base, metric))


@pytest.mark.parametrize("exclude", [False, True])
def test_graph_of_idx_images(kselect, tmp_path, exclude):
    images = RNG.integers(0, 256, (90, 4, 5), dtype=np.uint8)
    images[17] = images[3]  # equal vectors: each is the other's neighbour at distance 0
    header = struct.pack(">BBBBIII", 0, 0, 8, 3, 90, 4, 5)
    with gzip.open(tmp_path / "x-images-idx3-ubyte.gz", "wb") as file:
        file.write(header + images.tobytes())
    flags = ["--exclude-self"] * exclude
    kselect("knn", "--base", "x-images-idx3-ubyte.gz", "--self", *flags, "--k", 5,
            "--algorithm", "cpu/heap", "--indices", "i.npy", "--distances", "d.npy")
    vectors = images.reshape(90, 20)
    exact = distances(vectors, vectors, "sqeuclidean")
    indices, found = np.load(tmp_path / "i.npy"), np.load(tmp_path / "d.npy")
    if exclude:
        np.fill_diagonal(exact, np.inf)
        assert not (indices == np.arange(90)[:, None]).any()
        assert indices[3, 0] == 17 and found[3, 0] == 0
    else:
        assert (found[:, 0] == 0).all()
    check(indices, found, exact)


def test_wrong_usage(kselect, tmp_path):
    np.save(tmp_path / "a.npy", np.ones((10, 3), np.float32))
    np.save(tmp_path / "b.npy", np.ones((10, 4), np.float32))
    np.save(tmp_path / "nan.npy", np.full((10, 3), np.nan, np.float32))
    tail = ["--algorithm", "cpu/heap", "--indices", "i.npy", "--distances", "d.npy"]
    done = kselect("knn", "--base", "a.npy", "--self", "--exclude-self", "--k", 10, *tail, check=2)
    assert "1 .. 9" in one_line(done.stderr)
    done = kselect("knn", "--base", "a.npy", "--query", "b.npy", "--k", 1, *tail, check=3)
    assert "b.npy: has dimension 4, but a.npy has 3; queries and base need the same" in one_line(done.stderr)
    done = kselect("knn", "--base", "a.npy", "--k", 1, *tail, check=2)
    assert "--self" in one_line(done.stderr)
    done = kselect("knn", "--base", "a.npy", "--self", "--k", 1, "--tf32", *tail, check=2)
    assert "executor cuda" in one_line(done.stderr)
    done = kselect("knn", "--base", "a.npy", "--self", "--k", 1, "--half-product", *tail, check=2)
    assert "executor cuda" in one_line(done.stderr)
    done = kselect("knn", "--base", "a.npy", "--query", "a.npy", "--k", 1, "--half-product", *tail,
                   check=2)
    assert "--self" in one_line(done.stderr)
    done = kselect("knn", "--base", "nan.npy", "--self", "--k", 1, *tail, check=3)
    assert "nan.npy" in one_line(done.stderr)
    assert not (tmp_path / "i.npy").exists() and not (tmp_path / "d.npy").exists()


@pytest.mark.parametrize("metric", METRICS)
def test_products_in_float16(kselect, tmp_path, metric):
    """The fused search on fibers: every answer is right, and the output says that all are proven."""
    base = RNG.standard_normal((4200, 40)).astype(np.float32)
    query = RNG.standard_normal((5, 40)).astype(np.float32)
    np.save(tmp_path / "base.npy", base)
    np.save(tmp_path / "query.npy", query)
    done = kselect("knn", "--base", "base.npy", "--query", "query.npy", "--metric", metric, "--k", 7,
                   "--executor", "fiber", "--product", "float16", "--indices", "i.npy",
                   "--distances", "d.npy")
    assert "all proven by products in float16" in done.stdout
    exact = distances(query, base, metric)
    indices = np.load(tmp_path / "i.npy")
    check(indices, np.load(tmp_path / "d.npy"), exact)
    assert (indices == np.argsort(exact, axis=1, kind="stable")[:, :7]).all()


@pytest.mark.slow
def test_graph_by_half_of_the_products(kselect, binary, tmp_path):
    """The graph of bytes has one right answer; the output says that half of the products gave it, or all."""
    if sanitized(binary):
        pytest.skip("takes a minute; tests/search/knn/fused_half_test.cpp runs these kernels")
    base = RNG.integers(0, 256, (4200, 6))
    np.save(tmp_path / "base.npy", base.astype(np.float32))
    graph = ("knn", "--base", "base.npy", "--self", "--exclude-self", "--k", 3, "--executor", "fiber", "--product", "int8")
    whole = kselect(*graph, "--whole-product", "--indices", "w.npy")
    assert "all proven by products in int8" in whole.stdout
    assert "all proven by products in int8" in kselect(*graph, "--indices", "n.npy").stdout, "hits are too many here"
    done = kselect(*graph, "--half-product", "--indices", "i.npy", "--distances", "d.npy")
    assert "all proven by half of the products in int8" in done.stdout
    assert (tmp_path / "i.npy").read_bytes() == (tmp_path / "w.npy").read_bytes()
    indices, found = np.load(tmp_path / "i.npy"), np.load(tmp_path / "d.npy")
    for query in range(4200):
        exact = ((base - base[query]) ** 2).sum(axis=1)
        exact[query] = 2**30
        nearest = np.argsort(exact, kind="stable")[:3]
        assert (indices[query] == nearest).all() and (found[query] == exact[nearest]).all()


def test_the_whole_product_says_why(kselect, tmp_path):
    np.save(tmp_path / "base.npy", RNG.standard_normal((300, 6)).astype(np.float32))
    done = kselect("knn", "--base", "base.npy", "--self", "--k", 3, "--executor", "fiber", "--product", "float16",
                   "--half-product", "--indices", "i.npy", "--distances", "d.npy")
    assert "--half-product was not used: the corpus has fewer than 4096 vectors" in done.stderr


def test_products_in_bfloat16(kselect, tmp_path):
    """A few vectors are a million times as long as the others, whose neighbours products prove all the same."""
    base = RNG.standard_normal((4200, 64)).astype(np.float32)
    query = RNG.standard_normal((5, 64)).astype(np.float32)
    base[::30] *= 1e6
    np.save(tmp_path / "base.npy", base)
    np.save(tmp_path / "query.npy", query)
    done = kselect("knn", "--base", "base.npy", "--query", "query.npy", "--k", 7, "--executor", "fiber",
                   "--product", "bfloat16", "--indices", "i.npy", "--distances", "d.npy")
    assert "all proven by products in bfloat16" in done.stdout and "0 in float64" in done.stdout
    exact = distances(query, base, "sqeuclidean")
    assert (np.load(tmp_path / "i.npy") == np.argsort(exact, axis=1, kind="stable")[:, :7]).all()


@pytest.mark.parametrize("least", [0, -128])
def test_products_of_bytes(kselect, tmp_path, least):
    """Distances of bytes are integers, so each answer is unique: by distance, then index."""
    base = RNG.integers(least, least + 256, (4200, 150))
    np.save(tmp_path / "base.npy", base.astype(np.float32))
    np.save(tmp_path / "query.npy", base[:9].astype(np.float32))
    done = kselect("knn", "--base", "base.npy", "--query", "query.npy", "--metric", "sqeuclidean", "--k", 7,
                   "--executor", "fiber", "--product", "int8", "--indices", "i.npy", "--distances", "d.npy")
    assert "all proven by products in int8" in done.stdout
    for query in range(9):
        exact = ((base - base[query]) ** 2).sum(axis=1)
        nearest = np.argsort(exact, kind="stable")[:7]
        assert (np.load(tmp_path / "i.npy")[query] == nearest).all()
        assert (np.load(tmp_path / "d.npy")[query] == exact[nearest]).all()


@pytest.mark.parametrize(("value", "said"), [(0.5, "0.5"), (256, "256"), (-1, "255"), (np.nan, "nan")])
def test_products_of_bytes_take_bytes_alone(kselect, tmp_path, value, said):
    vectors = np.full((4200, 3), 255, np.float32)
    vectors[7, 2] = value
    np.save(tmp_path / "base.npy", vectors)
    done = kselect("knn", "--base", "base.npy", "--self", "--metric", "sqeuclidean", "--k", 7, "--executor", "fiber",
                   "--product", "int8", "--indices", "i.npy", "--distances", "d.npy", check=3)
    assert "base.npy" in done.stderr and said in done.stderr
    assert not (tmp_path / "i.npy").exists()


@pytest.mark.parametrize(("options", "named"), [
    (["--executor", "cpu", "--product", "float16"], "executor cpu"),
    (["--executor", "cpu", "--product", "int8"], "executor cpu"),
    (["--executor", "cpu", "--product", "bfloat16"], "executor cpu"),
    (["--executor", "cpu", "--product", "int8", "--memory-limit", 64], "--product int8 is not for executor cpu"),
    (["--executor", "cpu", "--product", "float32"], "executor cpu"),
    (["--executor", "fiber", "--product", "tf32"], "executor fiber"),
    (["--executor", "fiber", "--product", "float16", "--memory", 10], "--memory"),
    (["--executor", "fiber", "--product", "float64", "--half-product"], "--half-product"),
    (["--executor", "cpu", "--product", "float16", "--memory-limit", 64], "executor cpu"),
    (["--executor", "cpu", "--product", "float32", "--memory-limit", 64], "--product float32 is not for executor cpu"),
    *[(["--executor", "cpu", *given, *where], said) for where in ([], ["--memory-limit", 64], ["--ranks", 2])
      for given, said in ((["--memory", 10], "--memory: for products in float32 on executor cuda; this is cpu"),
                          (["--sum-by-warp", "--tf32"], "--tf32, --sum-by-warp: for products in float32 on executor cuda"),
                          (["--tf32"], "--tf32: for products in float32 on executor cuda; this is cpu with --product auto: leave it out"),
                          (["--prove", "none"], "--prove none is for executor cuda"))],
    (["--product", "float8"], "--product"),
])
def test_products_that_do_not_go_together(kselect, tmp_path, options, named):
    np.save(tmp_path / "a.npy", np.ones((10, 3), np.float32))
    done = kselect("knn", "--base", "a.npy", "--self", "--k", 1, *options, "--indices", "i.npy",
                   "--distances", "d.npy", check=2)
    assert named in done.stderr
    assert not (tmp_path / "i.npy").exists()


@pytest.mark.parametrize("limited", [[], ["--memory-limit", 1024]])
def test_float64_decides_where_float32_distances_are_equal(kselect, tmp_path, limited):
    """Squared distances are 1 + a^2 2^-46; in float32 all are 1, and the order of indices is not that of a."""
    order = RNG.permutation(3000)
    base = np.stack([np.ones(3000), order * 2.0**-23], axis=1).astype(np.float32)
    np.save(tmp_path / "base.npy", base)
    np.save(tmp_path / "query.npy", np.zeros((2, 2), np.float32))
    done = kselect("knn", "--base", "base.npy", "--query", "query.npy", "--k", 9, "--executor", "cpu",
                   "--prove", "all", *limited, "--indices", "i.npy", "--distances", "d.npy")
    assert "proven" in done.stdout
    assert (np.load(tmp_path / "d.npy") == 1).all()
    assert (np.load(tmp_path / "i.npy") == np.argsort(order)[:9]).all()


@pytest.mark.parametrize("scope", ["sample", "none"])
def test_the_processor_proves_every_query(kselect, tmp_path, scope):
    np.save(tmp_path / "a.npy", np.ones((10, 3), np.float32))
    done = kselect("knn", "--base", "a.npy", "--self", "--k", 1, "--executor", "cpu", "--prove", scope,
                   "--indices", "i.npy", "--distances", "d.npy", check=2)
    assert f"--prove {scope}" in one_line(done.stderr) and "every query" in done.stderr
    assert not (tmp_path / "i.npy").exists()


def test_record_is_of_times_on_a_gpu(kselect, tmp_path):
    """The option is refused where there is nothing to record, and then writes nothing."""
    np.save(tmp_path / "a.npy", np.ones((10, 3), np.float32))
    start = ["knn", "--base", "a.npy", "--self", "--k", 1, "--algorithm", "cpu/heap", "--indices",
             "i.npy", "--distances", "d.npy", "--record", "run"]
    done = kselect(*start, check=2)
    assert "--timing" in one_line(done.stderr)
    done = kselect(*start, "--timing", 2, check=2)
    assert "executor cuda" in one_line(done.stderr)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.npy"]


def test_record(kselect, tmp_path):
    """A cell with the rounds of all repeats but the first; skipped without a GPU."""
    np.save(tmp_path / "a.npy", RNG.standard_normal((300, 8)).astype(np.float32))
    search = ["knn", "--base", "a.npy", "--self", "--exclude-self", "--k", 4, "--algorithm", "qms-block",
              "--executor", "cuda", "--half-product", "--timing", 3, "--record", "run", "--indices", "i.npy",
              "--distances", "d.npy"]  # fmt: skip
    done = kselect(*search, check=None)
    if done.returncode == 4:  # unsupported
        assert not (tmp_path / "run").exists()
        pytest.skip(one_line(done.stderr))
    assert done.returncode == 0, done.stderr
    kselect(*search)
    first, cell = records(tmp_path / "run")
    assert first["key"] == cell["key"] and len(first["time"]["rounds"]) == 2
    assert len(cell["time"]["rounds"]) == 4, "the same search adds its rounds"
    for stage in ("norms", "distance", "selection", "order", "bare_product"):
        assert len(cell["stages"][stage]["rounds"]) == 4 and min(cell["stages"][stage]["rounds"]) > 0
    assert cell["problem"]["k"] == 4 and cell["problem"]["queries"] == "graph"
    assert cell["algorithm"]["settings"]["half_product"] == "yes" and cell["executor"] == "cuda"
    assert json.loads((tmp_path / "run" / "meta.json").read_text())["gpu"]


@pytest.mark.parametrize("limited", [[], ["--memory-limit", 64]])
def test_an_empty_corpus_has_no_neighbours(kselect, tmp_path, limited):
    (tmp_path / "empty.fvecs").touch()
    done = kselect("knn", "--base", "empty.fvecs", "--self", "--k", 1, *limited, "--indices", "i.npy",
                   "--distances", "d.npy", check=None)
    assert done.returncode in (2, 3) and "empty.fvecs" in one_line(done.stderr)
    assert not (tmp_path / "i.npy").exists()


@pytest.mark.parametrize("limited", [[], ["--memory-limit", 64]])
@pytest.mark.parametrize("empty", ["base", "query"])
def test_empty_files_are_said_alike(kselect, tmp_path, limited, empty):
    """The same error in memory and in tiles."""
    np.save(tmp_path / "base.npy", np.ones((0 if empty == "base" else 3, 4), np.float32))
    np.save(tmp_path / "query.npy", np.ones((0 if empty == "query" else 3, 4), np.float32))
    done = kselect("knn", "--base", "base.npy", "--query", "query.npy", "--k", 1, "--metric", "euclidean", *limited,
                   "--indices", "i.npy", "--distances", "d.npy", check=2)
    wanted = {"base": "k = 1 is not in 1 .. 0: base.npy has 0 vectors",
              "query": "query.npy has no vectors: there is nothing to find"}
    assert one_line(done.stderr) == f"kselect: {wanted[empty]}"
    assert not (tmp_path / "i.npy").exists() and not (tmp_path / "d.npy").exists()
