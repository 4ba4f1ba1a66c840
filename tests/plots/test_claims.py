"""Claims: what the manifest may say, what each measure finds, verdicts and their causes."""

import dataclasses
import fnmatch
import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from plots.errors import PlotError
from plots.records import load as load_run
from plots.reproduce import claims, manifest
from plots.reproduce.cells import Missing
from plots.reproduce.library import Source
from plots.reproduce.measures import measure

from conftest import CONTENDERS, ROOT, JsonObject, cell, problem, write_run

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


def claim(kind: str, expect: str = "> 0", **ask: Any) -> manifest.Claim:
    """Return a claim as the manifest would."""
    return manifest.Claim("it is so", "so", kind, expect, ask)


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
    assert found(tmp_path, "place", along="n").values == (4096,)
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
    assert measure(experiment(), asked, source(tmp_path, made)).values == (32,)


def test_variation_is_the_mean_over_what_else_changes(tmp_path: Path) -> None:
    costs = {"new": lambda n, q, k: 100.0 * (1.0 if k == 8 else 1.2 if n == 1024 else 1.4)}
    made = timed(costs, [(n, 4, k) for n in (1024, 2048) for k in (8, 16)])
    asked = claim("variation", of=["new"], along="k")
    assert measure(experiment(), asked, source(tmp_path, made)).values == (pytest.approx(0.3),)


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
    with pytest.raises(PlotError, match="K-fig0: expect = 'about 3' is not like"):
        claims.expectation("about 3", "K-fig0")


def verdict(
    tmp_path: Path, asked: manifest.Claim, cells: Sequence[JsonObject], work: Any = None
) -> claims.Tested:
    """Test a claim on cells."""
    return claims.test(experiment(), asked, source(tmp_path, cells), work or {})


def test_a_claim_passes_differs_or_cannot_be_tested(tmp_path: Path) -> None:
    cells = timed(COSTS, [(1024, 8, 16)])
    asked = {"of": ["new"], "over": ["old"]}
    passed = verdict(tmp_path, claim("speed-up", ">= 6", **asked), cells)
    assert (passed.verdict, passed.why) == ("pass", "")
    assert passed.ours.startswith("6× (5.88 to 6.12 at n = 2^10, Q = 8, k = 16, new")
    differs = verdict(tmp_path, claim("speed-up", ">= 60", **asked), cells)
    assert differs.verdict == "differs"
    absent = verdict(tmp_path, claim("speed-up", of=["new"], over=["older"]), cells)
    assert (absent.verdict, absent.why) == ("cannot test", "the record has no cell of older here")
    with pytest.raises(PlotError, match="no measure is called 'speedup'"):
        verdict(tmp_path, claim("speedup", **asked), cells)


def test_the_cause_is_the_share_of_the_ceiling_that_the_claim_would_need(tmp_path: Path) -> None:
    (mine, other) = timed(COSTS, [(1024, 8, 16)])
    mine["floor"]["share"], other["floor"]["share"] = 0.3, 0.05
    asked = claim("speed-up", ">= 60", of=["new"], over=["old"])
    why = verdict(tmp_path, asked, [mine, other]).why
    assert "new moves its least bytes at 30 % of the read ceiling and old at 5 %" in why
    assert (
        "60 times this baseline would be 300 % of the ceiling, more than the memory gives." in why
    )


def test_the_cause_names_counted_work_of_the_cells_or_of_the_kernels(tmp_path: Path) -> None:
    (mine, other) = timed(COSTS, [(1024, 8, 16)])
    mine |= {"counters": {"bytes_read": 100, "bytes_written": 10}}
    other |= {"counters": {"bytes_read": 400, "bytes_written": 25}}
    asked = claim("speed-up", ">= 60", of=["new"], over=["old"])
    why = verdict(tmp_path, asked, [mine, other]).why
    assert "old has 4 times the bytes read and 2.5 times the bytes written of new." in why
    kernel = {
        "new": {"Q=8/uniform#1": {"bytes_read": 10}},
        "old": {"Q=8/uniform#1": {"bytes_read": 70}},
    }
    bare = [c | {"counters": None, "floor": None} for c in (mine, other)]
    why = verdict(tmp_path, asked, bare, kernel).why
    assert why == "Counted on Q=8/uniform#1, old has 7 times the bytes read of new."
    kernel["old"] = kernel["new"]
    why = verdict(tmp_path, asked, bare, kernel).why
    assert why.endswith("old and new have equal bytes read, so it is not these.")
    assert "does not show the cause" in verdict(tmp_path, asked, bare).why


