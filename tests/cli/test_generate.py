"""`kselect generate`: vectors that depend on the seed alone."""

import numpy as np
import pytest
from conftest import one_line


@pytest.mark.parametrize("distribution", ["uniform", "normal"])
def test_vectors_depend_on_the_seed_alone(kselect, tmp_path, distribution):
    def made(name, *options):
        kselect("generate", "--count", 700, "--dimension", 130, "--distribution", distribution,
                "--output", name, *options)
        return np.load(tmp_path / name)

    first = made("a.npy")
    assert first.dtype == np.float32 and first.shape == (700, 130) and np.isfinite(first).all()
    assert (made("b.npy", "--threads", 1) == first).all()
    assert (made("c.npy", "--seed", 2) != first).mean() > 0.99
    mean, deviation = {"uniform": (0.5, 12**-0.5), "normal": (0, 1)}[distribution]
    assert abs(first.mean() - mean) < 0.02 and abs(first.std() - deviation) < 0.02


def test_a_file_longer_than_a_piece_begins_like_a_short_one(kselect, tmp_path):
    # 64 MiB are written at a time.
    kselect("generate", "--count", 70000, "--dimension", 256, "--output", "long.npy")
    kselect("generate", "--count", 66000, "--dimension", 256, "--output", "short.npy")
    long, short = (np.load(tmp_path / f"{x}.npy", mmap_mode="r") for x in ("long", "short"))
    assert long.shape == (70000, 256) and (long[:66000] == short).all()
    assert len(np.unique(long[::1000, 0])) == 70, "no piece comes twice"


def test_bad_input(kselect):
    for wrong in (["--count", 0, "--dimension", 3], ["--count", 3, "--dimension", 0], []):
        kselect("generate", *wrong, "--output", "x.npy", check=2)
    done = kselect("generate", "--count", 3, "--dimension", 3, "--output", "none/x.npy", check=6)
    assert "none" in one_line(done.stderr)


def test_what_the_disk_cannot_hold_is_refused_at_once(kselect, tmp_path):
    done = kselect("generate", "--count", 2**40, "--dimension", 2**18, "--output", "large.npy", check=6)
    assert "large.npy" in one_line(done.stderr) and "free" in done.stderr
    assert not list(tmp_path.iterdir())
