"""Causes: what each kind finds in records, and what it concludes from the numbers."""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from plots.errors import PlotError
from plots.reproduce import causes, claims, manifest
from plots.reproduce.library import Library
from plots.reproduce.work import read_work

from conftest import JsonObject, write_run
from test_claims import COSTS, claim, exact, experiment, source, timed

AT = [(1024, 8, 16)]  # old takes 6 times as long as new


def told(
    tmp_path: Path, cells: Sequence[JsonObject], cause: dict[str, Any], **changes: Any
) -> str:
    """Return what a claim of 60 times says of its only cause."""
    asked = claim("speed-up", "40 .. 90", "> 1", of=["new"], over=["old"])
    asked = dataclasses.replace(asked, published=60.0, causes=(cause,), **changes)
    made = source(tmp_path, cells)
    evidence = causes.Evidence(Library(tmp_path), read_work(tmp_path / "counters.json"))
    found = claims.test(experiment(), asked, made, evidence)
    assert found.verdict == "same direction, other size"
    return " ".join(found.causes)


def confined(
    tmp_path: Path, speed_up: float, at: Sequence[tuple[int, int, int]] = tuple(AT)
) -> None:
    """Write the same problem on 16 multiprocessors, where old takes so many times as long."""
    costs = {"new": lambda *_: 100.0, "old": lambda *_: 100.0 * speed_up}
    part = {"used": 16, "of": 132}
    cells = [c | {"multiprocessors": part} for c in timed(costs, at)]
    write_run(tmp_path / "here" / "causes_x_16mp", cells, multiprocessors=part)


MP = {"kind": "multiprocessors", "record": "causes_x", "multiprocessors": 16}


@pytest.mark.parametrize(
    ("speed_up", "conclusion"),
    [
        (55.0, "within the band, so the number of multiprocessors makes the difference."),
        (20.0, "a factor of 3 from the paper's instead of 10, so the number of multiprocessors is "
               "a part of the difference."),
        (5.0, "no nearer to the paper's, so it is not the number of multiprocessors."),
    ],
)  # fmt: skip
def test_the_same_measure_on_fewer_multiprocessors(
    tmp_path: Path, speed_up: float, conclusion: str
) -> None:
    confined(tmp_path, speed_up)
    text = told(tmp_path, timed(COSTS, AT), MP)
    assert text.startswith(f"Confined to 16 of 132 multiprocessors it is {speed_up:.3g} (")
    assert text.endswith(conclusion)


def test_another_problem_on_fewer_multiprocessors_is_said(tmp_path: Path) -> None:
    confined(tmp_path, 55.0, [(4096, 8, 16)])
    only = {"ask": {"of": ["new"], "over": ["old"]}}
    text = told(tmp_path, timed(COSTS, AT), MP, **only)
    assert text.endswith("; but the problem differs, too, from n = 2^10, Q = 8, k = 16.")


def test_a_tie_on_fewer_multiprocessors_decides_nothing_and_says_why(tmp_path: Path) -> None:
    confined(tmp_path, 1.02)
    asked = claim("speed-up", "40 .. 90", "", of=["new"], over=["old"])
    asked = dataclasses.replace(asked, published=60.0, causes=(MP,))
    made = source(tmp_path, timed(COSTS, AT))
    found = claims.test(experiment(), asked, made, causes.Evidence(Library(tmp_path)))
    assert found.verdict == "contradicted"
    assert found.causes[0].endswith(": that decides nothing: a tie, 1.02×.")


def test_confined_cells_bear_no_verdict(tmp_path: Path) -> None:
    confined(tmp_path, 55.0)
    one = experiment(config="causes_x_16mp")
    found = [s.records for s in Library(tmp_path).sources(one)]
    assert found == [()]


def test_a_processors_cells_stand_beside_confined_ones(tmp_path: Path) -> None:
    confined(tmp_path, 1.0)
    on_cpu = [c | {"executor": "cpu"} for c in timed({"slow": lambda *_: 7000.0}, AT)]
    asked = claim("speed-up", "60 .. 90", "> 1", of=["new"], over=["slow"])
    asked = dataclasses.replace(asked, published=70.0, causes=(MP,))
    made = source(tmp_path, [*timed({"new": lambda *_: 10.0}, AT), *on_cpu])
    found = claims.test(experiment(), asked, made, causes.Evidence(Library(tmp_path)))
    assert found.causes[0].startswith("Confined to 16 of 132 multiprocessors it is 70 (")


