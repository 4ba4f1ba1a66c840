"""What surrounds the program may be broken: streams, outputs, inputs that others write to, workers that hang."""

import gzip
import json
import os
import resource
import signal
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest
from conftest import SMALL, first_in_time, one_line, records, wait_until
from knn_jobs import disturbed, outputs, popen, sanitized

__all__ = ["popen"]  # a fixture

KNN = ["knn", "--base", "base.npy", "--self", "--k", "3", "--algorithm", "cpu/heap"]
TILES = ["--memory-limit", "1000", "--threads", "1"]


@pytest.fixture
def base(tmp_path):
    """base.npy: 400 vectors."""
    vectors = np.random.default_rng(1).random((400, 8), np.float32)
    np.save(tmp_path / "base.npy", vectors)
    return vectors


@pytest.fixture
def shell(binary, tmp_path):
    """Runs `kselect ARGUMENTS REDIRECTIONS` in a shell."""

    def run(arguments, redirections):
        command = f'exec "$0" "$@" {redirections}'
        return subprocess.run(["bash", "-c", command, binary, *map(str, arguments)], cwd=tmp_path, timeout=120,
                              capture_output=True, text=True, check=False)

    return run


# ---- standard streams


@pytest.mark.parametrize("closed, code", [("<&- 2>&-", 0), ("<&- >&- 2>&-", 6)])
def test_closed_streams_do_not_become_results(shell, config, tmp_path, closed, code):
    done = shell(["run", config(), "--out", "o"], closed)
    assert done.returncode == code
    assert len(records(tmp_path / "o")) == 8


def test_a_closed_stderr_does_not_reach_the_record(shell, base, tmp_path):
    arguments = [*KNN, *TILES, "--indices", "i.npy", "--distances", "d.npy", "--record", "run"]
    assert shell(arguments, "2>&-").returncode == 0
    assert (tmp_path / "run" / "runs.jsonl").read_text().startswith('{"schema":1,"key":"')


def test_a_run_goes_on_when_nobody_reads_its_messages(binary, config, tmp_path):
    """As in `kselect run ... 2>&1 | head -1`."""
    config()
    command = '("$0" run small.json --out o 2>&1 >/dev/null; echo $? >code) | true'
    subprocess.run(["bash", "-c", command, binary], cwd=tmp_path, timeout=120, check=True)
    assert (tmp_path / "code").read_text() == "0\n"
    assert len(records(tmp_path / "o")) == 8


def test_output_that_is_lost_is_an_error(shell, kselect, config):
    select = ["select", "--input", "nope.npy", "--k", "1", "--algorithm", "cpu/sort"]
    assert shell(select, "2>/dev/full").returncode == 3
    for command in (["doctor"], ["--version"], ["list", "--help"]):
        done = shell(command, ">/dev/full")
        assert done.returncode == 6 and "standard output" in one_line(done.stderr)
    kselect("run", config(), "--out", "o")
    for form in ("csv", "markdown"):
        assert shell(["export", "o", "--format", form], ">/dev/full").returncode == 6


