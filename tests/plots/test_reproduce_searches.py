"""Searches in metric indexes: their figures, and the claims that their records decide."""

from pathlib import Path
from typing import Any

import pytest
from plots import older_searches
from plots.journal import read_journal
from plots.reproduce import causes, claims, searches
from plots.reproduce.library import Library

from conftest import Contender, JsonObject, cell, line, problem, write_run
from reproduced import EXPERIMENTS, drawn, rows, texts


def search(**changes: Any) -> JsonObject:
    """Return an old record of a search, as far as its conversion needs it."""
    found: JsonObject = {
        "schema": 1,
        "what": "index_search",
        "index": {"kind": "list_of_clusters", "source": "dir/images.npy", "cluster_size": 64},
        "search": {"what": "knn", "queries": 100, "k": 8, "radius_rule": "increasing", "batch": 0},
        "executor": "cuda",
        "threads": 2,
        "time": {"unit": "ns", "median": 1e6},
        "work": {"per_query": {"distances": 50.0}},
        "started": "2026-11-22T08:36:55Z",
        "git": {"commit": "0123456789", "dirty": False},
        "host": {"cpu": "a CPU"},
        "gpu": [{"name": "a GPU"}],
    }
    for path, value in changes.items():
        first, _, second = path.partition("__")
        if second:
            found[first] = found[first] | {second: value}
        else:
            found[first] = value
    return found


def write_searches(tree: Path, found: list[JsonObject]) -> Path:
    """Write searches as cells of a run."""
    folder = tree / "gpu" / "barrientos"
    for record in found:
        if record["index"]["kind"] == "sss":
            record["index"] = {"alpha": 0.66, "pivots": 1} | record["index"]
            record["search"] = {"distribution": "elements"} | record["search"]
    folder.mkdir(parents=True)
    (folder / "runs.jsonl").write_bytes(b"".join(line(record) for record in found))
    assert older_searches.rewrite(folder)
    return folder


def test_searches_are_bars_of_their_traits_and_decide_claims(tmp_path: Path) -> None:
    slow = {"search__radius_rule": "decreasing", "time__median": 3e6}
    found = [search(), search(**slow), search(search__k=16, time__median=2e6)]
    found.append(search(search__k=16, search__batch=30, time__median=9e6))
    write_searches(tmp_path, found)
    drawing = drawn("B-fig3.2", tmp_path)
    values = {(row["k"], row["radius_rule"]): float(row["value"]) for row in rows(drawing)}
    assert values == {
        ("8", "decreasing"): 1.0,
        ("8", "increasing"): pytest.approx(1 / 3),
        ("16", "increasing"): pytest.approx(2 / 3),
    }
    (axes,) = drawing.figure.axes
    assert "A gap in place of a bar: not recorded." in texts(drawing)
    assert "Bars of time without an interval are of a single sample." in texts(drawing)
    one = EXPERIMENTS["B-fig3.2"]
    (source,) = Library(tmp_path).sources(one)
    tested = claims.test(one, one.claims[0], source, causes.Evidence(Library(tmp_path)))
    assert (tested.verdict, tested.ours) == ("reproduced", "3×")
    assert tested.at.startswith("list of clusters, Images, k = 8, increasing radius, GPU against")


def test_a_search_is_compared_with_one_core_on_the_same_index(tmp_path: Path) -> None:
    one_core = {"executor": "cpu", "threads": 1, "gpu": []}
    found = [
        search(),
        search(time__median=12e6, **one_core),
        search(index__kind="sss", time__median=5e6),
        search(index__kind="sss", time__median=400e6, **one_core),
    ]
    write_searches(tmp_path, found)
    values = {row["kind"]: float(row["value"]) for row in rows(drawn("B-fig4.4", tmp_path))}
    assert values == {"list_of_clusters": 12, "sss": 80}
    one = EXPERIMENTS["B-fig4.4"]
    (source,) = Library(tmp_path).sources(one)
    evidence = causes.Evidence(Library(tmp_path))
    tested = [claims.test(one, claim, source, evidence) for claim in one.claims]
    assert [t.verdict for t in tested] == [
        "reproduced",
        "same direction, other size",
        "reproduced",
    ]
    assert "SSS-Index, Images, k = 8" in tested[1].causes[-1]
    assert "400 ms for all queries, 50 distances a query" in tested[1].causes[-1]


