"""What top_k refuses, and that a refusal or an error leaves nothing behind."""

import gc
import sys
import threading
import time

import numpy as np
import pytest
import reference

import kselect
from kselect import _select

ROWS = np.arange(12.0).reshape(3, 4)
BYTES = np.zeros(48, np.uint8)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((ROWS, -1), {}, ValueError, "k = -1"),
        ((ROWS, 5), {}, ValueError, "k = 5, but must be 0 to 4"),
        ((ROWS, 4), {"axis": 0}, ValueError, "k = 4, but must be 0 to 3"),
        ((ROWS, 2.0), {}, TypeError, "k is a float, but must be an integer"),
        ((ROWS, None), {}, TypeError, "k is a NoneType, but must be an integer"),
        ((ROWS, 2), {"axis": 2}, ValueError, "axis: axis 2 is out of bounds"),
        ((ROWS, 2), {"axis": -3}, IndexError, "axis: axis -3"),
        ((ROWS, 2), {"axis": 1.5}, TypeError, "axis is a float, but must be an integer"),
        ((np.float64(3), 1), {}, ValueError, "axis -1 is out of bounds"),
        ((np.zeros((3, 0)), 1), {}, ValueError, "k = 1, but must be 0 to 0"),
        ((ROWS, 2), {"mode": "best"}, ValueError, "mode is 'best'"),
        ((ROWS, 2), {"mode": ["largest"]}, ValueError, "mode is"),
        ((ROWS, 2), {"index_dtype": np.int16}, ValueError, "index_dtype is"),
        ((ROWS, 2), {"index_dtype": "float32"}, ValueError, "index_dtype is"),
        ((ROWS, 2), {"index_dtype": []}, ValueError, "index_dtype is"),
        ((ROWS, 2), {"threads": 0}, ValueError, "threads = 0"),
        ((ROWS, 2), {"threads": 1 << 70}, ValueError, f"threads = {1 << 70}, but must be 1 to 4096"),
        ((ROWS, 2), {"threads": "2"}, TypeError, "threads is a str, but must be an integer"),
        ((ROWS, 2), {"lengths": [1, 2, 3], "fill": 0.5}, TypeError, "fill is a float, but must be an integer"),
        ((ROWS, 2), {"lengths": [1, 2, 3], "max_length": "4"}, TypeError, "max_length is a str"),
        ((ROWS, 2), {"stream": 1}, ValueError, "stream is given, but a is in host memory"),
        ((ROWS.astype(int), 2), {}, TypeError, "a has dtype int64"),
        ((ROWS.astype(complex), 2), {}, TypeError, "a has dtype complex128"),
        ((["x", "y"], 1), {}, TypeError, "a has dtype str"),
        ((None, 1), {}, TypeError, "a has dtype object"),
        ((np.ma.masked_greater(ROWS, 3), 2), {}, TypeError, "a is a masked array"),
        ((ROWS, 2), {"out": np.empty((3, 2))}, TypeError, "out is not a tuple"),
        ((ROWS, 2), {"out": (np.empty((3, 3)), np.empty((3, 2), int))}, ValueError, "out: values have shape"),
        ((ROWS, 2), {"out": (np.empty((3, 2)), np.empty((2, 3), int))}, ValueError, "out: indices have shape"),
        ((ROWS, 2), {"out": (np.empty((3, 2), "f4"), np.empty((3, 2), int))}, TypeError, "out: values have dtype"),
        ((ROWS, 2), {"out": (np.empty((3, 2)), np.empty((3, 2), "i2"))}, ValueError, "index_dtype"),
        ((ROWS, 2), {"out": ([], np.empty((3, 2), int))}, TypeError, "out: values are a list"),
        ((ROWS, 2), {"out": (None, np.empty((3, 2), int))}, TypeError, "out: values are None"),
        ((ROWS, 2), {"out": (np.empty((3, 2)), None)}, TypeError, "out: indices are None"),
        ((ROWS, 2), {"out": (BYTES.view("f8").reshape(3, 2), BYTES.view("i8").reshape(3, 2))}, ValueError,
         "out: values and indices share memory"),
        ((ROWS, 2), {"workspace": np.empty(9, "f4")}, TypeError, "workspace is not a dense array of uint8"),
        ((ROWS, 2), {"workspace": (1,)}, TypeError, "workspace is a tuple, not a ndarray"),
        ((ROWS, 2), {"workspace": "x", "indices_only": True}, TypeError, "workspace is a str"),
        (([[1.0], [2.0, 3.0]], 1), {}, ValueError, "a cannot be made an array"),
        ((ROWS, 2), {"lengths": [[1], [2, 3]]}, ValueError, "lengths cannot be made an array"),
        ((ROWS, 2), {"axis": None, "offsets": [[1], [2, 3]]}, ValueError, "offsets cannot be made an array"),
        ((np.ones((9, 9000)), 99), {"workspace": np.empty(1, "u1")}, ValueError, "workspace has 1 bytes"),
    ],
)
def test_refusals(arguments, options, error, message):
    with pytest.raises(error, match=message.replace("(", r"\(")):
        kselect.top_k(*arguments, **options)