def test_work_counted_nearest_to_the_claim_speaks(tmp_path: Path) -> None:
    cells = [c | {"counters": None, "floor": None} for c in timed(COSTS, [(1024, 8, 16)])]
    asked = claim("speed-up", ">= 60", of=["new"], over=["old"])
    problems = ("Q=8/n=64/k=2/uniform#1", "Q=8/n=512/k=16/uniform#1", "Q=8/n=1024/k=16/ties#1")
    kernel = {
        "new": {p: {"queue_updates": 10} for p in problems},
        "old": {p: {"queue_updates": 20 + i} for i, p in enumerate(problems)},
    }
    why = verdict(tmp_path, asked, cells, kernel).why
    assert why == "Counted at n = 512, Q = 8, k = 16, old has 2.1 times the queue updates of new."
    explained = dataclasses.replace(asked, explanation="It is so.")
    why = verdict(tmp_path, explained, cells).why
    assert why == "*Explanation, not measured:* It is so."


def test_counted_work_is_read_without_the_layout(tmp_path: Path) -> None:
    path = tmp_path / "counters.json"
    path.write_text(
        json.dumps(
            {
                "cells": [
                    {
                        "algorithm": "a",
                        "problem": "k=8/column_major/uniform#1",
                        "counters": {"x": 1},
                    }
                ]
            }
        )
    )
    assert claims.read_work(path) == {"a": {"k=8/uniform#1": {"x": 1}}}
    assert claims.read_work(tmp_path / "none.json") == {}
    path.write_text("[]")
    with pytest.raises(PlotError, match=r"counters\.json: no record of counted work"):
        claims.read_work(path)


# ---- the lists of experiments -----------------------------------------------------------------


def written(tmp_path: Path, text: str) -> Path:
    """Return a folder with one list of experiments."""
    (tmp_path / "list.toml").write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[[experiment", "cannot be read"),
        ('[[experiment]]\nid = "a b"', "id is 'a b', not a short name"),
        (
            '[[experiment]]\nid = "a"\nconfigs = "x"',
            "unknown key 'configs'; did you mean 'config'?",
        ),
        ('[[experiment]]\nid = "a"', "a: needs one of config, stages_of, searches_of and needs"),
        ('[[experiment]]\nid = "a"\nconfig = "c"\nlike = "b"', "like = 'b' names none before it"),
        (
            '[[experiment]]\nid = "a"\nconfig = "c"\n[[experiment.figure]]\nx = "n"',
            "a figure has no kind",
        ),
        (
            '[[experiment]]\nid = "a"\nconfig = "c"\nclaim = [{ says = "s", measure = "m" }]',
            "both of measure",
        ),
        (
            '[[experiment]]\nid = "a"\nneeds = "b"\n[[experiment]]\nid = "a"\nneeds = "b"',
            "two experiments",
        ),
    ],
)
def test_a_bad_list_is_refused_with_its_file_and_key(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(PlotError) as caught:
        manifest.load(written(tmp_path, text))
    assert str(caught.value).startswith(f"{tmp_path}/list.toml: ")
    assert told in str(caught.value)


def test_sizes_may_be_powers() -> None:
    assert [manifest.size(v, "") for v in (7, "2^15", "10^3")] == [7, 32768, 1000]
    for bad in ("2**3", 2.0, True, None):
        with pytest.raises(PlotError, match="is not a size"):
            manifest.size(bad, "here")


def names(value: Any) -> Iterator[str]:
    """Yield the algorithms that an entry names, at any depth."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key in ("of", "over", "among", "less"):
                yield from inner
            else:
                yield from names(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from names(inner)


def test_every_experiment_has_its_config_and_names_only_algorithms_of_it() -> None:
    experiments = manifest.load()
    assert len(experiments) > 30
    for one in experiments:
        if not one.config:
            continue
        config = json.loads((ROOT / "configs" / f"{one.config}.json").read_text())
        assert config["name"] == one.config
        patterns = [a if isinstance(a, str) else a["name"] for a in config["algorithms"]]
        asked = [*(f.ask for f in one.figures), *(c.ask for c in one.claims)]
        for name in {name for ask in asked for name in names(ask)}:
            fits = any(
                fnmatch.fnmatchcase(name, p) or fnmatch.fnmatchcase(p, name) for p in patterns
            )
            assert fits, f"{one.id}: {name} is not in configs/{one.config}.json"


def test_every_published_figure_is_listed() -> None:
    listed = {one.id for one in manifest.load()}
    published = {
        "K": "fig4 fig5 fig5-text fig6 fig7 fig8 fig9 table2",
        "T": "fig5a fig5b fig6 fig7 fig8 fig9a fig9b table1",
        "B": "fig3.2 fig3.3 table3.1 fig4.1 fig4.2 fig4.3 fig4.4 fig4.5",
    }
    assert {
        f"{paper}-{name}" for paper, all_ in published.items() for name in all_.split()
    } <= listed


def test_every_claim_can_be_measured_or_says_what_it_needs() -> None:
    for one in manifest.load():
        for each in one.claims:
            assert bool(each.measure) != bool(one.needs), each.says
            if each.measure:
                claims.expectation(each.expect, one.id)


def test_the_lists_are_valid_toml_with_one_paper_each() -> None:
    for path in manifest.EXPERIMENTS.glob("*.toml"):
        assert tomllib.loads(path.read_text())["paper"]["key"] in "KTBX"
