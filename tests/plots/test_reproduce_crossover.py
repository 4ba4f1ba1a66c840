"""An index beside the fused k-NN, and the edit distance by bits beside the dynamic programme."""

from pathlib import Path
from typing import Any

import pytest
from plots.reproduce import causes, claims
from plots.reproduce.library import Library

from conftest import GPU_CONTENDERS, JsonObject, cell, problem, write_run
from reproduced import EXPERIMENTS, drawn, rows


def searched(task: str, name: str, time: float, settings: JsonObject, **of_problem: Any) -> JsonObject:
    """Return a cell of a search; `time` in ns, of which an index' kernels take half."""
    made = cell(GPU_CONTENDERS[0], problem(int(of_problem.pop("n", 1 << 14)), 8192, 8))
    made["problem"] |= {"dimension": 64, "metric": "euclidean", "radius": 0.0, "share": 0.0} | of_problem
    made["algorithm"] |= {"name": name, "settings": settings}
    scale = time / made["time"]["median"]
    for member in ("median", "min", "max", "q1", "q3"):
        made["time"][member] *= scale
    for member in ("samples", "rounds", "ci95"):
        made["time"][member] = [ns * scale for ns in made["time"][member]]
    kernels = {"unit": "ns", "of_time": True, "median": time / 2, "ci95": [time / 2] * 2, "rounds": [time / 2]}
    stages = {"kernels": kernels} if task == "index" else {}
    return made | {"task": task, "stages": stages, "counts": {}, "key": f"{hash((name, str(of_problem), time)):x}"}


def verdicts(name: str, tree: Path) -> dict[str, tuple[str, str]]:
    one = EXPERIMENTS[name]
    (source,) = Library(tree).sources(one)
    evidence = causes.Evidence(Library(tree))
    tested = [claims.test(one, claim, source, evidence) for claim in one.claims]
    return {claim.says: (t.verdict, t.ours) for claim, t in zip(one.claims, tested, strict=True)}


def test_an_index_is_held_against_the_fused_search_by_dimension_and_n(tmp_path: Path) -> None:
    found = []
    for n, decay, index, fused in [(1 << 14, 2, 4e6, 6e6), (1 << 14, 32, 16e6, 6e6), (1 << 18, 2, 8e6, 24e6)]:
        of = {"n": n, "distribution": f"decaying({decay})"}
        list_of = {"cluster_size": 32, "cluster_radius": 0.0, "walk": "groups", "batch": 0}
        found.append(searched("index", "list_of_clusters+walk=groups", index, list_of, **of))
        found.append(searched("knn", "auto", fused, {"product": "auto"}, **of))
    write_run(tmp_path / "gpu" / "index_crossover", found)
    values = {(r["intrinsic_dimension"], r["n"]): float(r["value"]) for r in rows(drawn("X-crossover", tmp_path))}
    assert values == {
        ("2.0", str(1 << 14)): pytest.approx(3), ("32.0", str(1 << 14)): pytest.approx(6 / 8),
        ("2.0", str(1 << 18)): pytest.approx(6),
    }  # fmt: skip
    assert [v for v, _ in verdicts("X-crossover", tmp_path).values()] == ["reproduced", "reproduced"]


def test_a_fused_search_is_chosen_by_name_alone(tmp_path: Path) -> None:
    """The figures of the thesis do not get it."""
    of = {"distribution": "decaying(5)", "dimension": 20}
    list_of = {"cluster_size": 64, "cluster_radius": 0.0, "batch": 0, "radius_rule": "increasing"}
    found = [searched("index", "list_of_clusters", 4e6, list_of, **of)]
    found.append(searched("index", "none", 9e6, {"batch": 0}, **of))
    found.append(searched("knn", "auto", 1e6, {"product": "auto"}, **of))
    write_run(tmp_path / "gpu" / "barrientos", found)
    assert {r["kind"] for r in rows(drawn("B-fig4.3", tmp_path))} == {"list_of_clusters", "none"}


def test_words_by_bits_are_held_against_the_dynamic_programme(tmp_path: Path) -> None:
    found = []
    for metric, times in (("levenshtein", (4e6, 20e6)), ("levenshtein_table", (12e6, 80e6))):
        of = {"metric": metric, "distribution": "external"}
        list_of = {"cluster_size": 32, "cluster_radius": 0.0, "batch": 0, "radius_rule": "increasing"}
        found.append(searched("index", "list_of_clusters", times[0], list_of, **of))
        found.append(searched("index", "none", times[1], {"batch": 0}, **of))
    for one in found:
        one["input"] = {"kind": "dataset", "name": "spanish.txt", "hash": "0"}
    write_run(tmp_path / "gpu" / "barrientos_spanish", found)
    values = {r["kind"]: float(r["value"]) for r in rows(drawn("X-edit-distance", tmp_path))}
    assert values == {"list_of_clusters": pytest.approx(3), "none": pytest.approx(4)}
    assert {ours for _, ours in verdicts("X-edit-distance", tmp_path).values()} == {"4×", "3×", "6.667×"}