def test_read_only_outputs_are_refused():
    out = np.empty((3, 2)), np.empty((3, 2), np.int64)
    out[1].flags.writeable = False
    with pytest.raises(ValueError, match="out: indices are read-only"):
        kselect.top_k(ROWS, 2, out=out)


def test_outputs_may_lie_where_the_call_reads():
    """An output over the rows, or over their lengths, is written when both have been read."""
    rows, lengths = np.random.default_rng(3).random((3, 9)), np.array([[2, 4], [9, 0], [3, 1]])
    given = {"lengths": lengths.reshape(-1)[:3].copy()}
    values, indices = kselect.top_k(rows, 2, **given)
    memory = lengths.copy()
    kselect.top_k(rows, 2, lengths=memory.reshape(-1)[:3], out=(rows.reshape(-1)[:6].reshape(3, 2), memory))
    assert (rows.reshape(-1)[:6].reshape(3, 2) == values).all() and (memory == indices).all()


def test_outputs_of_the_other_byte_order():
    out = np.empty((3, 2), ">f8"), np.empty((3, 2), np.int64)
    assert (kselect.top_k(ROWS, 2, out=out).values == kselect.top_k(ROWS, 2).values).all()


@pytest.mark.parametrize("most", [1 << 62, 1 << 70])
def test_a_maximum_beyond_the_array_is_its_length(most):
    found = kselect.top_k(ROWS, 2, axis=None, offsets=[0, 3, 9], max_length=most)
    assert (found.values == kselect.top_k(ROWS, 2, axis=None, offsets=[0, 3, 9]).values).all()


def test_a_small_workspace_is_said_in_words_of_python():
    with pytest.raises(ValueError, match=r"bytes, but \d+ are needed, as workspace_bytes of such a kselect.plan"):
        kselect.top_k(np.ones((9, 9000)), 99, workspace=np.empty(1, "u1"))


def test_the_extension_checks_its_outputs():
    """Whatever the Python side gives it, it writes no byte beyond an output."""
    values, indices = np.empty((3, 2)), np.empty((3, 2), np.int64)
    flags = 1 | 16
    good = [ROWS, 2, 1, flags, values, indices, None, 1, 0]
    assert _select.top_k(*good)
    for place, bad in (
        (0, b"bytes"), (0, 5), (1, 9), (1, 0), (2, 2), (2, -1), (3, 99), (4, np.empty((3, 1))), (4, values[:, ::-1]),
        (4, values.astype("f4")), (5, np.empty((3, 2), "i4")), (5, np.empty(5, np.int64)), (6, values), (7, -1),
        (4, np.empty((3, 4))[:, :2]), (4, bytes(48)), (5, None), (8, -1),
    ):
        given = list(good)
        given[place] = bad
        with pytest.raises((TypeError, ValueError)):
            _select.top_k(*given)
    with pytest.raises(TypeError, match="9 arguments"):
        _select.top_k(*good[:-1])
    assert _select.top_k(ROWS[:, ::-1], *good[1:]) is False