def test_a_search_has_an_interval_of_its_samples(tmp_path: Path) -> None:
    several = {"time__samples": [9e5, 1e6, 1.2e6], "search__batch": 0}
    found = [search(**several), search(search__k=16, time__samples=[1e6], time__ci95=[1e6, 1e6])]
    write_searches(tmp_path, found)
    (source,) = Library(tmp_path).sources(EXPERIMENTS["B-fig3.2"])
    assert [s.interval for s in source.searches] == [(9e5, 1.2e6), None]
    drawing = drawn("B-fig3.2", tmp_path)
    (axes,) = drawing.figure.axes
    assert len(axes.collections) == 1  # one bar has an interval


def test_the_second_turns_are_a_share_of_the_queries(tmp_path: Path) -> None:
    found = [search(pending=40), search(search__k=16, pending=20)]
    write_searches(tmp_path, [*found, search(search__radius_rule="decreasing", pending=0)])
    one = EXPERIMENTS["B-fig3.2"]
    (source,) = Library(tmp_path).sources(one)
    (turns,) = (c for c in one.claims if c.id == "images")
    tested = claims.test(one, turns, source, causes.Evidence(Library(tmp_path)))
    assert (tested.verdict, tested.ours) == ("cannot test", "30 %")


def test_throughput_saturates_at_a_batch_or_the_axis_ends(tmp_path: Path) -> None:
    def ranges(times: dict[int, float]) -> claims.Tested:
        tree = tmp_path / str(len(list(tmp_path.glob("*"))))
        base = {"search__what": "range", "search__share": 0.001}
        made = [search(**base, search__batch=b, time__median=t) for b, t in times.items()]
        write_searches(tree, made)
        one = EXPERIMENTS["B-fig4.5"]
        (source,) = Library(tree).sources(one)
        (claim,) = (c for c in one.claims if c.id == "saturates")
        return claims.test(one, claim, source, causes.Evidence(Library(tree)))

    early = ranges({5: 9e6, 50: 2e6, 200: 1.05e6, 1000: 1e6, 0: 1e6})
    assert (early.verdict, early.ours) == ("reproduced", "200")
    late = ranges({5: 9e6, 50: 2e6, 200: 1.5e6, 1000: 1.3e6, 0: 1e6})
    assert late.verdict == "cannot test"
    assert late.why == "decides nothing: 1000 queries give 77% of the throughput of all at once"


def test_times_of_different_numbers_of_queries_are_compared_by_the_query(tmp_path: Path) -> None:
    write_searches(
        tmp_path,
        [search(), search(executor="cpu", threads=1, search__queries=10, time__median=12e6)],
    )
    found, _ = searches.searches_of(tmp_path / "gpu" / "barrientos")
    ((ratio, *_),) = searches.compare(found, {"executor": "cuda"}, {"executor": "cpu"}, "time", "")
    assert ratio == 120


def test_a_list_of_a_fixed_radius_is_another_kind(tmp_path: Path) -> None:
    within = search()
    within["index"] = {"kind": "list_of_clusters", "source": "images.npy", "cluster_radius": 1.5}
    write_searches(tmp_path, [search(), within])
    found, _ = searches.searches_of(tmp_path / "gpu" / "barrientos")
    kinds = [s.traits["kind"] for s in found]
    assert kinds == ["list_of_clusters", "list_of_clusters_of_radius"]


def test_exhaustive_search_in_two_steps_is_its_distances_and_its_heaps(tmp_path: Path) -> None:
    contender = Contender("batch-heap-reduction", "heap", lambda n, q, k: 5e6)
    apart = cell(contender, problem(96000, 2, 8, distribution="decaying(5)"))
    apart["input"] = {"kind": "generated", "vectors": {"dimension": 20, "metric": "euclidean"}}
    apart["inputs"] = {"copies": 1, "fresh": False, "distances": {"median": 1e6}}
    alone = cell(contender, problem(96000, 2, 8))  # without the time of its distances: no search
    folder = write_run(tmp_path / "gpu" / "barrientos", [apart, alone])
    (found,) = searches.searches_of(folder)[0]
    assert (found.traits["kind"], found.traits["source"], found.traits["k"]) == ("none_apart", "images", 8)
    assert found.values["time"] == apart["time"]["median"] + 1e6


def test_a_search_of_another_kind_is_named(tmp_path: Path) -> None:
    folder = write_searches(tmp_path, [search(), search(search__k=16)])
    cells, _ = read_journal(folder / "runs.jsonl.gz")
    (folder / "runs.jsonl.gz").unlink()
    del cells[1]["counts"], cells[1]["crc32"], cells[0]["crc32"]
    (folder / "runs.jsonl").write_bytes(b"".join(line(made) for made in cells))
    library = Library(tmp_path)
    assert list(library.sources(EXPERIMENTS["B-fig3.2"])) == []
    assert "barrientos: cell 2 is no record of a search that is known" in library.failures[0]
