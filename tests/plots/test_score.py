"""The board's scores: shares, failures, coverage, lent ceilings, and which records count."""

import math
from pathlib import Path

import pytest
from plots.board.arena import Arena, current, leaderboards, place
from plots.board.gather import gather
from plots.errors import PlotError

from conftest import CONTENDERS, JsonObject, cell, problem, write_run

FAST, SLOW = CONTENDERS[2], CONTENDERS[3]
LIMITED = CONTENDERS[6]  # k <= 512
UNIFORM = [problem(1 << e, 64, k) for e in (12, 14) for k in (16, 1024)]
TIED = [what | {"distribution": "all_equal"} for what in UNIFORM]


def timed(contender: object, what: JsonObject, ns: float, share: float | None) -> JsonObject:
    """Return a cell with a median and a share that are known."""
    record = cell(contender, what)  # type: ignore[arg-type]
    record["time"] |= {"median": ns, "ci95": [ns * 0.99, ns * 1.01]}
    record["floor"] = share and {"bytes": 1, "ceiling": "read", "share": share}
    return record


def boards(tmp_path: Path) -> dict[tuple[int | None, str], dict[str, object]]:
    """Return the scores of the runs in a folder by grid and algorithm."""
    placed = place(gather([tmp_path]))
    found = leaderboards(placed, current(placed))
    return {(b.run, b.group): {s.algorithm: s for s in b.scores} for b in found if b.alone or b.run is None}


def test_a_score_is_the_geometric_mean_of_shares_and_missing_lowers_coverage(tmp_path: Path) -> None:
    cells = [timed(FAST, what, 100, s) for what, s in zip(UNIFORM, (0.9, 0.4, 0.9, 0.4), strict=True)]
    cells += [timed(LIMITED, UNIFORM[i], 200, 0.2) for i in (0, 2)]
    cells += [cell(LIMITED, UNIFORM[i], "unsupported", "k > 512") for i in (1, 3)]
    write_run(tmp_path / "run", cells)
    scores = boards(tmp_path)[0, "uniform"]
    fast, limited = scores[FAST.name], scores[LIMITED.name]
    assert fast.mean == pytest.approx(0.6)
    assert (fast.worst_share, fast.coverage, fast.wins, fast.failed) == (0.4, 1.0, 4, 0)
    assert fast.worst.k == 1024
    assert limited.mean == pytest.approx(0.2)
    assert (limited.coverage, limited.failed, limited.wins) == (0.5, 0, 0)
    assert limited.beside == pytest.approx(0.5)


@pytest.mark.parametrize("status", ["wrong", "error", "timeout", "out_of_memory", "implausible"])
def test_a_failure_makes_the_score_zero(tmp_path: Path, status: str) -> None:
    cells = [timed(FAST, what, 100, 0.9) for what in UNIFORM[:3]]
    write_run(tmp_path / "run", [*cells, cell(FAST, UNIFORM[3], status, "it failed")])
    score = boards(tmp_path)[0, "uniform"][FAST.name]
    assert (score.mean, score.worst_share, score.failed, score.coverage) == (0.0, 0.0, 1, 0.75)
    assert score.solved_mean == pytest.approx(0.9)
    assert (score.worst.n, score.worst.k) == (1 << 14, 1024)


def test_throttling_is_the_machine_s_and_no_failure(tmp_path: Path) -> None:
    cells = [timed(FAST, UNIFORM[0], 100, 0.9), cell(FAST, UNIFORM[1], "throttled", "hot")]
    write_run(tmp_path / "run", cells)
    score = boards(tmp_path)[0, "uniform"][FAST.name]
    assert (score.mean, score.coverage) == (pytest.approx(0.9), 0.5)


def test_order_and_ties_are_scored_on_top_of_uniform_rows(tmp_path: Path) -> None:
    cells = [timed(FAST, what, 100, 0.8) for what in UNIFORM]
    cells += [timed(FAST, what, 400, 0.2) for what in TIED]
    cells += [timed(SLOW, what, 200, 0.4) for what in (*UNIFORM, *TIED)]
    write_run(tmp_path / "run", cells)
    found = boards(tmp_path)
    assert found[0, "uniform"][FAST.name].mean == pytest.approx(0.8)
    assert found[0, "orders"][FAST.name].mean == pytest.approx(0.4)
    assert found[0, "orders"][FAST.name].worst.input == "all_equal"
    assert found[0, "orders"][SLOW.name].wins == 4
    # A grid of uniform rows alone has no second leaderboard.
    write_run(tmp_path / "run", cells[:4])
    assert {group for _, group in boards(tmp_path)} == {"uniform"}


