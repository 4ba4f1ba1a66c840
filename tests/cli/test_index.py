"""`kselect index` against brute force in float64 and a textbook edit distance."""

import json
import re

import numpy as np
import pytest
from conftest import one_line

RNG = np.random.default_rng(5)
WORDS = sorted({"".join(RNG.choice(list("abcñ"), RNG.integers(2, 9))) for _ in range(120)})


def edit_distance(a, b):
    """Levenshtein distance by the whole table."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        diagonal, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (x != y))
    return row[-1]


@pytest.fixture
def vectors(tmp_path):
    """A base of vectors in base.npy and queries in query.npy."""
    base = RNG.normal(size=(300, 6)).astype(np.float32)
    query = RNG.normal(size=(7, 6)).astype(np.float32)
    np.save(tmp_path / "base.npy", base)
    np.save(tmp_path / "query.npy", query)
    return base, query


@pytest.fixture
def words(tmp_path):
    """WORDS in words.txt."""
    (tmp_path / "words.txt").write_text("\n".join(WORDS) + "\n")
    return WORDS


def build(kselect, kind, *more, metric="euclidean", objects="base.npy"):
    """Builds x.kidx."""
    size = ("--cluster-size", 9) if kind == "list_of_clusters" and "--cluster-radius" not in more else ()
    return kselect("index", "build", "--metric", metric, "--objects", objects, "--kind", kind,
                   "--index", "x.kidx", *size, *more)  # fmt: skip


@pytest.mark.parametrize("kind", ["none", "list_of_clusters", "sss"])
@pytest.mark.parametrize("executor", ["cpu", "fiber"])
def test_knn_of_vectors(kselect, tmp_path, vectors, kind, executor):
    base, query = vectors
    build(kselect, kind, "--executor", executor)
    done = kselect("index", "knn", "--index", "x.kidx", "--queries", "query.npy", "--k", 5,
                   "--executor", executor, "--indices", "i.npy", "--distances", "d.npy")  # fmt: skip
    assert "7 queries proven" in done.stdout
    exact = np.linalg.norm(query[:, None].astype(np.float64) - base[None], axis=2)
    indices, distances = np.load(tmp_path / "i.npy"), np.load(tmp_path / "d.npy")
    assert np.array_equal(indices, np.argsort(exact, axis=1)[:, :5])
    assert np.allclose(distances, np.sort(exact, axis=1)[:, :5], rtol=1e-6)


@pytest.mark.parametrize("options", [("--radius-rule", "decreasing"), ("--batch", 3)])
def test_knn_by_other_kernels(kselect, tmp_path, vectors, options):
    build(kselect, "list_of_clusters")
    for name, more in (("plain", ()), ("other", options)):
        kselect("index", "knn", "--index", "x.kidx", "--queries", "query.npy", "--k", 5,
                "--executor", "fiber", "--indices", f"{name}.npy", *more)  # fmt: skip
    assert np.array_equal(np.load(tmp_path / "plain.npy"), np.load(tmp_path / "other.npy"))


@pytest.mark.parametrize("kind", ["list_of_clusters", "sss"])
def test_range_of_vectors(kselect, tmp_path, vectors, kind):
    base, query = vectors
    build(kselect, kind)
    kselect("index", "range", "--index", "x.kidx", "--queries", "query.npy", "--radius", 2,
            "--executor", "cpu", "--indices", "i.npy", "--starts", "s.npy")  # fmt: skip
    exact = np.linalg.norm(query[:, None].astype(np.float64) - base[None], axis=2)
    starts, indices = np.load(tmp_path / "s.npy"), np.load(tmp_path / "i.npy")
    for q in range(7):
        found = indices[starts[q] : starts[q + 1]]
        assert set(found) == set(np.flatnonzero(exact[q] <= 2))
    assert starts[-1] == len(indices) > 0


@pytest.mark.parametrize("executor", ["cpu", "fiber"])
@pytest.mark.parametrize("rule", ["increasing", "decreasing"])
def test_clusters_of_a_radius(kselect, tmp_path, vectors, executor, rule):
    base, query = vectors
    done = kselect("index", "build", "--metric", "euclidean", "--objects", "base.npy", "--kind",
                   "list_of_clusters", "--cluster-radius", 1.5, "--index", "x.kidx",
                   "--executor", executor)  # fmt: skip
    assert "clusters of radius 1.5" in done.stdout
    kselect("index", "knn", "--index", "x.kidx", "--queries", "query.npy", "--k", 5, "--executor",
            executor, "--indices", "i.npy", "--radius-rule", rule)  # fmt: skip
    exact = np.linalg.norm(query[:, None].astype(np.float64) - base[None], axis=2)
    assert np.array_equal(np.load(tmp_path / "i.npy"), np.argsort(exact, axis=1)[:, :5])
    index = json.loads(kselect("index", "info", "x.kidx", "--json").stdout)
    assert index["cluster_radius"] == 1.5 and "cluster_size" not in index


def test_words_held_out(kselect, tmp_path, words):
    build(kselect, "sss", "--hold-out", 0.2, "--queries", "held.txt",
          metric="levenshtein", objects="words.txt")  # fmt: skip
    held = (tmp_path / "held.txt").read_text().split()
    assert len(held) == round(0.2 * len(words))
    kept = [w for w in words if w not in set(held)]
    kselect("index", "range", "--index", "x.kidx", "--queries", "held.txt", "--radius", 2,
            "--executor", "cpu", "--json", "found.json")  # fmt: skip
    for query, answer in zip(held, json.loads((tmp_path / "found.json").read_text())):
        assert answer["text"] == query
        near = {w: edit_distance(query, w) for w in kept if edit_distance(query, w) <= 2}
        assert {hit["text"]: hit["distance"] for hit in answer["found"]} == near
        assert all(words[hit["index"]] == hit["text"] for hit in answer["found"])


def test_info(kselect, vectors):
    build(kselect, "list_of_clusters")
    about = json.loads(kselect("index", "info", "x.kidx", "--json").stdout)
    assert (about["objects"], about["clusters"], about["cluster_size"]) == (300, 30, 9)
    assert re.fullmatch("[0-9a-f]{16}", about["source_hash"])


def test_generate(kselect, tmp_path):
    done = kselect("index", "generate", "images", "--count", 500, "--output", "images.npy")
    assert "500 vectors of dimension 20; intrinsic dimension" in done.stdout
    assert np.load(tmp_path / "images.npy").shape == (500, 20)


@pytest.mark.parametrize(
    "change, code, message",
    [
        (("--k", "301"), 2, "k = 301 is not in 1 .. 300"),
        (("--k", "-1", "--executor", "fiber"), 2, "k = -1 is not in 1 .. 300"),
        (("--k", "3", "--executor", "fiber", "--first-radius", "nan"), 2, "--first-radius: nan is no number"),
        (("--k", "3", "--executor", "fiber", "--radius-rule", "decreasing"), 4, "List of Clusters"),
        (("--k", "3", "--executor", "cpu", "--walk", "groups"), 2, "--walk is for executors cuda and fiber"),
        (("--k", "3", "--executor", "cpu", "--batch", "2"), 2, "--batch is for executors cuda and fiber"),
        (("--k", "3", "--queries", "narrow.npy"), 2, "dimension 5, the indexed vectors 6"),
        (("--k", "3", "--index", "cut.kidx"), 3, "cut off or appended to; build it again with `kselect index build`"),
        (("--k", "3", "--index", "."), 3, ".: is not a regular file but a folder; name a file"),
        (("--k", "3", "--index", "none.kidx"), 3, "none.kidx"),
    ],
)
def test_errors(kselect, tmp_path, vectors, change, code, message):
    build(kselect, "sss")
    np.save(tmp_path / "narrow.npy", np.zeros((2, 5), np.float32))
    (tmp_path / "cut.kidx").write_bytes((tmp_path / "x.kidx").read_bytes()[:-100])
    arguments = {"--index": "x.kidx", "--queries": "query.npy", "--indices": "i.npy"}
    arguments |= dict(zip(change[::2], change[1::2]))
    flat = [word for pair in arguments.items() for word in pair]
    done = kselect("index", "knn", *flat, check=code)
    assert message in one_line(done.stderr)
    assert not (tmp_path / "i.npy").exists()


def test_one_object_and_one_query_are_singular(kselect, tmp_path):
    np.save(tmp_path / "one.npy", np.ones((1, 3), np.float32))
    made = kselect("index", "build", "one.npy", "one.kidx", "--metric", "euclidean", "--kind", "list_of_clusters",
                   "--cluster-size", 1).stdout
    assert made.startswith("1 vector under euclidean: 1 cluster of 1; ")
    found = kselect("index", "knn", "one.kidx", "one.npy", "--k", 1).stdout
    assert "1 query of 1 vector, 1 hit; 1 query proven" in found
    assert "1 nearest of 1 vector " in kselect("knn", "one.npy", "one.npy", "--k", 1).stdout


def test_errors_of_building(kselect, tmp_path, vectors):
    for options, message in (
        (("--alpha", "nan"), "--alpha: nan is no number"),
        (("--diameter", "nan"), "--diameter: nan is no number"),
        (("--diameter", "-1"), "diameter -1 is not a distance"),
        (("--pivots", "400", "--alpha", "0.5"), "pivots, fewer than 400; lower it"),
        (("--pivots", "-1"), "-1 pivots: give 1 to 4096"),
        (("--kind", "list_of_clusters", "--cluster-radius", "1e-9"), "of the 300 objects would be a cluster"),
        (("--kind", "list_of_clusters", "--cluster-radius", "99"), "all 300 objects are within 99"),
        (("--kind", "list_of_clusters", "--cluster-radius", "nan"), "--cluster-radius: nan is no number"),
        (("--cluster-size", "8"), "--cluster-size is for --kind list_of_clusters, not sss; leave it out"),
        (("--kind", "none", "--alpha", "0.5"), "--alpha is for --kind sss, not none; leave it out"),
        (("--hold-out", "0.2", "--queries", "held.dat"), "held.dat: vectors are written as .npy"),
    ):
        kind = () if "--kind" in options else ("--kind", "sss")
        done = kselect("index", "build", "--metric", "euclidean", "--objects", "base.npy",
                       *kind, "--index", "x.kidx", *options, check=2)  # fmt: skip
        assert message in one_line(done.stderr)
        assert not (tmp_path / "x.kidx").exists()


def test_bad_word_lists(kselect, tmp_path):
    every = "\n".join(map(chr, [*range(0x100, 0xD800), *range(0x10000, 0x13000)]))
    for text, message in ((b"a\n\nb\n", "line 2 is empty"), (b"a\n\xff\n", "line 2 is not UTF-8"),
                          (every.encode(), "more than 65,534 different characters")):  # fmt: skip
        (tmp_path / "bad.txt").write_bytes(text)
        done = kselect("index", "build", "--metric", "levenshtein", "--objects", "bad.txt",
                       "--kind", "none", "--index", "x.kidx", check=3)  # fmt: skip
        assert message in one_line(done.stderr)
        assert not (tmp_path / "x.kidx").exists()