def test_a_limit_on_file_sizes_leaves_nothing(binary, base, tmp_path):
    command = [binary, *KNN, "--indices", "i.npy", "--distances", "d.npy"]
    done = subprocess.run(["bash", "-c", 'ulimit -f 4; exec "$0" "$@"', *command], cwd=tmp_path,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 6 and "File too large" in one_line(done.stderr)
    assert os.listdir(tmp_path) == ["base.npy"]


# ---- outputs


@pytest.mark.parametrize("tiles", [[], TILES])
def test_outputs_that_collide_are_refused(kselect, base, tmp_path, tiles):
    os.link(tmp_path / "base.npy", tmp_path / "same.npy")
    for indices, distances in (("x.npy", "x.npy"), ("x.npy", "./x.npy"), ("same.npy", "x.npy"),
                               ("x.npy", "base.npy")):
        done = kselect(*KNN, *tiles, "--indices", indices, "--distances", distances, check=2)
        assert "are the same file" in one_line(done.stderr)
    np.testing.assert_array_equal(np.load(tmp_path / "base.npy"), base)
    assert sorted(os.listdir(tmp_path)) == ["base.npy", "same.npy"]


def test_other_commands_keep_their_inputs_too(kselect, base, config, tmp_path):
    select = ["select", "--input", "base.npy", "--k", 2]
    for outputs in (["--values", "base.npy"], ["--values", "v.npy", "--indices", "v.npy"]):
        assert "are the same file" in one_line(kselect(*select, *outputs, check=2).stderr)
    build = ["index", "build", "--metric", "euclidean", "--kind", "sss", "--executor", "cpu", "--objects", "base.npy"]
    assert "are the same file" in one_line(kselect(*build, "--index", "base.npy", check=2).stderr)
    kselect("run", config(), "--out", "o")
    done = kselect("export", "o", "--format", "csv", "--output", "o/runs.jsonl", check=2)
    assert "are the same file" in one_line(done.stderr)


def test_select_writes_both_answers_or_none(kselect, base, tmp_path):
    kselect("select", "--input", "base.npy", "--k", 2, "--values", "v.npy", "--indices", "no/i.npy", check=6)
    assert os.listdir(tmp_path) == ["base.npy"]


# ---- inputs


def test_an_input_that_is_cut_is_an_error(binary, tmp_path):
    """Cut when the program has just opened it: at its first read of the end of the file."""
    rows = np.ones((4000, 4000), np.float32)
    command = [binary, "select", "--input", "rows.npy", "--k", "2000", "--algorithm", "cpu/sort", "--threads", "1",
               "--values", "v.npy"]

    def cut():
        np.save(tmp_path / "rows.npy", rows)
        (tmp_path / "v.npy").unlink(missing_ok=True)
        job = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
        maps = Path(f"/proc/{job.pid}/maps")
        wait_until(lambda: job.poll() is not None or "rows.npy" in maps.read_text())
        os.truncate(tmp_path / "rows.npy", 5000)
        said = job.communicate(timeout=120)[1]
        return None if job.returncode == 0 else (job.returncode, said)

    code, said = first_in_time(cut)
    assert code == 3 and "another process cut it" in one_line(said)
    assert not (tmp_path / "v.npy").exists()


def limited(mebibytes):
    """Limits the address space of a process that is being started."""
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (mebibytes << 20, mebibytes << 20))


def test_sizes_that_a_header_claims_take_no_memory(binary, tmp_path):
    if sanitized(binary):
        pytest.skip("sanitizers need address space of their own")
    # 200 MB of zeros that claim to be 203 MB, which are 812 MB as float32.
    head = bytes([0, 0, 8, 2]) + struct.pack(">2i", 203_000, 1000)
    with gzip.open(tmp_path / "a.idx.gz", "wb", compresslevel=9) as file:
        file.write(head)
        for _ in range(200):
            file.write(bytes(1_000_000))
    done = subprocess.run([binary, "knn", "--base", "a.idx.gz", "--self", "--k", "1", "--threads", "1", "--indices",
                           "i.npy", "--distances", "d.npy", "--executor", "cpu", "--algorithm", "cpu/heap"],
                          cwd=tmp_path, capture_output=True, text=True, check=False, preexec_fn=limited(500),
                          env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})
    assert done.returncode == 3 and "is truncated" in one_line(done.stderr)


def test_scratch_follows_the_work_and_not_the_threads(kselect, tmp_path):
    np.save(tmp_path / "base.npy", np.random.default_rng(1).random((20, 100), np.float32))
    kselect(*KNN, "--threads", 4096, "--indices", "i.npy", "--distances", "d.npy")
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 2 << 20  # KiB; it was 22 GB


def test_one_vector_that_changes_between_kill_and_resume_is_noticed(kselect, binary, popen, tmp_path):
    vectors = np.random.default_rng(1).random((6000, 256), np.float32)
    np.save(tmp_path / "base.npy", vectors)
    command = [*KNN, *TILES, "--query-tile", "256", *outputs("x")]
    disturbed(lambda: popen([binary, *command], cwd=tmp_path), tmp_path, "x", 2, lambda job: job.kill())
    times = os.stat(tmp_path / "base.npy")
    with open(tmp_path / "base.npy", "r+b") as file:
        file.seek(128 + (3210 * 256 + 17) * 4)
        file.write(struct.pack("f", -1))
    os.utime(tmp_path / "base.npy", ns=(times.st_atime_ns, times.st_mtime_ns))
    done = kselect(*command, "--resume", check=2)
    assert "is another job: its base is" in one_line(done.stderr.splitlines()[-1])


# ---- workers


