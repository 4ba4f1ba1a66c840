"""`kselect run --dry-run` says about how long the sweep will take."""

import re
import resource
import time

from conftest import SMALL

POLICY = SMALL["measure"] | {"rounds": 3, "min_samples": 3, "max_samples": 9, "max_seconds": 0.2}


def seconds(text: str) -> tuple[float, float]:
    """The least and the most of the line `estimate: 1 min 5 s to 2 min 0 s for ...`."""
    line = next(line for line in text.splitlines() if line.startswith("estimate: "))
    units = {"h": 3600, "min": 60, "s": 1}
    ends = re.match(r"estimate: (.+?) for \d+ cells", line).group(1).split(" to ")
    found = [sum(int(n) * units[u] for n, u in re.findall(r"(\d+) (h|min|s)\b", end)) for end in ends]
    return found[0], found[-1]


def test_grows_with_the_policy_and_the_cells(kselect, config):
    def estimate(n, rounds):
        path = config(axes={"n": n, "q": 256, "k": 8}, algorithms=["cpu/heap", "cpu/nth_element"],
                      measure=POLICY | {"rounds": rounds, "max_samples": 10 * rounds,
                                        "max_seconds": 1000})
        return seconds(kselect("run", path, "--dry-run").stderr)

    small, long, many = estimate(2**16, 3), estimate(2**18, 3), estimate(2**16, 30)
    assert small[0] < long[0] and small[0] < many[0] and small[1] < many[1]
    assert all(least <= most for least, most in (small, long, many))


def test_max_seconds_bounds_it(kselect, config):
    path = config(axes={"n": 2**20, "q": 64, "k": [8, 16]}, algorithms=["cpu/heap", "cpu/nth_element"],
                  measure=POLICY)
    least, most = seconds(kselect("run", path, "--dry-run").stderr)
    assert most <= 60  # 4 cells of 0.2 s, proofs and rows: not the minutes of 9 whole samples a cell


def test_is_near_what_a_sweep_takes(kselect, config):
    path = config(axes={"n": 2**16, "q": 64, "k": 16}, algorithms=["cpu/heap", "cpu/nth_element"],
                  measure=POLICY | {"max_seconds": 2, "rounds": 11, "max_samples": 110})
    least, most = seconds(kselect("run", path, "--dry-run").stderr)
    begin, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    kselect("run", path, "--out", "o", timeout=600)
    took, after = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    # Other programs may slow this machine by an order of magnitude, so the upper bound is of processor time.
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert least / 8 <= took and used <= 20 * max(most, 1)


def test_what_cannot_run_takes_no_time(kselect, config):
    path = config(algorithms=["cpu/sort"], axes={"n": "2^30", "q": 5000, "k": 4})
    assert "0 s for 0 cells" in kselect("run", path, "--dry-run").stderr