def test_calls_leave_no_references():
    a, values, indices = ROWS.copy(), np.empty((3, 2)), np.empty((3, 2), np.int64)
    held = [a, values, indices]
    before = [sys.getrefcount(one) for one in held]
    for _ in range(50):
        kselect.top_k(a, 2, out=(values, indices))
        kselect.top_k(a, 2)
        for options in ({"k": 9}, {"k": 2, "out": (indices, values)}, {"k": 2, "workspace": values}):
            with pytest.raises((TypeError, ValueError)):
                kselect.top_k(a, options.pop("k"), **options)
    del options  # which has an output
    gc.collect()  # the last error's frames
    assert [sys.getrefcount(one) for one in held] == before


def test_errors_release_the_buffers():
    """A bytearray whose buffer is still held cannot grow."""
    a, workspace = bytearray(8), bytearray(1)
    rows = memoryview(a).cast("f")
    for arguments in (
        (rows, 1, 0, 16, np.empty(1, "f4"), np.empty(1, np.int64), workspace, 1, 0),
        (rows, 9, 0, 16, np.empty(1, "f4"), np.empty(1, np.int64), workspace, 1, 0),
        (rows, 1, 0, 16, np.empty(1, "f8"), np.empty(1, np.int64), workspace, 1, 0),
    ):
        try:
            _select.top_k(*arguments)
        except (TypeError, ValueError):
            pass
        workspace.append(0)
    rows.release()
    a.append(0)


def test_the_interpreter_runs_during_a_selection():
    a = np.random.default_rng(1).random((40, 1_000_000), np.float32)
    span = []
    clock = time.process_time  # it stands still while all of this process is stopped

    def select():
        span.append(clock())
        kselect.top_k(a, 1000, threads=1)
        span.append(clock())

    other = threading.Thread(target=select)
    ticks = []
    other.start()
    while other.is_alive():
        ticks.append(clock())
        time.sleep(0)
    other.join()
    begin, end = span
    margin = (end - begin) / 5
    assert any(begin + margin < tick < end - margin for tick in ticks)


def test_two_threads_at_once():
    random = np.random.default_rng(4)
    problems = [random.random((30, 2000 + 100 * i)) for i in range(4)]
    wrong = []

    def select(a):
        try:
            for _ in range(20):
                reference.check(a, kselect.top_k(a, 50, threads=2), 50, -1, "largest", True, False)
        except BaseException as error:  # a test's assertion is of a thread here
            wrong.append(error)

    threads = [threading.Thread(target=select, args=(a,)) for a in problems]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_an_output_whose_elements_share_memory_is_refused(library):
    """Rows would overwrite each other's answers."""
    a = np.random.default_rng(3).random((6, 50), np.float32)
    indices = np.zeros((6, 2), np.int64)
    values = np.lib.stride_tricks.as_strided(np.zeros(20, np.float32), (6, 2), (4, 4))
    if library == "torch":
        torch = pytest.importorskip("torch")
        a, indices, values = torch.as_tensor(a), torch.as_tensor(indices), torch.zeros(1, 2).expand(6, 2)
    with pytest.raises(ValueError, match="elements of values share memory with each other"):
        kselect.top_k(a, 2, out=(values, indices))
    for fits in (np.zeros((2, 6), np.float32).T, np.zeros((6, 8), np.float32)[::-1, ::-4]):
        if library == "torch" and min(fits.strides) < 0:
            continue  # torch has no negative strides
        out = torch.as_tensor(fits) if library == "torch" else fits
        assert np.array_equal(kselect.top_k(a, 2, out=(out, indices))[0], kselect.top_k(a, 2)[0])
