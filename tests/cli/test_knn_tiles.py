"""`kselect knn --memory-limit`: the same answer in bounded memory, streamed and resumable."""

import gzip
import re
import resource
import shutil
import signal
import struct
import subprocess

import numpy as np
import pytest
from conftest import first_in_time, one_line
from knn_jobs import (clean_environment, finished_tiles, graph_of, has_mpi, here, make_graph,
                      make_vectors, outputs, over, peak_memory_until_end, popen, ranks_of,
                      resident_mib, same, sanitized, wait_for_tiles)

__all__ = ["here", "popen"]  # fixtures


@pytest.fixture(scope="module")
def data(binary, tmp_path_factory):
    return make_graph(tmp_path_factory.mktemp("tiles"), binary, 8000)


LIMIT = ["--memory-limit", 400, "--threads", 1]
SMALL = [*LIMIT, "--query-tile", 256]


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["cpu/heap", "cpu/nth_element", "cpu/sort+omp"])
def test_the_same_answer(kselect, here, algorithm):
    done = kselect(*graph_of("base.npy", algorithm=algorithm), *outputs("tiles"), *SMALL)
    assert same(here, "tiles", "whole")
    assert "32 tiles of 256 queries" in done.stderr and "at most" in done.stderr
    assert not list(here.glob("*.partial")) and not list(here.glob("*.job"))


def test_queries_of_another_file_and_a_base_in_parts(kselect, here):
    base = np.load(here / "base.npy")
    for i, part in enumerate(np.split(base, [1, 2500])):
        np.save(here / f"part{i}.npy", part)
    np.save(here / "query.npy", base[:700] + 1)
    tail = ["--k", 9, "--metric", "euclidean", "--algorithm", "cpu/heap", "--query", "query.npy"]
    kselect("knn", "--base", "base.npy", *tail, *outputs("a"))
    kselect("knn", "--base", "part0.npy", "part1.npy", "part2.npy", *tail, *outputs("b"), *SMALL)
    assert same(here, "a", "b")
    done = kselect("knn", "--base", "part0.npy", "part1.npy", *tail, *outputs("c"), check=2)
    assert "--memory-limit" in one_line(done.stderr)


@pytest.mark.parametrize(("metric", "product"), [
    ("sqeuclidean", "float16"),
    *(pytest.param(*case, marks=pytest.mark.slow) for case in (
        ("inner_product", "float16"), ("sqeuclidean", "int8"), ("sqeuclidean", "bfloat16"))),
])
def test_filtered_products(kselect, binary, here, metric, product):
    """On fibers: tiles, passes and ranks have the bits of the same search in memory."""
    if product != "float16" and sanitized(binary):
        pytest.skip("tests/search/knn/tiled has these products, in less time")
    base = np.random.default_rng(7).integers(0, 50, (2 * 4608, 24)).astype(np.float32)  # a rank filters 4608 vectors
    np.save(here / "long.npy", base)
    np.save(here / "query.npy", base[:260] + 1)
    asked = ["knn", "--base", "long.npy", "--query", "query.npy", "--k", 6, "--metric", metric,
             "--executor", "fiber", "--product", product, "--threads", 1]
    assert " survivors a query, 0 queries done again, 0 in float64" in kselect(*asked, *outputs("memory")).stdout
    for ranks in (1, 2):
        done = kselect(*asked, *outputs("tiles"), "--memory-limit", 2000, "--query-tile", 256,
                       "--ranks", ranks)
        assert same(here, "tiles", "memory")
        assert f", all proven by products in {product}; on" in done.stdout
        assert "2 tiles of 256 queries" in done.stderr


def test_tiles_are_short_at_the_ends(kselect, tmp_path):
    """Where the corpus stays in memory, the first tile of queries and the last three; not if a length is given."""
    few = np.random.default_rng(3)
    np.save(tmp_path / "base.npy", few.integers(0, 9, (16, 2)).astype(np.float32))
    np.save(tmp_path / "query.npy", few.integers(0, 9, (14000, 2)).astype(np.float32))
    asked = ["knn", "--base", "base.npy", "--query", "query.npy", "--k", 2]
    kselect(*asked, "--executor", "cpu", *outputs("whole"))
    by_products = [*asked, "--executor", "fiber", "--product", "float16", *LIMIT, "--memory", 3]
    lengths = {}
    for name, more in (("chosen", []), ("given", ["--query-tile", 2816])):
        done = kselect(*by_products, *outputs(name), *more)
        assert same(tmp_path, name, "whole")
        lengths[name] = re.search(r": (\d+ tiles of \d+) queries", done.stderr)[1]
    assert lengths == {"chosen": "9 tiles of 2816", "given": "5 tiles of 2816"}


