"""`kselect knn --filter` and `--filter-each` against a brute-force float64 computation."""

import numpy as np
import pytest
from conftest import one_line

N, Q, D, K = 4500, 9, 6, 5


@pytest.fixture
def vectors(tmp_path):
    rng = np.random.default_rng(5)
    base = rng.standard_normal((N, D)).astype(np.float32)
    query = rng.standard_normal((Q, D)).astype(np.float32)
    np.save(tmp_path / "base.npy", base)
    np.save(tmp_path / "query.npy", query)
    return base, query


def nearest(base, query, admitted, k):
    """The k nearest admitted ones, rows of fewer filled up with -1 and infinity."""
    square = ((query.astype(np.float64)[:, None] - base.astype(np.float64)[None]) ** 2).sum(axis=2)
    square[~np.broadcast_to(admitted, square.shape)] = np.inf
    order = np.argsort(square, axis=1, kind="stable")[:, :k]
    found = np.take_along_axis(square, order, axis=1)
    return np.where(np.isinf(found), -1, order), found.astype(np.float32)


def bits(mask, spare=0):
    """Eight vectors a byte; the last byte's spare bits are set if wanted."""
    packed = np.packbits(mask, axis=-1, bitorder="little")
    if spare and mask.shape[-1] % 8:
        packed[..., -1] |= np.uint8(0xFF << mask.shape[-1] % 8 & 0xFF)
    return packed


def one_mask(kind):
    mask = np.zeros(N, bool)
    rng = np.random.default_rng(8)
    match kind:
        case "half":
            mask = rng.random(N) < 0.5
        case "one in a hundred":
            mask = rng.random(N) < 0.01
        case "all out":
            pass
        case "all but k":
            mask[rng.choice(N, K, replace=False)] = True
        case "one fewer than k":
            mask[rng.choice(N, K - 1, replace=False)] = True
        case "one in":
            mask[N - 1] = True
        case "all in":
            mask[:] = True
        case "the last ones":
            mask[-700:] = True
    return mask


KINDS = ["half", "one in a hundred", "all out", "all but k", "one fewer than k", "one in", "all in", "the last ones"]
# The host's search, and the fused one on fibers.
WAYS = {"host": ["--executor", "cpu"], "fused": ["--executor", "fiber", "--product", "float16"]}


def search(kselect, tmp_path, *options, **how):
    done = kselect("knn", "base.npy", "query.npy", "--k", K, "--indices", "i.npy", "--distances", "d.npy",
                   *options, **how)
    return done, lambda: (np.load(tmp_path / "i.npy"), np.load(tmp_path / "d.npy"))


def assert_nearest(answer, vectors, masks):
    """The answer is that of all distances, of the vectors that the masks admit."""
    want, distances = nearest(*vectors, masks, K)
    found, at = answer()
    np.testing.assert_array_equal(found, want)
    np.testing.assert_allclose(at, distances, rtol=2e-7)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", WAYS)
def test_a_mask_of_all_queries(kselect, tmp_path, vectors, kind, way):
    mask = one_mask(kind)
    np.save(tmp_path / "mask.npy", bits(mask, spare=1))
    _, answer = search(kselect, tmp_path, "--filter", "mask.npy", *WAYS[way])
    assert_nearest(answer, vectors, mask)


@pytest.mark.parametrize("way", WAYS)
def test_a_mask_of_each_query(kselect, tmp_path, vectors, way):
    masks = np.stack([one_mask(KINDS[i % len(KINDS)]) for i in range(Q)])
    np.save(tmp_path / "masks.npy", bits(masks, spare=1))
    _, answer = search(kselect, tmp_path, "--filter-each", "masks.npy", *WAYS[way])
    assert_nearest(answer, vectors, masks)


@pytest.mark.parametrize("way", WAYS)
def test_both_masks_hold(kselect, tmp_path, vectors, way):
    rng = np.random.default_rng(2)
    one, each = rng.random(N) < 0.5, rng.random((Q, N)) < 0.1
    np.save(tmp_path / "one.npy", one)
    np.save(tmp_path / "each.npy", each)
    _, answer = search(kselect, tmp_path, "--filter", "one.npy", "--filter-each", "each.npy", *WAYS[way])
    np.testing.assert_array_equal(answer()[0], nearest(*vectors, one & each, K)[0])


@pytest.mark.parametrize("way", WAYS)
def test_a_graph_of_the_admitted(kselect, tmp_path, vectors, way):
    """Vectors that are left out are queries still, but nobody's neighbour."""
    base = vectors[0][:700]
    np.save(tmp_path / "base.npy", base[:, :3])
    np.save(tmp_path / "mask.npy", (np.arange(700) % 3 == 0).astype(np.uint8))
    kselect("knn", "base.npy", "--self", "--exclude-self", "--k", 2, "--filter", "mask.npy", "--indices", "i.npy",
            *WAYS[way])
    admitted = np.broadcast_to(np.arange(700) % 3 == 0, (700, 700)) & ~np.eye(700, dtype=bool)
    want, _ = nearest(base[:, :3], base[:, :3], admitted, 2)
    np.testing.assert_array_equal(np.load(tmp_path / "i.npy"), want)


@pytest.mark.parametrize("array, says", [
    (np.ones(N - 1, bool), "has shape (4499,)"),
    (np.ones((Q, N), bool), "has shape (9, 4500)"),
    (np.ones(N, np.float32), "holds float32; a mask is of bool or uint8"),
    (np.full(N, 2, np.uint8), "row 0, vector 0: 2 is neither 0 nor 1"),
    (np.ones((N + 7) // 8, bool), "has shape (563,)"),
], ids=["short", "two dimensions", "float", "twos", "boolean bits"])
def test_a_wrong_mask_is_refused(kselect, tmp_path, vectors, array, says):
    np.save(tmp_path / "mask.npy", array)
    done, _ = search(kselect, tmp_path, "--filter", "mask.npy", check=3)
    assert "mask.npy: " + says in one_line(done.stderr)
    assert not (tmp_path / "i.npy").exists()


def test_a_wrong_mask_of_each_is_refused(kselect, tmp_path, vectors):
    np.save(tmp_path / "mask.npy", np.ones((Q - 1, N), bool))
    done, _ = search(kselect, tmp_path, "--filter-each", "mask.npy", check=3)
    assert "has shape (8, 4500)" in one_line(done.stderr)
    assert "(9, 4500)" in one_line(done.stderr)


def test_a_truncated_mask_is_refused(kselect, tmp_path, vectors):
    np.save(tmp_path / "mask.npy", np.ones(N, bool))
    whole = (tmp_path / "mask.npy").read_bytes()
    (tmp_path / "mask.npy").write_bytes(whole[:-1])
    done, _ = search(kselect, tmp_path, "--filter", "mask.npy", check=3)
    assert "mask.npy: is truncated" in one_line(done.stderr)
    done, _ = search(kselect, tmp_path, "--filter", "absent.npy", check=3)
    assert "absent.npy" in one_line(done.stderr)


@pytest.mark.parametrize("options", [["--memory-limit", "512"], ["--ranks", "2"]], ids=["tiles", "ranks"])
def test_ways_without_filters_say_so(kselect, tmp_path, vectors, options):
    np.save(tmp_path / "mask.npy", np.ones(N, bool))
    done, _ = search(kselect, tmp_path, "--filter", "mask.npy", *options, check=2)
    assert "--filter" in one_line(done.stderr) and options[0] in one_line(done.stderr)