def test_a_peer_without_a_ceiling_borrows_one_of_the_same_problem(tmp_path: Path) -> None:
    write_run(tmp_path / "ours", [timed(FAST, UNIFORM[0], 100, 0.5)], started="2026-11-20T10:00:00Z")
    other = [timed(SLOW, UNIFORM[0], 400, None), timed(SLOW, UNIFORM[1], 400, None)]
    other[0]["problem"]["index"] = "int64"  # as torch has it: the same problem
    write_run(tmp_path / "peer", other, started="2026-11-21T10:00:00Z")
    score = boards(tmp_path)[None, "uniform"][SLOW.name]
    assert score.mean == pytest.approx(0.5 * 100 / 400)
    assert (score.solved, score.shares) == (2, 1)


def test_a_small_block_in_the_caches_is_no_ceiling(tmp_path: Path) -> None:
    old = timed(FAST, UNIFORM[0], 100, 0.5)
    old["floor"]["ceiling"] = "cached_read"
    write_run(tmp_path / "run", [old])
    score = boards(tmp_path)[0, "uniform"][FAST.name]
    assert (score.mean, score.worst_share, score.coverage) == (None, None, 1.0)


def test_the_newest_run_counts_and_those_that_cover_little_come_last(tmp_path: Path) -> None:
    write_run(tmp_path / "b", [timed(FAST, w, 100, 0.5) for w in UNIFORM], started="2026-11-20T10:00:00Z")
    write_run(tmp_path / "a", [timed(FAST, w, 50, 1.0) for w in UNIFORM[:2]], started="2026-11-22T10:00:00Z")
    write_run(tmp_path / "c", [timed(SLOW, UNIFORM[0], 50, 1.0)], started="2026-11-22T10:00:01Z")
    everything = boards(tmp_path)[None, "uniform"]
    assert everything[FAST.name].mean == pytest.approx(math.sqrt(0.5))
    assert list(everything) == [FAST.name, SLOW.name]  # the second has the better score on a quarter
    placed = place(gather([tmp_path]))
    assert sorted(p.record.time.median for p in current(placed)) == [50, 50, 50, 100, 100]


def test_a_run_s_grid_is_scored_by_its_own_records_and_by_those_that_count(tmp_path: Path) -> None:
    old = [timed(FAST, w, 100, 0.5) for w in UNIFORM[:2]] + [timed(SLOW, w, 200, 0.25) for w in UNIFORM]
    write_run(tmp_path / "old", old, started="2026-11-20T10:00:00Z")
    new = [timed(FAST, w, 50, 1.0) for w in UNIFORM]
    write_run(tmp_path / "new", new, started="2026-11-22T10:00:00Z")
    placed = place(gather([tmp_path]))
    found = {
        (b.run, b.alone): {s.algorithm: (s.mean, s.solved) for s in b.scores}
        for b in leaderboards(placed, current(placed))
    }
    assert found[0, True] == {SLOW.name: (0.25, 4), FAST.name: (0.5, 2)}
    assert found[0, False] == {FAST.name: (1.0, 4), SLOW.name: (0.25, 4)}
    assert found[1, True] == {FAST.name: (1.0, 4)}
    assert found[1, False] == found[0, False]


def test_devices_and_answers_are_apart(tmp_path: Path) -> None:
    values = problem(4096, 64, 16, payload="values")
    write_run(tmp_path / "gpu", [timed(FAST, UNIFORM[0], 100, 0.5), timed(FAST, values, 90, 0.5)])
    write_run(tmp_path / "host", [timed(CONTENDERS[0], UNIFORM[0], 900, 0.5)])
    arenas = {p.arena for p in place(gather([tmp_path]))}
    host = "Intel Xeon Platinum 8480+, 16 threads"
    assert arenas == {
        Arena("NVIDIA H200", "float32", "values_and_indices", "smallest"),
        Arena("NVIDIA H200", "float32", "values", "smallest"),
        Arena(host, "float32", "values_and_indices", "smallest"),
    }


def test_runs_are_found_two_folders_deep_and_damage_costs_one_run(tmp_path: Path) -> None:
    for place_ in ("machine/run", "machine/ab/rounds/new-001"):
        write_run(tmp_path / place_, [timed(FAST, UNIFORM[0], 100, 0.5)])
    broken = write_run(tmp_path / "machine" / "broken", [timed(FAST, w, 100, 0.5) for w in UNIFORM])
    data = bytearray((broken / "runs.jsonl").read_bytes())
    data[10] ^= 1
    (broken / "runs.jsonl").write_bytes(data)
    found = gather([tmp_path])
    assert found.names == ["machine/run"]
    assert "broken/runs.jsonl:1: the checksum does not match" in found.failures[0]
    with pytest.raises(PlotError, match="no such folder of runs"):
        gather([tmp_path / "none"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(PlotError, match="no run of a sweep"):
        gather([tmp_path / "empty"])