@pytest.mark.slow
def test_a_corpus_ten_times_the_memory_limit(binary, tmp_path, popen):
    if sanitized(binary):
        pytest.skip("sanitizers need memory of their own")
    # The limit is of the whole process; what it leaves is a tenth of the corpus and less.
    left, dimension = 60, 1024
    limit = left + resident_mib(binary)
    make_vectors(tmp_path / "base.npy", left * 10 * 256, dimension)
    np.save(tmp_path / "query.npy", np.load(tmp_path / "base.npy", mmap_mode="r")[::50000] + 1)
    assert (tmp_path / "base.npy").stat().st_size > 10 * left << 20
    command = [binary, "knn", "--base", "base.npy", "--query", "query.npy", "--k", 10,
               "--algorithm", "cpu/heap", "--threads", 1]
    subprocess.run([*map(str, command), *outputs("whole")], cwd=tmp_path, check=True,
                   capture_output=True)
    job = popen([*command, *outputs("tiles"), "--memory-limit", limit], cwd=tmp_path)
    assert 0 < peak_memory_until_end(job, lambda: [job.pid]) <= limit << 10
    assert job.returncode == 0, job.stderr.read()
    assert same(tmp_path, "tiles", "whole")
    if not has_mpi(binary):
        return
    job = popen(over(3, *command, *outputs("ranks"), "--memory-limit", limit, "--mpi"),
                cwd=tmp_path, env=clean_environment())
    assert 0 < peak_memory_until_end(job, lambda: ranks_of(job)) <= limit << 10
    assert job.returncode == 0, job.stderr.read()
    assert same(tmp_path, "ranks", "whole")


@pytest.mark.slow
def test_a_killed_job_resumes_where_it_was(kselect, here, binary, popen):
    command = [binary, *graph_of("base.npy"), *outputs("tiles"), *SMALL]

    def killed_thrice():
        """The tiles that are finished after three processes; None if one of them finished all."""
        before = 0
        for kill_after in (1, 3, 6):
            job = popen([*command, "--resume"], cwd=here)
            in_time = wait_for_tiles(here, "tiles", before + kill_after, job)
            job.kill()
            if job.wait(timeout=120) == 0 or not in_time:
                return None
            assert finished_tiles(here, "tiles") >= before + kill_after
            before = finished_tiles(here, "tiles")
            assert not (here / "tiles.i.npy").exists()
        return before

    before = first_in_time(killed_thrice)
    done = kselect(*command[1:], check=6)
    assert "--resume" in one_line(done.stderr)
    done = kselect(*graph_of("base.npy", k=6), *outputs("tiles"), *SMALL, "--resume", check=2)
    assert "its k is 5, now it is 6" in one_line(done.stderr)
    # With other tiles: the journal has queries, not numbers of tiles.
    done = kselect(*graph_of("base.npy"), *outputs("tiles"), *LIMIT, "--query-tile", 1024,
                   "--resume")
    assert f"{256 * before} done before" in done.stderr
    assert same(here, "tiles", "whole")
    assert "0 done" not in kselect(*command[1:], "--resume").stderr, "a new job once it was complete"


@pytest.mark.slow
def test_a_full_disk_loses_nothing(kselect, here, binary):
    def few_bytes():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    command = [*graph_of("base.npy"), *outputs("tiles"), *map(str, SMALL)]
    done = subprocess.run([binary, *command], cwd=here, text=True, capture_output=True,
                          preexec_fn=few_bytes, restore_signals=False, check=False)
    assert done.returncode == 6
    assert "tiles.i.npy.partial: cannot write" in done.stderr.splitlines()[-1]
    # 40 bytes a query: what went to the disk whole stays.
    kept = finished_tiles(here, "tiles")
    assert kept == 100_000 // (40 * 256)
    done = kselect(*command, "--resume")
    assert f"{256 * kept} done before" in done.stderr
    assert same(here, "tiles", "whole")


def test_bad_input(kselect, here):
    graph, out = graph_of("base.npy"), outputs("o")
    done = kselect(*graph, *out, "--memory-limit", 10, check=5)
    assert "raise --memory-limit by" in one_line(done.stderr)
    done = kselect(*graph, *out, "--query-tile", 256, check=2)
    assert "--memory-limit" in one_line(done.stderr)
    done = kselect(*graph_of("none.npy"), *out, *LIMIT, check=3)
    assert "none.npy" in one_line(done.stderr)
    done = kselect(*graph, *out, *LIMIT, "--half-product", check=2)
    assert "in memory" in one_line(done.stderr)
    done = kselect(*graph, *out, *LIMIT, "--block", 4, check=2)
    assert "--block is for a search in memory" in one_line(done.stderr)
    np.save(here / "other.npy", np.ones((4, 3), np.float32))
    done = kselect("knn", "--base", "base.npy", "other.npy", *graph[3:], *out, *LIMIT, check=3)
    assert "other.npy: has dimension 3" in one_line(done.stderr)
    done = kselect("knn", "--base", "base.npy", "--query", "other.npy", "--k", 1, "--algorithm",
                   "cpu/heap", *out, *LIMIT, check=3)
    assert "other.npy: has dimension 3, but base.npy has 96" in one_line(done.stderr)
    done = kselect(*graph_of("other.npy", k=4), *out, *LIMIT, check=2)
    assert "1 .. 3" in one_line(done.stderr)
    bad = np.load(here / "base.npy")
    bad[5000, 3] = np.nan
    np.save(here / "bad.npy", bad)
    done = kselect(*graph_of("bad.npy"), *out, *LIMIT, check=3)
    assert "bad.npy: vector 5000, component 3 is nan" in done.stderr.splitlines()[-1]
    assert not (here / "o.i.npy").exists()


