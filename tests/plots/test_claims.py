"""Claims: what each measure finds, and the verdicts."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from plots.errors import PlotError
from plots.records import load as load_run
from plots.reproduce import causes, claims, document, manifest
from plots.reproduce.cells import Missing
from plots.reproduce.library import Library, Source
from plots.reproduce.measures import measure

from conftest import CONTENDERS, JsonObject, cell, problem, write_run

PAPER = manifest.Paper("K", "A paper", "a card")


def contender(name: str, cost: Any, **changes: Any) -> Any:
    """Return an algorithm with a time of its own, in ns over (n, Q, k)."""
    return dataclasses.replace(CONTENDERS[2], name=name, cost=cost, **changes)


def exact(made: JsonObject, nanoseconds: float) -> JsonObject:
    """Return a cell whose time is exactly this, without noise."""
    time = made["time"] | {"median": nanoseconds, "ci95": [nanoseconds * 0.99, nanoseconds * 1.01]}
    share = made["floor"]["bytes"] / nanoseconds / 4400
    return made | {"time": time, "floor": made["floor"] | {"share": share}}


def timed(costs: Mapping[str, Any], problems: Iterable[tuple[int, int, int]]) -> list[JsonObject]:
    """Return exact cells of several algorithms on several problems."""
    return [
        exact(cell(contender(name, cost), problem(*at)), cost(*at))
        for at in problems
        for name, cost in costs.items()
    ]


def source(tmp_path: Path, cells: Sequence[JsonObject]) -> Source:
    """Return the cells as the library would."""
    found = load_run(write_run(tmp_path / "here" / "run", cells))
    return Source("here", (found.run,), found.records, (), is_slice=False)


def experiment(**changes: Any) -> manifest.Experiment:
    """Return an experiment without figures."""
    base = manifest.Experiment(
        "K-fig0", PAPER, "A title", "some_config", (), (), (), (), "", "", {}, "", (), ()
    )
    return dataclasses.replace(base, **changes)


def claim(kind: str, reproduced: str = "> 0", direction: str = "", **ask: Any) -> manifest.Claim:
    """Return a claim as the manifest would."""
    return manifest.Claim("it is so", "so", kind, reproduced, ask, direction)


GRID = [(1 << e, 1 << f, k) for e in (10, 11, 12) for f in (3, 4, 5) for k in (8, 16)]
COSTS = {
    "new": lambda n, q, k: 10.0 * n * q,
    "old": lambda n, q, k: 10.0 * n * q * (2 if k == 8 else 6) * (n / 1024),
}


def found(tmp_path: Path, kind: str, **ask: Any) -> Any:
    """Measure the grid above."""
    return measure(
        experiment(),
        claim(kind, of=["new"], over=["old"], **ask),
        source(tmp_path, timed(COSTS, GRID)),
    )


def test_a_speed_up_is_of_one_cell_or_the_least_or_most_or_both(tmp_path: Path) -> None:
    one = found(tmp_path, "speed-up", where={"n": "2^12", "q": 8, "k": 16})
    assert one.values == (pytest.approx(24),)
    assert "n = 2^12, Q = 8, k = 16" in one.detail
    assert found(tmp_path, "speed-up", take="most").values == (pytest.approx(24),)
    assert found(tmp_path, "speed-up", take="least").values == (pytest.approx(2),)
    assert found(tmp_path, "speed-up", take="range").values == pytest.approx((2, 24))
    with pytest.raises(PlotError, match="18 cells fit, not one"):
        found(tmp_path, "speed-up", take="only")


def test_change_flatness_and_place_go_along_one_axis(tmp_path: Path) -> None:
    assert found(tmp_path, "change", along="k", **{"from": 8, "to": 16}).values == (
        pytest.approx(3),
    )
    assert found(tmp_path, "change", along="n", **{"from": "2^10", "to": "2^12"}).values == (
        pytest.approx(4),
    )
    assert found(tmp_path, "flatness", along="q").values == (pytest.approx(1),)
    assert found(tmp_path, "flatness", along="n").values == (pytest.approx(4),)
    at_the_end = found(tmp_path, "place", along="n")
    assert at_the_end.values == (4096,)
    assert at_the_end.tied == "the largest, 13.9, is at an end of the axis, 2^12"
    with pytest.raises(Missing, match="no two cells differ in k = 8 and 99 alone"):
        found(tmp_path, "change", along="k", **{"from": 8, "to": 99})


def test_along_the_ratio_the_product_stays(tmp_path: Path) -> None:
    problems = [(1 << e, 1 << (14 - e), 8) for e in (8, 9, 10)]
    made = source(
        tmp_path, timed({"new": lambda n, q, k: 100.0, "old": lambda n, q, k: n}, problems)
    )
    asked = claim("change", of=["new"], over=["old"], along="log2(n/Q)", **{"from": 2, "to": 6})
    assert measure(experiment(), asked, made).values == (pytest.approx(4),)


def test_time_per_query_flattens_where_it_first_nears_its_last(tmp_path: Path) -> None:
    problems = [(1024, q, 8) for q in (8, 16, 32, 64, 128)]
    made = timed({"new": lambda n, q, k: max(q, 32) * 100.0}, problems)
    asked = claim("flattens", of=["new"], along="q")
    flat = measure(experiment(), asked, source(tmp_path, made))
    assert (flat.values, flat.tied) == ((32,), "")
    falling = timed({"new": lambda n, q, k: 1e6 + q}, problems)
    still = measure(experiment(), asked, source(tmp_path / "falling", falling))
    assert still.tied == "it still falls at the end of the axis, Q = 128"
    level = timed({"new": lambda n, q, k: 100.0 * q}, problems)
    begun = measure(experiment(), asked, source(tmp_path / "level", level))
    assert begun.tied == "it is flat from the beginning of the axis on, Q = 8"
    # A dip before the end is not flat: from there on the time must stay.
    dip = timed({"new": lambda n, q, k: q * (100.0 if q in (8, 128) else 200.0)}, problems)
    assert measure(experiment(), asked, source(tmp_path / "dip", dip)).values == (128,)
    both = [(1024, q, k) for q in (8, 16, 32, 64, 128) for k in (8, 9)]
    split = timed({"new": lambda n, q, k: max(q, 32 if k == 8 else 64) * 100.0}, both)
    tied = measure(experiment(), asked, source(tmp_path / "split", split))
    assert tied.tied == "a tie: Q = 32 for 1 k, Q = 64 for 1 k"
    assert tied.tied_with == (32, 64)
    below = dataclasses.replace(asked, reproduced="8 .. 16", direction="> 0")
    assert claims.judge(below, tied, "") == ("same direction, other size", "")
    between = dataclasses.replace(asked, reproduced="50 .. 100", direction="> 0")
    assert claims.judge(between, tied, "") == ("cannot test", f"decides nothing: {tied.tied}")


def test_a_place_is_a_tie_within_five_percent(tmp_path: Path) -> None:
    speed = {1024: 2.0, 2048: 3.0, 4096: 2.9, 8192: 1.0}
    costs = {"new": lambda n, q, k: 100.0, "old": lambda n, q, k: 100.0 * speed[n]}
    asked = claim("place", "= 2048", of=["new"], over=["old"], along="n")
    made = source(tmp_path, timed(costs, [(n, 4, 8) for n in speed]))
    tie = measure(experiment(), asked, made)
    assert (tie.values, tie.tied) == ((2048,), "a tie: 3 at 2^11 and 2.9 at 2^12")
    assert tie.tied_with == (2048, 4096)
    assert claims.judge(asked, tie, "")[0] == "cannot test"
    # Neither of the tied places is the published one, so the tie decides.
    elsewhere = dataclasses.replace(asked, reproduced="= 1024")
    assert claims.judge(elsewhere, tie, "") == ("contradicted", "")
    speed[4096] = 2.5
    again = source(tmp_path / "b", timed(costs, [(n, 4, 8) for n in speed]))
    clear = measure(experiment(), asked, again)
    assert claims.judge(asked, clear, "") == ("reproduced", "")


def test_a_number_that_follows_from_our_own_choice_judges_nothing(tmp_path: Path) -> None:
    asked = claim("speed-up", ">= 1", of=["new"], over=["old"], take="most")
    made = source(tmp_path, timed(COSTS, [(1024, 8, 16)]))
    evidence = causes.Evidence(Library(tmp_path))
    assert claims.test(experiment(), asked, made, evidence).verdict == "reproduced"
    chosen = dataclasses.replace(asked, undecided="we chose it so")
    found = claims.test(experiment(), chosen, made, evidence)
    assert (found.verdict, found.why, found.ours) == ("cannot test", "we chose it so", "6×")


def test_two_gains_are_compared_on_the_same_problems(tmp_path: Path) -> None:
    times = {"a": 100.0, "b": 300.0, "c": 50.0, "d": 75.0}
    costs = {name: (lambda *_, ns=ns: ns) for name, ns in times.items()}
    asked = claim("relative", of=["a"], over=["b"], than_of=["c"], than_over=["d"])
    made = source(tmp_path, timed(costs, [(1024, 4, 8), (2048, 4, 8)]))
    assert measure(experiment(), asked, made).values == (pytest.approx(2),)


def test_selection_may_outlast_its_distances(tmp_path: Path) -> None:
    cells = timed({"new": lambda n, q, k: 100.0 * k}, [(1024, 4, k) for k in (1, 2, 4, 8)])
    for one in cells:
        stage = {"unit": "ns", "median": 250.0}
        one["inputs"] = {"copies": 1, "fresh": True, "distances": stage}
    made = measure(experiment(), claim("outlasts", of=["new"]), source(tmp_path, cells))
    assert made.values == (0.5,)
    assert made.detail.startswith("2 of 4; most 3.2 times")


def test_variation_is_the_mean_over_what_else_changes(tmp_path: Path) -> None:
    costs = {"new": lambda n, q, k: 100.0 * (1.0 if k == 8 else 1.2 if n == 1024 else 1.4)}
    made = timed(costs, [(n, 4, k) for n in (1024, 2048) for k in (8, 16)])
    asked = claim("variation", of=["new"], along="k")
    assert measure(experiment(), asked, source(tmp_path, made)).values == (pytest.approx(0.3),)


def test_times_may_include_those_of_the_distances(tmp_path: Path) -> None:
    costs = {"new": lambda n, q, k: 100.0 if k == 8 else 140.0}
    first, second = timed(costs, [(1024, 4, 8), (1024, 4, 16)])
    rows = {"copies": 1, "fresh": True, "distances": {"median": 100.0, "samples": [100.0]}}
    write_run(tmp_path / "here" / "some_config", [c | {"inputs": rows} for c in (first, second)])
    asked = claim("variation", of=["new"], along="k")
    for with_distances, change in ((False, 0.4), (True, 0.2)):
        one = experiment(with_distances=with_distances)
        (found,) = Library(tmp_path).sources(one)
        assert measure(one, asked, found).values == (pytest.approx(change),)
    write_run(tmp_path / "here" / "some_config", [first, second])
    one = experiment(with_distances=True)
    (found,) = Library(tmp_path).sources(one)
    with pytest.raises(Missing):
        measure(one, asked, found)


def test_another_payload_may_be_compared_with(tmp_path: Path) -> None:
    cells = [
        exact(cell(contender(name, lambda *_: 1), problem(1024, 4, 8, payload=payload)), ns)
        for name, payload, ns in (
            ("new", "values", 100),
            ("new", "kth_value", 1),
            ("old", "kth_value", 300),
        )
    ]
    asked = claim("speed-up", of=["new"], over=["old"], over_where={"payload": "kth_value"})
    where = {"payload": "values"}
    assert measure(experiment(where=where), asked, source(tmp_path, cells)).values == (3,)


def test_the_fastest_is_counted_by_problem_and_globs_go_pairwise(tmp_path: Path) -> None:
    costs = {
        "a+x": lambda n, q, k: 100.0,
        "a+y": lambda n, q, k: 200.0,
        "b+x": lambda n, q, k: 500.0,
        "b+y": lambda n, q, k: 400.0,
    }
    made = source(tmp_path, timed(costs, [(1024, 4, 8)]))
    pairwise = measure(experiment(), claim("fastest", of=["*+x"], among=["*+y"]), made)
    assert pairwise.values == (0.5,)
    assert "b+y is faster" in pairwise.detail
    against_all = measure(experiment(), claim("fastest", of=["a+x"], among=["*"]), made)
    assert against_all.values == (1.0,)


def test_spread_is_the_largest_relative_deviation(tmp_path: Path) -> None:
    cells = timed({"new": lambda n, q, k: 100.0}, [(1024, 4, 8), (2048, 4, 8)])
    cells[0]["time"]["rounds"] = [99.0, 100.0, 101.0]
    cells[1]["time"]["rounds"] = [98.0, 100.0, None, 102.0]
    made = measure(experiment(), claim("spread", of=["new"]), source(tmp_path, cells))
    assert made.values == (pytest.approx(0.02),)
    assert "n = 2^11" in made.detail
    # Trials on one data set are no trials on different data.
    cells[1]["inputs"] = {"copies": 1, "fresh": False}
    other = measure(experiment(), claim("spread", of=["new"]), source(tmp_path / "other", cells))
    assert other.values == (pytest.approx(0.01),)


def counted(name: str, k: int, updates: list[int]) -> JsonObject:
    """Return a cell on fibers with counted queue updates."""
    made = cell(contender(name, lambda *_: 1, executor="fiber"), problem(1024, 4, k))
    return made | {"time": None, "floor": None, "places": {"queue_updates": updates}}


def test_updates_are_judged_by_position_and_in_all(tmp_path: Path) -> None:
    cells = [
        counted("line", 4, [40, 30, 20, 10]),
        counted("line", 8, [80, 70, 60, 50, 40, 30, 20, 10]),
        counted("head", 4, [97, 1, 1, 1]),
        counted("head", 8, [90, 60, 30, 12, 3, 2, 2, 1]),
    ]
    made = source(tmp_path, cells)

    def values(kind: str, of: str, **ask: Any) -> tuple[float, ...]:
        return measure(experiment(), claim(kind, of=[of], **ask), made).values

    assert values("updates-linear", "line") == (pytest.approx(1),)
    assert values("updates-linear", "head")[0] < 0.9
    assert values("updates-head", "head") == (0.75,)
    assert values("updates-ratio", "line", over=["head"]) == (1.0, 1.8)
    assert values("updates-growth", "line", over=["head"], **{"from": 4, "to": 8}) == (
        pytest.approx(3.6 / 2),
    )


@pytest.mark.parametrize(
    ("text", "meets", "fails"),
    [(">= 3", 3, 2.9), ("> 3", 3.1, 3), ("<= 1.5", 1.5, 1.6), ("< 1", 0.9, 1), ("= 256", 256, 255),
     ("1 .. 2", 2, 2.1)],
)  # fmt: skip
def test_expectations(text: str, meets: float, fails: float) -> None:
    test = claims.expectation(text, "here")
    assert test(meets)
    assert not test(fails)


def test_an_expectation_that_means_nothing_is_refused() -> None:
    with pytest.raises(PlotError, match="K-fig0: 'about 3' is not like"):
        claims.expectation("about 3", "K-fig0")


def evidence(tmp_path: Path, work: Any = None) -> causes.Evidence:
    """Return what causes are read from: the runs under `tmp_path` and counted work."""
    return causes.Evidence(Library(tmp_path), work or {})


def verdict(
    tmp_path: Path, asked: manifest.Claim, cells: Sequence[JsonObject], work: Any = None
) -> claims.Tested:
    """Judge a claim by cells."""
    made = source(tmp_path, cells)
    return claims.test(experiment(), asked, made, evidence(tmp_path, work))


def test_there_are_three_verdicts_and_cannot_test(tmp_path: Path) -> None:
    cells = timed(COSTS, [(1024, 8, 16)])
    asked = {"of": ["new"], "over": ["old"]}
    for band, direction, expected in (
        ("4 .. 9", "> 1", "reproduced"),
        ("40 .. 90", "> 1", "same direction, other size"),
        ("2 .. 5", "> 1", "same direction, other size"),  # more than published is no pass
        ("0.2 .. 0.5", "< 1", "contradicted"),
        ("40 .. 90", "", "contradicted"),
    ):
        found = verdict(tmp_path, claim("speed-up", band, direction, **asked), cells)
        assert found.verdict == expected
        assert (found.ours, found.at) == ("6×", "5.88 to 6.12 at n = 2^10, Q = 8, k = 16, new")
    absent = verdict(tmp_path, claim("speed-up", of=["new"], over=["older"]), cells)
    assert absent.verdict == "cannot test"
    assert absent.why == "no record: the record has no cell of older here"
    needs = dataclasses.replace(claim(""), needs="a card of another maker")
    assert verdict(tmp_path, needs, cells).why == "a card of another maker"
    with pytest.raises(PlotError, match="no measure is called 'speedup'"):
        verdict(tmp_path, claim("speedup", **asked), cells)


def test_a_tie_decides_nothing_of_a_claim_without_a_size(tmp_path: Path) -> None:
    costs = {"new": lambda *_: 100.0, "old": lambda *_: 102.0}
    asked = claim("speed-up", ">= 1.05", of=["new"], over=["old"])
    found = verdict(tmp_path, asked, timed(costs, [(1024, 8, 16)]))
    assert (found.verdict, found.why) == ("cannot test", "decides nothing: a tie, 1.02×")


def test_each_end_of_a_range_may_have_its_own_band(tmp_path: Path) -> None:
    asked = {"of": ["new"], "over": ["old"], "take": "range"}
    made = source(tmp_path, timed(COSTS, GRID))
    both = measure(experiment(), claim("speed-up", **asked), made)  # 2 to 24
    assert claims.judge(claim("speed-up", "1 .. 3, 20 .. 30", **asked), both, "")[0] == "reproduced"
    assert claims.judge(claim("speed-up", "1 .. 3", **asked), both, "")[0] == "contradicted"
    with pytest.raises(PlotError, match="is not for 2 numbers"):
        claims.judge(claim("speed-up", "1 .. 2, 3 .. 4, 5 .. 6", **asked), both, "here")


def test_of_several_machines_those_that_can_test_a_claim_are_shown(tmp_path: Path) -> None:
    cells = timed(COSTS, [(1024, 8, 16)])
    asked = claim("speed-up", "4 .. 9", of=["new"], over=["old"])
    one = verdict(tmp_path, asked, cells)
    other = claims.untested(experiment(), asked, "no record")
    assert document.decided([other, one]) == [one]
    assert document.decided([other]) == [other]


def test_a_paragraph_is_filled_with_measured_numbers(tmp_path: Path) -> None:
    asked = dataclasses.replace(claim("speed-up", "4 .. 9", of=["new"], over=["old"]), id="new")
    told = experiment(claims=(asked,), reads="It is {new} ({new.at}).")
    tested = verdict(tmp_path, asked, timed(COSTS, [(1024, 8, 16)]))
    assert document._filled(told, [tested]).startswith("It is 6× (5.88 to 6.12 at n = 2^10")
    assert document._filled(told, []) == "It is (no record yet) (no record yet)."
    with pytest.raises(PlotError, match="no claim has the id 'old'; there are new"):
        document._filled(dataclasses.replace(told, reads="{old}"), [])
