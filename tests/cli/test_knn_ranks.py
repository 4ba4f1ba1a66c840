"""`kselect knn --mpi` and `--ranks` on one machine: the same answer, and every failure ends all."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest
from conftest import records
from knn_jobs import (await_end, clean_environment, disturbed, finished_tiles, graph_of, has_mpi, here, make_graph,
                      make_vectors, outputs, over, peak_memory_until_end, popen, ranks_in, ranks_of,
                      resident_mib, same, sanitized)

__all__ = ["here", "popen"]  # fixtures

BOUND = ["--memory-limit", 1000]
LIMIT = ["--mpi", *BOUND]
SMALL = [*LIMIT, "--query-tile", 256]

both_ways = pytest.mark.parametrize("way", ["mpi", "threads"])


@pytest.fixture(autouse=True)
def _needs_mpi(request, binary):
    threads = getattr(request.node, "callspec", None) and request.node.callspec.params.get("way")
    if threads != "threads" and not has_mpi(binary):
        pytest.skip("built without MPI, or no mpirun")


@pytest.fixture(scope="module")
def data(binary, tmp_path_factory):
    return make_graph(tmp_path_factory.mktemp("mpi"), binary, 7000)


def run(here, *command, timeout=300):
    """Runs to the end; lines of mpirun's own are left out of stderr."""
    done = subprocess.run([str(c) for c in command], cwd=here, text=True, capture_output=True,
                          timeout=timeout, env=clean_environment(), check=False)
    done.said = [line for line in done.stderr.splitlines() if line.startswith("kselect")]
    return done


@both_ways
@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_ranks_find_what_one_process_finds(here, binary, ranks, way):
    done = run(here, *ranks_in(way, ranks, binary, *graph_of("base.npy"), *outputs("mpi"), *BOUND,
                               "--query-tile", 2048))
    assert done.returncode == 0, done.stderr
    assert same(here, "mpi", "whole")
    assert f"on {ranks} rank" in done.stdout and done.stdout.count("\n") == 1


@both_ways
@pytest.mark.parametrize("ranks", [2, 3])
def test_products_in_float16_have_the_bits_of_one_search(here, binary, way, ranks):
    """On fibers. Each rank's part is long enough for products to filter."""
    vectors = np.random.default_rng(6).integers(0, 9, (ranks * 4608, 12)).astype(np.float32)
    np.save(here / "long.npy", vectors)
    np.save(here / "query.npy", vectors[::700] + 1)
    command = [binary, "knn", "--base", "long.npy", "--query", "query.npy", "--k", 7, "--executor",
               "fiber", "--product", "float16", "--threads", 1]
    assert run(here, *command, *outputs("one")).returncode == 0
    done = run(here, *ranks_in(way, ranks, *command, *outputs("mpi"), "--memory-limit", 4000,
                               "--record", "run"))
    assert done.returncode == 0, done.stderr
    assert same(here, "one", "mpi")
    assert f"all proven by products in float16; on {ranks} ranks" in done.stdout
    (cell,) = records(here / "run")
    assert cell["algorithm"]["settings"]["product"] == "float16" and cell["verify"]["before"]
    assert [r["rows_proven"] for r in cell["ranks"]] == [len(vectors[::700])] * ranks
    assert all(r["product_flop_per_s"] is None for r in cell["ranks"]), "on a host: none"