@pytest.mark.slow
def test_a_stopped_worker_is_not_waited_for(binary, config, popen, tmp_path):
    # One cell, which would take minutes: its worker is there until it is given up.
    sweep = config(axes={"n": 1024, "q": 8, "k": 4}, algorithms=["cpu/heap"],
                   measure={"warmup": 0, "rounds": 5, "min_samples": 10**6, "max_samples": 10**6, "max_seconds": 600,
                            "timeout_s": 1})
    job = popen([binary, "run", sweep, "--out", "o"], cwd=tmp_path)
    children = Path(f"/proc/{job.pid}/task/{job.pid}/children")
    worker = wait_until(lambda: children.read_text().split())[0]
    # Before it is the worker, it is a copy of the parent, which waits for it to become one.
    # The word is an argument of its own: the folder of this test has it in its name.
    wait_until(lambda: b"worker" in Path(f"/proc/{worker}/cmdline").read_bytes().split(b"\0"))
    os.kill(int(worker), signal.SIGSTOP)
    assert job.wait(timeout=120) == 1
    assert [r["status"] for r in records(tmp_path / "o")] == ["timeout"]


# ---- a small stack


def test_a_small_stack_is_enough(binary, tmp_path, base):
    """The program makes itself a larger one."""
    config = SMALL | {"axes": {"n": 64, "q": 2, "k": 4}}
    (tmp_path / "small.json").write_text(json.dumps(config))
    small = lambda: resource.setrlimit(resource.RLIMIT_STACK, (64 << 10, 64 << 10))  # noqa: E731
    for number, command in enumerate([["run", "small.json", "--out", "o"],
                                      [*KNN, "--metric", "euclidean", "--indices", "i.npy", "--distances", "d.npy"],
                                      [*KNN, *TILES, "--metric", "euclidean", "--indices", "t.npy", "--distances",
                                       "e.npy"]]):
        done = subprocess.run([binary, *command], cwd=tmp_path, capture_output=True, text=True, timeout=120,
                              check=False, preexec_fn=small)
        assert done.returncode == 0, (number, done.returncode, done.stderr)
    assert [r["status"] for r in records(tmp_path / "o")] == ["ok", "ok"]
    assert (np.load(tmp_path / "i.npy") == np.load(tmp_path / "t.npy")).all()


# ---- threads and folders that cannot be had


def test_more_threads_than_can_be_started_are_an_error(binary, base, tmp_path):
    if sanitized(binary):
        pytest.skip("sanitizers need the address space")
    command = [binary, *KNN, "--indices", "i.npy", "--distances", "d.npy", "--threads", "4096"]
    done = subprocess.run(["bash", "-c", 'ulimit -v 8000000; exec "$0" "$@"', *command], cwd=tmp_path,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 5 and "--threads 4096: only" in one_line(done.stderr)


@pytest.mark.parametrize("mebibytes", [100, 150, 200, 300])
def test_little_address_space_ends_the_program_and_never_hangs_it(binary, tmp_path, mebibytes):
    """OpenBLAS's thread finds no memory for its buffer, and libgomp no thread, at different limits."""
    if sanitized(binary):
        pytest.skip("sanitizers need the address space")
    np.save(tmp_path / "rows.npy", np.zeros((2000, 9000), np.float32))
    done = subprocess.run([binary, "select", "rows.npy", "--k", "300", "--values", "v.npy"], cwd=tmp_path,
                          capture_output=True, text=True, timeout=30, check=False, preexec_fn=limited(mebibytes))
    if done.returncode == 127:
        pytest.skip("the libraries themselves do not fit")
    assert done.returncode in (0, 5), done.stderr
    assert (tmp_path / "v.npy").exists() == (done.returncode == 0)
    if done.returncode:
        assert done.stderr.splitlines()[-1].startswith("kselect: ")


def test_a_folder_that_cannot_be_made_is_named(kselect, config, base):
    done = kselect("noise", config(), "--out", "base.npy/noise", "--rounds", "2", check=6)
    assert one_line(done.stderr).startswith("kselect: base.npy: cannot create the directory")


def test_a_file_that_crashes_its_library_is_an_error_of_the_file(kselect, tmp_path):
    """libhdf5 1.10 reads through a null pointer for this one. A newer one may find the damage itself."""
    seed = Path(__file__).parents[1] / "fuzz" / "corpus" / "hdf5" / "heap_that_crashes_libhdf5"
    (tmp_path / "x.hdf5").write_bytes(seed.read_bytes())
    for more in ([], ["--memory-limit", "1000", "--indices", "i.npy", "--distances", "d.npy"]):
        done = kselect("knn", "--base", "x.hdf5", "--self", "--k", "1", *more, check=3)
        assert "x.hdf5: " in one_line(done.stderr)