def test_what_is_not_recorded_is_said(tmp_path: Path) -> None:
    assert told(tmp_path, timed(COSTS, AT), MP) == (
        "*Not shown yet:* configs/causes_x.json on 16 multiprocessors is not yet recorded."
    )
    stalls = {"kind": "stalls", "record": "causes_x"}
    text = told(tmp_path, timed(COSTS, AT), stalls)
    assert text == "*Not shown yet:* results/*/causes_x/stalls.csv is not yet recorded for here."


def test_a_step_is_one_problem_with_and_without_it(tmp_path: Path) -> None:
    cells = timed({**COSTS, "old+skip": lambda n, q, k: 20.0 * n * q}, AT)
    step = {"kind": "step", "says": "skipping", "of": ["old+skip"], "over": ["old"]}
    assert told(tmp_path, cells, step) == (
        "Skipping: at n = 2^10, Q = 8, k = 16 old takes 3 times as long as old+skip; the paper and "
        "we are a factor of 10 apart."
    )


def test_the_same_claim_elsewhere(tmp_path: Path) -> None:
    cells = timed(COSTS, [*AT, (8192, 8, 16)])  # there 48 times
    asked = {"kind": "again", "says": "longer rows", "where": {"n": 8192}}
    only = {"ask": {"of": ["new"], "over": ["old"], "where": {"n": 1024}}}
    text = told(tmp_path, cells, asked, **only)
    assert text.startswith("With longer rows it is 48 (")
    assert text.endswith("within the band, so longer rows makes the difference.")


def test_the_ceiling_says_what_the_papers_number_would_need(tmp_path: Path) -> None:
    (mine, other) = timed(COSTS, AT)
    mine["floor"]["share"], other["floor"]["share"] = 0.3, 0.05
    assert told(tmp_path, [mine, other], {"kind": "ceiling"}) == (
        "At n = 2^10, Q = 8, k = 16 new moves its least bytes at 30 % of the read ceiling and old at "
        "5 %; 60 times this baseline would be 300 % of the ceiling, more than the memory gives."
    )


def counters(tmp_path: Path, problem: str, **by_algorithm: dict[str, int]) -> None:
    """Write the record of counted work."""
    cells = [
        {"algorithm": name, "problem": problem, "counters": counts}
        for name, counts in by_algorithm.items()
    ]
    (tmp_path / "counters.json").write_text(json.dumps({"cells": cells}))


def test_work_is_counted_at_the_deciding_point_alone(tmp_path: Path) -> None:
    work = {"new": {"bytes_read": 100, "queue_updates": 7}, "old": {"bytes_read": 400}}
    counters(tmp_path, "float32/Q=32/n=1024/k=16/column_major/uniform#42", **work)
    text = told(tmp_path, timed(COSTS, AT), {"kind": "work"})
    assert text == "Counted at n = 2^10, k = 16, old has 4 times the bytes read of new."
    counters(tmp_path, "float32/Q=32/n=1024/k=8/column_major/uniform#42", **work)
    text = told(tmp_path, timed(COSTS, AT), {"kind": "work"})
    assert text == "*Not shown yet:* no work of new is counted at n = 2^10, k = 16."
    counters(tmp_path, "float32/Q=32/n=1024/k=16/ties#42", **work)
    assert "no work of new" in told(tmp_path, timed(COSTS, AT), {"kind": "work"})


def test_work_of_other_numbers_of_rows_is_compared_by_the_row(tmp_path: Path) -> None:
    made = [
        exact(one, 1.0) | {"time": None, "floor": None, "executor": "fiber", "counters": count}
        for one, count in zip(
            timed({"new": lambda *_: 1.0}, [(1024, 32, 16)]) + timed({"old": lambda *_: 1.0}, AT),
            ({"queue_updates": 320}, {"queue_updates": 160}),
            strict=True,
        )
    ]
    write_run(tmp_path / "cpu" / "causes_work", made)
    text = told(tmp_path, timed(COSTS, AT), {"kind": "work", "record": "causes_work"})
    assert text == "Counted at n = 2^10, k = 16, old has 2 times the queue updates of new."


