"""`python -m plots.answer`: who won where, ties told from wins, and by how much."""

import pytest

from plots import answer
from plots.baseline import Baseline
from plots.errors import PlotError
from plots.records import Record, Run, Timing


def cell(name, n, k, low, median, high, q=1):
    """A timed cell; times in ns."""
    run = Run(1, "run", "cpu", "", "", False, "complete")
    return Record(
        run=run, key=f"{name}{n}{q}{k}", status="ok", reason="", n=n, q=q, k=k, dtype="float32",
        index="int32", direction="smallest", payload="values", layout="row_major", pitch=0, seed=1,
        workload="uniform", algorithm=name, family=name, source_hash="", executor="cpu", threads=1,
        time=Timing("wall", median, low, high),
    )


def test_a_win_is_counted_and_compared():
    records = [cell("fast", 100, 1, 9, 10, 11), cell("slow", 100, 1, 39, 40, 41)]
    (contest,) = answer.contests(records, Baseline("slow", records))
    assert contest.winners == {"fast"}
    assert contest.factor == 4


def test_overlapping_intervals_are_a_tie():
    records = [cell("a", 100, 1, 9, 10, 12), cell("b", 100, 1, 11.5, 13, 14)]
    (contest,) = answer.contests(records, Baseline("b", records))
    assert contest.winners == {"a", "b"}
    assert contest.best.algorithm == "a"


def test_at_most_a_dozen_lines_by_the_finest_axes():
    def lines(ns, ks):
        records = [cell("a", n, k, 9, 10, 11) for n in ns for k in ks]
        return answer.lines(answer.contests(records, Baseline("a", records)))

    axes, found = lines(range(1, 4), range(1, 5))
    assert axes == ("n", "Q", "k") and len(found) == 12
    axes, found = lines(range(1, 5), range(1, 5))
    assert axes == ("n", "Q") and [line.problems for line in found] == [4] * 4
    axes, found = lines(range(1, 20), [1])
    assert axes == () and found[0].problems == 19


def test_the_table_says_it_all():
    records = [
        cell(name, n, 1, 0.9 * t, t, 1.1 * t)
        for n in (10, 1000)
        for name, t in (("fast", 10.0 * n), ("cpu/nth_element", 40.0 * n))
    ]
    text = answer.table(records, "cpu/nth_element").splitlines()
    assert text[0].split() == ["n", "Q", "k", "fastest", "in", "time", "times", "as", "fast", "as",
                               "cpu/nth_element"]
    assert text[1].split() == ["10", "1", "1", "fast", "1", "of", "1", "100", "ns", "4.00"]
    assert text[2].split() == ["1,000", "1", "1", "fast", "1", "of", "1", "10", "us", "4.00"]
    assert text[-1].startswith("fast is the fastest, or level with it, in 2 of 2 problems. ")
    assert "4.00 times as fast as cpu/nth_element in geometric mean (4.00 to 4.00)" in text[-1]


def test_nothing_timed_is_an_error():
    with pytest.raises(PlotError, match="no cell has a time"):
        answer.table([], None)


def test_times_have_units_that_fit():
    assert [answer._time(t) for t in (1.5, 999, 1000, 2.5e6, 3e9)] == [
        "1.5 ns", "999 ns", "1 us", "2.5 ms", "3 s",
    ]