def test_a_second_job_on_an_output_is_refused(kselect, here, binary, popen):
    graph = [*graph_of("base.npy"), "--limit", 2000]
    command = [*graph, *outputs("one"), *SMALL]
    (here / "link.i.npy").symlink_to("one.i.npy")

    def stopped():
        job = popen([binary, *command], cwd=here)
        in_time = wait_for_tiles(here, "one", 1, job)
        job.send_signal(signal.SIGSTOP)
        if in_time and not (here / "one.d.npy").exists():
            return job
        job.send_signal(signal.SIGCONT)
        job.wait(timeout=120)
        return None

    job = first_in_time(stopped)
    for other in (command, [*command, "--resume"], [*graph, *outputs("link"), *SMALL]):
        done = kselect(*other, check=6)
        assert ".npy: another job writes it; wait for it, or name another file" in one_line(done.stderr)
    job.send_signal(signal.SIGCONT)
    assert job.wait(timeout=120) == 0
    kselect(*graph, *outputs("memory"))
    assert same(here, "one", "memory")


def test_prepared_vectors(kselect, here):
    """The same answers from less to read; a damaged block is named, and none of it is used."""
    done = kselect("knn", "prepare", "base.npy", "--output", "base.kvec")
    assert "8000 vectors of dimension 96 as uint8: 0.7 MiB, before 2.9 MiB" in done.stdout
    graph = graph_of("base.kvec")
    kselect(*graph, *outputs("tiles"), *LIMIT, "--query-tile", 2048)
    assert same(here, "tiles", "whole")
    kselect(*graph, *outputs("memory"))
    assert same(here, "memory", "whole")
    data = bytearray((here / "base.kvec").read_bytes())
    data[4096 + 5000] ^= 1
    (here / "base.kvec").write_bytes(data)
    for options in (LIMIT, []):
        done = kselect(*graph, *outputs("bad"), *options, check=3)
        assert "base.kvec: the vectors from 0 to" in done.stderr.splitlines()[-1]
        assert not (here / "bad.i.npy").exists()


def test_what_prepare_refuses(kselect, here):
    prepare = ["knn", "prepare", "base.npy", "--output"]
    assert "name it so" in one_line(kselect(*prepare, "x.npy", check=6).stderr)
    assert "none.npy" in one_line(kselect("knn", "prepare", "none.npy", "--output", "x.kvec", check=3).stderr)
    assert "--output" in kselect("knn", "prepare", "base.npy", check=2).stderr
    before = kselect("knn", "--k", 5, "prepare", "base.npy", "--output", "x.kvec", check=2)
    assert "--k before `prepare` is of a search; leave it out" in one_line(before.stderr)
    kselect(*prepare, "base.kvec", "--limit", 5)
    assert "base.kvec" in one_line(kselect("knn", "prepare", "base.kvec", "--output", "base.kvec", check=2).stderr)
    assert "--k" in kselect("knn", "base.npy", "--self", check=2).stderr, "the search still wants its k"


def test_a_compressed_corpus_is_refused(kselect, here):
    image = struct.pack(">BBBBIII", 0, 0, 8, 3, 1, 2, 2) + bytes(4)
    (here / "x-idx3-ubyte.gz").write_bytes(gzip.compress(image))
    done = kselect(*graph_of("x-idx3-ubyte.gz"), *outputs("d"), *LIMIT, check=3)
    assert "x-idx3-ubyte.gz: is compressed" in one_line(done.stderr)
    assert "gunzip it first" in one_line(done.stderr)


def test_more_candidates_than_a_tile_has(kselect, here, binary):
    """k beyond a tile of the corpus, every vector a tie."""
    np.save(here / "ones.npy", np.ones((1500, 4), np.float32))
    graph = graph_of("ones.npy", k=1499, algorithm="cpu/sort")
    kselect(*graph, *outputs("a"))
    tiled = [*graph, *outputs("b"), "--threads", 1, "--query-tile", 256, "--memory-limit"]
    said = kselect(*tiled, 10, check=5).stderr
    missing = re.search(r"but 512 x 256 vectors .*; raise --memory-limit by (\d+) MiB", said)[1]
    kselect(*tiled, 10 + int(missing) + 3)  # sanitizers do not take the same memory each time
    assert same(here, "a", "b")
    assert (np.load(here / "b.i.npy")[7] == [i for i in range(1500) if i != 7]).all()


def test_the_program_runs_without_mpi(here, binary):
    linked = subprocess.run(["ldd", binary], capture_output=True, text=True, check=True).stdout
    assert "libmpi" not in linked
    alone = here / "bin" / "kselect"
    alone.parent.mkdir()
    shutil.copy(binary, alone)
    done = subprocess.run([alone, *graph_of("base.npy"), *outputs("mpi"), "--mpi"], cwd=here,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 4
    assert "this build has no MPI" in one_line(done.stderr)
