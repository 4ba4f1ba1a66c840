"""Standard input and output, pipes and FIFOs in place of files."""

import io
import os
import subprocess
import threading

import numpy as np
import pytest
from conftest import one_line

RNG = np.random.default_rng(3)
ROWS = RNG.random((9, 500), dtype=np.float32)


def npy(array) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


@pytest.fixture
def piped(binary, tmp_path):
    """Runs kselect with bytes on standard input; returns the finished process, its output as bytes."""

    def run(*arguments, given=b"", check=0):
        done = subprocess.run([binary, *map(str, arguments)], cwd=tmp_path, input=given, capture_output=True,
                              timeout=120, check=False)
        assert done.returncode == check, done.stderr
        return done

    return run


def array_of(output: bytes):
    stream = io.BytesIO(output)
    array = np.load(stream)
    assert stream.read() == b"", "something stands behind the array"
    return array


def test_a_pipe_in_and_a_pipe_out(piped):
    done = piped("select", "-", "--k", 8, "--sorted", "--algorithm", "cpu/sort", "--values", "-", given=npy(ROWS))
    np.testing.assert_array_equal(array_of(done.stdout), np.sort(ROWS, axis=1)[:, :8])
    assert b"proven" in done.stderr, "messages must not lie among the array's bytes"


def test_the_line_of_the_documents(binary, tmp_path):
    np.save(tmp_path / "rows.npy", ROWS)
    subprocess.run(["bash", "-c", f"set -o pipefail; cat rows.npy | {binary} select - --k 8 --values - > v.npy"],
                   cwd=tmp_path, check=True, capture_output=True)
    np.testing.assert_array_equal(np.sort(np.load(tmp_path / "v.npy"), axis=1), np.sort(ROWS, axis=1)[:, :8])


def test_bytes_that_trickle(binary, tmp_path):
    """A pipe gives what is there, not what is asked for."""
    content = npy(ROWS)
    program = subprocess.Popen([binary, "select", "-", "--k", "3", "--indices", "i.npy", "--algorithm", "cpu/sort"],
                               cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    for start in (0, 1, 5, 9, 11, 40, 127, 129, 4000):
        end = {0: 1, 1: 5, 5: 9, 9: 11, 11: 40, 40: 127, 127: 129, 129: 4000}.get(start, len(content))
        program.stdin.write(content[start:end])
        program.stdin.flush()
    program.stdin.close()
    assert program.wait(120) == 0
    np.testing.assert_array_equal(np.load(tmp_path / "i.npy"), np.argsort(ROWS, axis=1, kind="stable")[:, :3])


def test_fifos_by_name(kselect, tmp_path):
    for name in ("in.npy", "out.npy"):
        os.mkfifo(tmp_path / name)
    found = []
    threads = [threading.Thread(target=lambda: (tmp_path / "in.npy").write_bytes(npy(ROWS))),
               threading.Thread(target=lambda: found.append((tmp_path / "out.npy").read_bytes()))]
    for thread in threads:
        thread.daemon = True  # it waits for ever for a program that has failed
        thread.start()
    kselect("select", "in.npy", "--k", 5, "--indices", "out.npy", "--algorithm", "cpu/sort")
    for thread in threads:
        thread.join(60)
    np.testing.assert_array_equal(array_of(found[0]), np.argsort(ROWS, axis=1, kind="stable")[:, :5])


def test_process_substitution(binary, tmp_path):
    np.save(tmp_path / "rows.npy", ROWS)
    subprocess.run(
        ["bash", "-c", f"{binary} select <(cat rows.npy) --k 4 --values >(cat > part; mv part v.npy) && "
                       "for ((i = 0; i < 600; i++)); do [ -e v.npy ] && break; sleep 0.1; done"],
        cwd=tmp_path, check=True, capture_output=True)
    assert np.load(tmp_path / "v.npy").shape == (9, 4)


def test_a_redirected_file_is_read_where_it_is(binary, tmp_path):
    np.save(tmp_path / "rows.npy", ROWS)
    with (tmp_path / "rows.npy").open("rb") as file:
        done = subprocess.run([binary, "select", "-", "--k", "2"], stdin=file, capture_output=True, text=True,
                              cwd=tmp_path, check=True)
    assert "9 x 2 values" in done.stdout


def test_knn_prove_generate_and_index(piped, tmp_path):
    base, queries = RNG.random((200, 4), dtype=np.float32), RNG.random((3, 4), dtype=np.float32)
    np.save(tmp_path / "base.npy", base)
    done = piped("knn", "base.npy", "-", "--k", 5, "--indices", "-", given=npy(queries))
    distances = ((queries[:, None].astype(np.float64) - base[None]) ** 2).sum(2)
    np.testing.assert_array_equal(array_of(done.stdout), np.argsort(distances, axis=1, kind="stable")[:, :5])
    np.save(tmp_path / "q.npy", queries)
    again = piped("knn", "-", "q.npy", "--k", 5, "--indices", "-", given=npy(base))
    assert again.stdout == done.stdout

    made = piped("generate", "rows", "--n", 300, "--q", 4, "--output", "-").stdout
    values = piped("select", "-", "--k", 6, "--values", "-", given=made).stdout
    (tmp_path / "rows.npy").write_bytes(made)
    assert b"proven" in piped("prove", "rows.npy", "-", given=values).stdout
    piped("prove", "-", "-", given=values, check=2)

    piped("index", "build", "-", "base.kidx", "--metric", "euclidean", "--kind", "sss", given=npy(base))
    done = piped("index", "knn", "base.kidx", "-", "--k", 5, "--indices", "-", given=npy(queries))
    assert array_of(done.stdout).shape == (3, 5) and b"queries proven" in done.stderr
    words = b"kitten\nsitting\nmitten\n"
    piped("index", "build", "-", "w.kidx", "--metric", "levenshtein", "--kind", "none", given=words)
    done = piped("index", "knn", "w.kidx", "-", "--k", 1, "--json", "-", given=b"kitten\n")
    assert b'"kitten"' in done.stdout


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (b"", "standard input: is empty"),
        (b"1,2,3\n", "standard input: is not an npy file"),
        (npy(ROWS)[:-5], "standard input: is truncated"),
        (npy(ROWS)[:70], "standard input: "),
        (npy(ROWS)[:9], "truncated within its npy header"),
        (npy(ROWS) + b"more", "bytes after its 18000 bytes of data"),
        (npy(ROWS.astype(np.int64)), "standard input: holds int64"),
    ],
)
def test_bad_streams(piped, tmp_path, given, said):
    done = piped("select", "-", "--k", 2, "--values", "v.npy", given=given, check=3)
    assert said in one_line(done.stderr.decode())
    assert list(tmp_path.iterdir()) == []