def test_rounds_far_from_the_median_are_counted(tmp_path: Path) -> None:
    (mine,) = timed({"new": lambda *_: 100.0}, AT)
    mine["time"]["rounds"] = [100.0, 101.0, 99.0, 100.0, 100.5, 99.5, 100.0, 100.0, 100.0, 150.0]
    asked = claim("spread", "0 .. 0.005", "< 0.5", of=["new"], unit="%")
    asked = dataclasses.replace(asked, causes=({"kind": "rounds"},))
    made = source(tmp_path, [mine])
    found = claims.test(experiment(), asked, made, causes.Evidence(Library(tmp_path)))
    assert found.verdict == "same direction, other size"
    assert "Of the 10 rounds at n = 2^10, Q = 8, k = 16 1 are more than 5 %" in found.causes[0]
    assert "without them the deviation is 0.56 %" in found.causes[0]


@pytest.mark.parametrize(
    ("bandwidth", "change", "conclusion"),
    [(1.0, "25 %", "within the band"), (100.0, "187 %", "no nearer to the paper's")],
)
def test_distances_may_be_as_slow_as_a_memory(
    tmp_path: Path, bandwidth: float, change: str, conclusion: str
) -> None:
    costs = {"new": lambda n, q, k: 100.0 if k == 8 else 300.0}
    rows = {"copies": 1, "fresh": True, "distances": {"median": 50.0, "samples": [50.0]}}
    cells = [made | {"inputs": rows} for made in timed(costs, [(700, 1, 8), (700, 1, 16)])]
    asked = claim("variation", "0.17 .. 0.38", "> 0.1", of=["new"], along="k")
    slow = {"kind": "distances", "bytes": 1, "bandwidth": bandwidth, "says": "slow distances"}
    asked = dataclasses.replace(asked, published=0.25, causes=(slow,))
    write_run(tmp_path / "here" / "some_config", cells)
    one = experiment(with_distances=True)
    (made,) = Library(tmp_path).sources(one)
    found = claims.test(one, asked, made, causes.Evidence(Library(tmp_path)))
    assert found.verdict == "same direction, other size"
    assert f"With slow distances it would be {change} (" in found.causes[0]
    assert conclusion in found.causes[0]


def test_stalls_are_named_from_their_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    table = tmp_path / "results" / "here-x2" / "causes_x" / "stalls.csv"
    table.parent.mkdir(parents=True)
    table.write_text(
        "algorithm,n,q,k,payload,warps_per_multiprocessor,stall_1,share_1,stall_2,share_2\n"
        "new,1024,8,16,values,2.25,long_scoreboard,0.5,barrier,0.3\n"
        "old,1024,8,8,values,,barrier,0.9,,\nold,1024,8,16,values,,wait,0.9,,\n"
    )
    cause = {"kind": "stalls", "record": "causes_x"}
    text = told(tmp_path, timed(COSTS, AT), {**cause, "of": ["new"], "over": ["old"]})
    assert text == (
        "By the profiler at n = 1024, q = 8, k = 16: new waits mostly for long scoreboard (50%) and "
        "barrier (30%) with 2.25 warps a multiprocessor; old waits mostly for wait (90%)."
    )


def test_counted_work_is_read_by_the_row(tmp_path: Path) -> None:
    counters(tmp_path, "Q=4/n=64/k=8/uniform#1", a={"x": 2})
    assert read_work(tmp_path / "counters.json") == {"a": {(64, 8): {"x": 0.5}}}
    assert read_work(tmp_path / "none.json") == {}
    (tmp_path / "counters.json").write_text("[]")
    with pytest.raises(PlotError, match=r"counters\.json: no record of counted work"):
        read_work(tmp_path / "counters.json")


def test_every_kind_of_cause_is_known() -> None:
    assert set(causes._KINDS) == set(manifest.CAUSES)