@pytest.mark.parametrize("asked", [None, "active"])
def test_idle_threads_of_ranks_sleep_unless_asked_otherwise(here, binary, asked):
    """libgomp shows its settings whenever a program is loaded. The last program is the one that searches."""
    environment = clean_environment() | {"OMP_DISPLAY_ENV": "true"}
    environment.pop("OMP_WAIT_POLICY", None)
    if asked:
        environment["OMP_WAIT_POLICY"] = asked
    done = subprocess.run([str(word) for word in (binary, *graph_of("base.npy"), *outputs("idle"), *BOUND,
                                                  "--ranks", 2)],
                          cwd=here, text=True, capture_output=True, timeout=120, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    policies = [line.split("'")[1] for line in done.stderr.splitlines() if "OMP_WAIT_POLICY" in line]
    assert policies[-1] == (asked or "passive").upper()
    assert same(here, "idle", "whole")


@both_ways
def test_ranks_share_bounds_of_neighbours(here, binary, way):
    """On fibers, with so little of their memory that the part of each rank is cut into tiles."""
    vectors = np.random.default_rng(8).normal(size=(27000, 12)).astype(np.float32)
    np.save(here / "long.npy", vectors)
    np.save(here / "query.npy", vectors[::900] + 1)
    command = [binary, "knn", "--base", "long.npy", "--query", "query.npy", "--k", 9, "--executor", "fiber",
               "--product", "float16", "--threads", 1]
    assert run(here, *command, *outputs("one")).returncode == 0
    done = run(here, *ranks_in(way, 2, *command, *outputs("mpi"), *BOUND, "--memory", 9, "--record", "run"))
    assert done.returncode == 0, done.stderr
    assert same(here, "one", "mpi")
    (cell,) = records(here / "run")
    assert all(rank["corpus_tiles"] > 1 and not rank["resident"] for rank in cell["ranks"])


@both_ways
def test_queries_of_another_file(here, binary, way):
    rng = np.random.default_rng(5)
    np.save(here / "query.npy", rng.integers(0, 50, (333, 96)).astype(np.float32))
    command = [binary, "knn", "--base", "base.npy", "--query", "query.npy", "--k", 600,
               "--metric", "euclidean", "--algorithm", "cpu/sort"]
    assert run(here, *command, *outputs("one")).returncode == 0
    assert run(here, *ranks_in(way, 3, *command, *outputs("mpi"), *BOUND)).returncode == 0
    assert same(here, "one", "mpi")


@both_ways
def test_the_record_tells_of_every_rank(here, binary, way):
    for _ in range(2):
        done = run(here, *ranks_in(way, 3, binary, *graph_of("base.npy"), *outputs("mpi"), *BOUND,
                                   "--record", "run"))
        assert done.returncode == 0, done.stderr
    before, cell = records(here / "run")
    assert cell["algorithm"]["settings"]["exchange"] == "host"
    assert cell["problem"]["n"] == 7000 and cell["problem"]["k"] == 5
    assert before["key"] == cell["key"] and len(cell["time"]["rounds"]) == 2, "a round a search"
    assert cell["time"]["rounds"][0] == before["time"]["median"]
    stages = cell["stages"]
    assert all(len(stage["rounds"]) == 2 for stage in stages.values())
    of_time = sum(stage["median"] for stage in stages.values() if stage["of_time"])
    assert 0 < of_time <= cell["time"]["max"] * 1.001
    assert stages["exchange"]["median"] > 0 and not stages["exchange"]["of_time"], "in the background"
    ranks = cell["ranks"]
    assert stages["compute_slowest"]["rounds"][1] == pytest.approx(
        max(r["time"]["nearest"] - r["time"]["read_wait"] for r in ranks), abs=1)
    assert [r["rank"] for r in ranks] == [0, 1, 2] == [r["local_rank"] for r in ranks]
    assert [r["process_ranks"] for r in ranks] == [3 if way == "threads" else 1] * 3
    assert sum(r["vectors"] for r in ranks) == 7000
    assert sum(r["bytes_read"] for r in ranks) == 7000 * 96 * 4, "each part once"
    for rank in ranks:
        time = rank["time"]
        waits = sum(time[f"{what}_wait"] for what in ("queries", "lists", "ranks", "write"))
        assert 0 < time["nearest"] + waits <= time["search"] * 1.001
        assert time["setup"] > 0 and time["queries"] > 0 and time["exchange"] > 0 and time["merge"] > 0
        assert rank["gpu_time"] is None and rank["host"]["cpu"]
    assert ranks[0]["time"]["write"] > 0 == ranks[1]["time"]["write"]
    meta = json.loads((here / "run" / "meta.json").read_text())
    assert meta["git"] and meta["build"] and meta["state"] == "complete"


def test_a_record_is_a_run(here, binary):
    """Its cells are compared and shown; a folder of others is refused, before the search."""
    for folder in ("a", "b"):
        job = [binary, *graph_of("base.npy"), *outputs(folder), *BOUND, "--record", folder]
        assert run(here, *job).returncode == 0
    compared = run(here, binary, "compare", "a", "b")
    assert compared.returncode == 3, compared.stdout + compared.stderr
    assert "1 inconclusive" in compared.stdout, "a round each"
    assert run(here, binary, "show", "a").returncode == 0
    meta = json.loads((here / "a" / "meta.json").read_text())
    meta["git"]["commit"] = "0" * 40
    (here / "a" / "meta.json").write_text(json.dumps(meta))
    done = run(here, binary, *graph_of("base.npy"), *outputs("no"), *BOUND, "--record", "a")
    assert done.returncode == 6 and "a has records of another build" in done.stderr
    assert not (here / "no.i.npy").exists()
    (here / "b" / "meta.json").write_text(json.dumps(meta | {"config": {"name": "b"}}))
    done = run(here, binary, *graph_of("base.npy"), *outputs("no"), *BOUND, "--record", "b")
    assert done.returncode == 6 and "b has records of a sweep" in done.stderr


def test_killing_the_threads_process_loses_nothing(here, binary, popen):
    command = [binary, *graph_of("base.npy"), *outputs("mpi"), *BOUND, "--query-tile", 256, "--ranks", 3]
    job = disturbed(lambda: popen(command, cwd=here), here, "mpi", 3, lambda job: job.kill())
    assert job.returncode == -signal.SIGKILL
    before = finished_tiles(here, "mpi")
    done = run(here, binary, *graph_of("base.npy"), *outputs("mpi"), *BOUND, "--ranks", 2, "--resume",
               "--record", "run")
    assert done.returncode == 0 and f"{256 * before} done before" in done.stderr
    assert same(here, "mpi", "whole")
    assert "not recorded" in done.stderr, "the time is of a part of the search"
    assert not records(here / "run")


@pytest.mark.slow
def test_threads_share_the_memory_limit(binary, tmp_path, popen):
    if sanitized(binary):
        pytest.skip("sanitizers need memory of their own")
    limit = 120 + resident_mib(binary)
    make_vectors(tmp_path / "base.npy", 150_000, 512)  # 293 MiB
    np.save(tmp_path / "query.npy", np.load(tmp_path / "base.npy", mmap_mode="r")[::5000] + 1)
    command = [binary, "knn", "--base", "base.npy", "--query", "query.npy", "--k", 10,
               "--algorithm", "cpu/heap", "--threads", 1]
    subprocess.run([*map(str, command), *outputs("whole")], cwd=tmp_path, check=True,
                   capture_output=True)
    job = popen([*command, *outputs("ranks"), "--memory-limit", limit, "--ranks", 2], cwd=tmp_path)
    assert 0 < peak_memory_until_end(job, lambda: [job.pid]) <= limit << 10
    assert job.returncode == 0, job.stderr.read()
    assert same(tmp_path, "ranks", "whole")


def signal_rank(job, rank, sign):
    """Sends a signal to a rank of three under mpirun, and waits until all are gone."""
    pids = ranks_of(job)
    with contextlib.suppress(IndexError, ProcessLookupError):  # the search has just ended
        os.kill(pids[rank], sign)
    await_end(job, pids, 120)


@pytest.mark.slow
@pytest.mark.parametrize("victim", [0, 2])
def test_killing_a_rank_ends_all_and_a_restart_completes(here, binary, popen, victim):
    command = over(3, binary, *graph_of("base.npy"), *outputs("mpi"), *SMALL, "--resume")
    disturbed(lambda: popen(command, cwd=here, env=clean_environment()), here, "mpi", 3,
              lambda job: signal_rank(job, victim, signal.SIGKILL))
    before = finished_tiles(here, "mpi")
    assert before >= 3
    done = run(here, *command)
    assert done.returncode == 0, done.stderr
    assert f"{256 * before} done before" in done.stderr
    assert same(here, "mpi", "whole")


@pytest.mark.slow
def test_a_rank_that_hangs_is_named_and_ends_all(here, binary, popen):
    search = [binary, *graph_of("base.npy"), *outputs("mpi"), *SMALL]
    # Longer than three processes of a loaded machine take to start.
    command = over(3, *search, "--wait-limit", 6)
    job = disturbed(lambda: popen(command, cwd=here, env=clean_environment()), here, "mpi", 2,
                    lambda job: signal_rank(job, 1, signal.SIGSTOP))
    said = job.stderr.read()
    assert "rank 1 of 3" in said, said
    assert run(here, *over(2, *search, "--resume")).returncode == 0, "with other ranks"
    assert same(here, "mpi", "whole")


@pytest.mark.slow
def test_a_rank_with_another_request_or_file_is_named(here, binary):
    graph = [binary, *graph_of("base.npy"), *LIMIT]
    done = run(here, *over(2, *graph, *outputs("mpi")), ":", "-n", 1,
                  binary, *graph_of("base.npy", k=6), *LIMIT, *outputs("mpi"))
    assert done.returncode == 2
    assert len(done.said) == 1 and "rank 2 of 3" in done.said[0]
    assert "its k is 6, but rank 0 of 3" in done.said[0]
    make_vectors(here / "other.npy", 7000, 96, seed=1)
    done = run(here, *over(1, *graph, *outputs("mpi")), ":", "-n", 1,
                  binary, *graph_of("other.npy"), *LIMIT, *outputs("mpi"))
    assert done.returncode == 2
    assert "rank 1 of 2" in done.said[0] and "its base is" in done.said[0]
    done = run(here, *over(1, *graph, *outputs("mpi")), ":", "-n", 1,
                  binary, *graph_of("none.npy"), *LIMIT, *outputs("mpi"))
    assert done.returncode == 3
    assert "rank 1 of 2" in done.said[0] and "none.npy" in done.said[0]
    assert not (here / "mpi.i.npy").exists() and not list(here.glob("*.job"))


@pytest.mark.parametrize("row", [0, 4321, 6999])
def test_a_rank_whose_copy_differs_in_one_vector_is_named(here, binary, row):
    """All bytes of an input are compared, whatever the files are called."""
    vectors = np.load(here / "base.npy")
    np.save(here / "copy.npy", vectors)
    graph = [binary, *graph_of("base.npy"), *LIMIT, *outputs("mpi")]
    other = [binary, *graph_of("copy.npy"), *LIMIT, *outputs("mpi")]
    done = run(here, *over(1, *graph), ":", "-n", 1, *other)
    assert done.returncode == 0, done.stderr  # a copy is the same input
    vectors[row, 5] += 1
    np.save(here / "copy.npy", vectors)
    done = run(here, *over(1, *graph), ":", "-n", 1, *other)
    assert done.returncode == 2
    assert len(done.said) == 1 and "rank 1 of 2" in done.said[0] and "its base is" in done.said[0]


def test_another_program(here, binary):
    """A copy of the program that says another commit."""
    commit = subprocess.run([binary, "--version"], capture_output=True, text=True,
                            check=True).stdout.split("commit ")[1][:12]
    if "unknown" in commit:
        pytest.skip("not built from a git checkout")
    other = here / "bin" / "kselect"
    other.parent.mkdir()
    program = Path(binary).read_bytes()
    assert commit.encode() in program
    other.write_bytes(program.replace(commit.encode(), b"0123456789ab"))
    other.chmod(0o755)
    shutil.copy(Path(binary).parent / "kselect_mpi.so", other.parent)
    tail = [*graph_of("base.npy"), *LIMIT, *outputs("mpi")]
    done = run(here, *over(1, binary, *tail), ":", "-n", 1, other, *tail)
    assert done.returncode == 2
    assert "rank 1 of 2" in done.said[0] and "its program is" in done.said[0]


@pytest.mark.slow
def test_processes_that_were_not_asked_to_share(here, binary):
    graph = [binary, *graph_of("base.npy"), *outputs("mpi")]
    for options in ([], ["--memory-limit", 400], ["--ranks", 2]):
        done = run(here, *over(2, *graph, *options))
        assert done.returncode == 2 and "add --mpi" in done.said[0]


@pytest.mark.slow
@both_ways
def test_errors_on_all_ranks_are_said_once(here, binary, way):
    graph = [binary, *graph_of("base.npy"), *outputs("mpi")]
    done = run(here, *ranks_in(way, 3, *graph, "--memory-limit", 20))
    assert done.returncode == 5 and len(done.said) == 1 and "--memory-limit" in done.said[0]
    make_vectors(here / "few.npy", 700, 8)
    done = run(here, *ranks_in(way, 3, binary, *graph_of("few.npy"), *outputs("mpi"), *BOUND))
    assert done.returncode == 2 and len(done.said) == 1 and "at most 2 ranks" in done.said[0]
    (here / "directory").mkdir()
    done = run(here, *ranks_in(way, 2, binary, *graph_of("base.npy"), *BOUND, "--indices",
                               "directory", "--distances", "d.npy"))
    assert done.returncode == 6 and len(done.said) == 1 and "rank 0 of 2" in done.said[0]


def gpus():
    """How many GPUs this machine has."""
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return 0
    return listed.stdout.count("GPU ")


def gpus_in(way, *command):
    """The command that starts a rank on every GPU."""
    return over(gpus(), *command, "--mpi") if way == "mpi" else [*command, "--gpus", "all"]


@both_ways
@pytest.mark.parametrize("exchange", ["host", "nccl"])
@pytest.mark.parametrize("memory", [0, 64])
def test_gpus_find_what_the_cpu_finds(here, binary, exchange, memory, way):
    """Bit by bit, since the components are small integers; skipped without two GPUs.

    With 64 MiB of device memory several tiles of queries and corpus meet.
    """
    if gpus() < 2:
        pytest.skip("fewer than two GPUs")
    done = run(here, *gpus_in(way, binary, *graph_of("base.npy", algorithm="qms-block"),
                              "--executor", "cuda", *outputs("mpi"), "--memory-limit",
                              4000 * gpus(), "--query-tile", 2048, "--exchange", exchange,
                              "--memory", memory))
    if exchange == "nccl" and done.returncode == 4:
        pytest.skip(done.said[0])
    assert done.returncode == 0, done.stderr
    assert same(here, "mpi", "whole")


@pytest.mark.parametrize("way", ["threads"])
def test_gpus_are_of_this_machine(here, binary, way):
    command = [binary, *graph_of("base.npy", algorithm="auto"), *outputs("mpi")]
    for wrong, code, says in [("0", 2, "a number of GPUs"), ("some", 2, "a number of GPUs"),
                              ("9999", 4, "--gpus"), ("all", 4, "cannot run here")]:
        if wrong == "all" and gpus() > 0:
            continue
        done = run(here, *command, "--gpus", wrong)
        assert done.returncode == code and says in done.stderr, wrong
    done = run(here, *command, "--gpus", "all", "--executor", "cpu")
    assert done.returncode == 2 and "--ranks" in done.said[0]
    assert run(here, *command, "--gpus", "1", "--ranks", 2).returncode == 2
    assert run(here, *command, "--mpi", "--ranks", 2).returncode == 2


@both_ways
def test_nccl_is_for_gpus(here, binary, way):
    done = run(here, *ranks_in(way, 2, binary, *graph_of("base.npy"), *outputs("mpi"), *BOUND,
                               "--exchange", "nccl"))
    assert done.returncode == 4 and len(done.said) == 1
    assert "NCCL is for executor cuda" in done.said[0]


@both_ways
def test_an_error_in_the_midst_names_its_rank(here, binary, way):
    base = np.load(here / "base.npy")
    base[6500, 3] = np.nan  # in the last rank's part
    np.save(here / "bad.npy", base)
    np.save(here / "query.npy", base[:10])
    done = run(here, *ranks_in(way, 3, binary, "knn", "--base", "bad.npy", "--query", "query.npy",
                               "--k", 3, "--algorithm", "cpu/heap", *outputs("mpi"), *BOUND))
    assert done.returncode == 3
    assert len(done.said) == 1 and "rank 2 of 3" in done.said[0]
    assert "vector 6500, component 3 is nan" in done.said[0]


@pytest.mark.slow
@both_ways
def test_a_full_disk_ends_all_ranks(here, binary, way):
    small = [*graph_of("base.npy"), *outputs("mpi"), *BOUND, "--query-tile", 256]
    done = run(here, *ranks_in(way, 2, "bash", "-c", 'trap "" XFSZ; ulimit -f 60; exec "$@"',
                               "bash", binary, *small))
    assert done.returncode == 6
    assert "rank 0 of 2" in done.said[0] and "cannot write" in done.said[0]
    kept = finished_tiles(here, "mpi")
    assert kept >= 1
    done = run(here, *ranks_in(way, 2, binary, *small, "--resume"))
    assert done.returncode == 0 and f"{256 * kept} done before" in done.stderr
    assert same(here, "mpi", "whole")