def test_what_a_header_claims_takes_no_memory(piped):
    literal = b"{'descr': '<f4', 'fortran_order': False, 'shape': (900000, 50000000), }"
    whole = b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little") + literal.ljust(117) + b"\n"
    done = piped("select", "-", "--k", 2, given=whole + b"0" * 100, check=5)
    assert "does not fit into" in one_line(done.stderr.decode())


def test_an_endless_stream_ends(binary, tmp_path):
    """Not an array: refused by its first bytes. An array: read to its end and no further."""
    with open("/dev/zero", "rb") as zeros:
        done = subprocess.run([binary, "select", "-", "--k", "2"], stdin=zeros, capture_output=True, text=True,
                              timeout=120, check=False)
    assert done.returncode == 3 and "bad magic" in one_line(done.stderr)
    np.save(tmp_path / "rows.npy", ROWS)
    done = subprocess.run(["bash", "-c", f"cat rows.npy /dev/zero | {binary} select - --k 2"], cwd=tmp_path,
                          capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 3 and "after its 18000 bytes" in done.stderr


def test_one_standard_stream_serves_one_file(piped, tmp_path):
    np.save(tmp_path / "rows.npy", ROWS)
    done = piped("select", "rows.npy", "--k", 2, "--values", "-", "--indices", "-", check=2)
    assert "both -" in one_line(done.stderr.decode()) and done.stdout == b""
    done = piped("knn", "-", "-", "--k", 2, given=npy(ROWS), check=2)
    assert "both -" in one_line(done.stderr.decode())


def test_where_a_stream_will_not_do(piped, tmp_path):
    np.save(tmp_path / "base.npy", ROWS)
    for line in (["knn", "base.npy", "--self", "--k", 2, "--memory-limit", 2048, "--indices", "-", "--distances", "d.npy"],
                 ["knn", "-", "base.npy", "--k", 2, "--memory-limit", 2048, "--indices", "i.npy", "--distances", "d.npy"],
                 ["index", "build", "base.npy", "-", "--metric", "euclidean", "--kind", "none"]):
        done = piped(*line, given=npy(ROWS), check=2)
        assert "will not do here; name a file" in one_line(done.stderr.decode())
        assert done.stdout == b""
    assert {path.name for path in tmp_path.iterdir()} == {"base.npy"}


def test_a_wrong_answer_puts_nothing_into_the_pipe(tmp_path):
    planted = os.environ["KSELECT_PLANTED"]
    np.save(tmp_path / "rows.npy", ROWS)
    done = subprocess.run([planted, "select", "rows.npy", "--k", "2", "--algorithm", "planted/no-op",
                           "--values", "-"], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 7 and done.stdout == b""


def test_a_reader_that_leaves_and_a_full_device(binary, tmp_path):
    np.save(tmp_path / "rows.npy", ROWS)
    with open("/dev/full", "wb") as full:
        done = subprocess.run([binary, "select", "rows.npy", "--k", "2", "--values", "-"], cwd=tmp_path,
                              stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 6 and "standard output: cannot write" in done.stderr


def test_a_terminal_is_no_place_for_arrays(binary, tmp_path):
    import pty

    np.save(tmp_path / "rows.npy", ROWS)
    ours, theirs = pty.openpty()
    try:
        for line, names in ((["-", "--k", "2"], "standard input"), (["rows.npy", "--k", "2", "--values", "-"], "standard output")):
            done = subprocess.run([binary, "select", *line], cwd=tmp_path, stdin=theirs, stdout=theirs,
                                  stderr=subprocess.PIPE, text=True, timeout=120, check=False)
            assert done.returncode == 2 and f"{names}: is a terminal" in one_line(done.stderr)
    finally:
        os.close(ours)
        os.close(theirs)
