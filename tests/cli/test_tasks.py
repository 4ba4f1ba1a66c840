"""Searches as cells of a sweep: configs of the tasks `knn` and `index`, from the plan to the exports."""

import json
import signal
import subprocess

import numpy as np
import pytest
from conftest import one_line, records, wait_until

MEASURE = {"warmup": 0, "rounds": 2, "min_samples": 2, "max_samples": 3, "max_seconds": 1}
KNN = {
    "schema": "kselect-config/1",
    "name": "small",
    "task": "knn",
    "axes": {"n": 600, "q": 20, "k": 5, "dimension": 12, "metric": ["sqeuclidean", "cosine"],
             "distribution": "normal"},
    "algorithms": ["auto", "cpu/heap"],
    "measure": MEASURE,
    "executor": "cpu",
}
INDEX = {
    "schema": "kselect-config/1",
    "name": "small",
    "task": "index",
    "axes": {"n": 600, "q": 20, "k": 5, "dimension": 8, "share": [0, 0.01], "cluster_size": [8, 16],
             "distribution": "decaying(3)"},
    "algorithms": ["*"],
    "measure": MEASURE,
    "executor": "cpu",
}


@pytest.fixture
def write(tmp_path):
    """Writes a config with changes; an axis of None is left out."""

    def to_file(config, axes=None, name="small.json", **changes):
        merged = config["axes"] | (axes or {})
        kept = {axis: value for axis, value in merged.items() if value is not None}
        path = tmp_path / name
        path.write_text(json.dumps(config | changes | {"axes": kept}))
        return path

    return to_file


def by_name(directory):
    """The records of a run by algorithm and settings of the problem."""
    found = {}
    for record in records(directory):
        own = {name: value for name, value in record["problem"].items() if name in
               ("metric", "queries", "radius", "share")}
        found[record["algorithm"]["name"], *own.values()] = record
    return found


def test_a_sweep_of_knn_is_proven_timed_and_has_stages(kselect, write, tmp_path):
    said = kselect("run", write(KNN), "--out", "out").stdout
    found = by_name(tmp_path / "out")
    assert set(found) == {(name, metric, "separate") for name in ("auto", "cpu/heap")
                          for metric in ("sqeuclidean", "cosine")}
    for record in found.values():
        assert record["status"] == "ok" and record["task"] == "knn", record
        assert record["verify"]["before"] and record["verify"]["after"]
        assert "float64 distances of 16 queries" in record["verify"]["method"]
        assert set(record["stages"]) == {"prepare", "distance", "selection", "filter", "order"}
        whole = sum(stage["median"] for stage in record["stages"].values())
        assert 0 < whole < 2 * record["time"]["max"]
        assert record["counts"]["float64_differences"] >= 20 * 5
        assert record["problem"]["dimension"] == 12
    assert "metric=cosine" in said


def test_a_graph_leaves_out_the_vector_itself(kselect, write, tmp_path):
    kselect("run", write(KNN, {"q": 600, "queries": "graph"}), "--out", "out")
    assert {r["status"] for r in records(tmp_path / "out")} == {"ok"}
    kselect("run", write(KNN, {"q": 20, "queries": "graph"}), "--out", "few")
    assert all("write Q = n" in r["reason"] for r in records(tmp_path / "few"))


def test_vectors_come_from_files(kselect, write, tmp_path):
    random = np.random.default_rng(3)
    np.save(tmp_path / "base.npy", random.normal(size=(300, 9)).astype(np.float32))
    np.save(tmp_path / "query.npy", random.normal(size=(7, 9)).astype(np.float32))
    files = {"dataset": {"base": "base.npy", "query": "query.npy"}}
    axes = {"n": "all", "q": "all", "dimension": None, "distribution": None}
    kselect("run", write(KNN, axes, input=files), "--out", "out")
    for record in records(tmp_path / "out"):
        assert record["status"] == "ok" and record["input"]["name"] == "base.npy"
        assert (record["problem"]["n"], record["problem"]["q"]) == (300, 7)
    said = kselect("run", write(KNN, axes | {"dimension": 9}, input=files), check=2).stderr
    assert "/axes/dimension" in one_line(said)


def test_products_are_a_variant_and_what_is_not_there_says_so(kselect, write, tmp_path):
    config = write(KNN, {"product": ["auto", "float16", "float64"], "metric": "euclidean"},
                   executor=["cpu", "fiber"], algorithms=["auto"])
    kselect("run", config, "--out", "out")
    status = {(r["algorithm"]["name"], r["executor"]): r["status"] for r in records(tmp_path / "out")}
    assert status == {
        ("auto", "cpu"): "ok",
        ("auto+product=float16", "cpu"): "unsupported",
        ("auto+product=float64", "cpu"): "ok",
        ("auto", "fiber"): "ok",
        ("auto+product=float16", "fiber"): "ok",
        ("auto+product=float64", "fiber"): "ok",
    }


def test_a_sweep_of_indexes_finds_the_nearest_and_what_is_within(kselect, write, tmp_path):
    kselect("run", write(INDEX), "--out", "out")
    found = by_name(tmp_path / "out")
    names = {"none", "list_of_clusters+cluster_size=8", "list_of_clusters+cluster_size=16", "sss"}
    assert set(found) == {(name, "euclidean", 0.0, share) for name in names for share in (0.0, 0.01)}
    for (name, *_, share), record in found.items():
        assert record["status"] == "ok" and record["task"] == "index", record
        assert record["verify"]["method"] == "all distances of 16 queries"
        assert record["counts"]["hits"] == 100 if share == 0 else record["counts"]["hits"] >= 20
        if name == "none":
            assert record["counts"]["distances"] == 600 * 20
        if name.startswith("list"):
            assert record["counts"]["distances"] < 600 * 20


def test_words_have_an_index_too(kselect, write, tmp_path):
    random = np.random.default_rng(4)
    words = ["".join(random.choice(list("abcde"), size=random.integers(3, 9))) for _ in range(200)]
    (tmp_path / "words.txt").write_text("\n".join(words) + "\n")
    (tmp_path / "asked.txt").write_text("\n".join(words[::20]) + "\n")
    axes = {"n": "all", "q": "all", "dimension": None, "distribution": None, "metric": "levenshtein",
            "share": None, "radius": [0, 2]}
    files = {"dataset": {"base": "words.txt", "query": "asked.txt"}}
    kselect("run", write(INDEX, axes, input=files, algorithms=["none", "list_of_clusters"]),
            "--out", "out")
    assert {r["status"] for r in records(tmp_path / "out")} == {"ok"}
    said = kselect("run", write(INDEX, {"metric": "levenshtein"}), check=2).stderr
    assert "words" in one_line(said) and "/input/dataset" in said


@pytest.mark.parametrize(
    ("config", "axes", "changes", "said"),
    [
        (KNN, {}, {"task": "kn"}, "knn"),
        (KNN, {"metrik": "cosine"}, {}, "metric"),
        (KNN, {"metric": "cosin"}, {}, "cosine"),
        (KNN, {"dimension": None}, {}, "/axes/dimension"),
        (KNN, {"dtype": "float32"}, {}, "/axes"),
        (INDEX, {}, {"algorithms": ["list_of_cluster"]}, "list_of_clusters"),
        (INDEX, {"alpha": 2}, {}, "/axes/alpha"),
        (INDEX, {}, {"input": {"dataset": {"base": "x.npy"}}}, "query"),
    ],
)
def test_a_wrong_config_says_what_to_write(kselect, write, config, axes, changes, said):
    if "dataset" in changes.get("input", {}):
        axes = {"dimension": None, "distribution": None}
    message = one_line(kselect("run", write(config, axes, **changes), check=2).stderr)
    assert "small.json" in message and said in message


@pytest.mark.parametrize("config", [KNN, INDEX], ids=["knn", "index"])
def test_a_killed_sweep_resumes(binary, kselect, write, tmp_path, config):
    slow = write(config, {"n": 4000, "q": 64}, measure=MEASURE | {"max_seconds": 2, "warmup": 3})
    run = [binary, "run", slow, "--out", "out"]
    with subprocess.Popen(run, cwd=tmp_path, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as process:
        journal = tmp_path / "out" / "runs.jsonl"
        wait_until(lambda: journal.exists() and journal.stat().st_size > 0)
        process.send_signal(signal.SIGKILL)
    before = len(journal.read_text().splitlines())
    said = kselect("run", slow, "--out", "out", "--resume").stdout
    after = records(tmp_path / "out")
    assert before > 0 and {r["status"] for r in after} == {"ok"}
    assert len({r["key"] for r in after}) == len(after)
    assert "done before" in said


def test_two_runs_compare_and_shards_merge(kselect, write, tmp_path):
    config = write(KNN)
    for out in ("base", "new"):
        kselect("run", config, "--out", out)
    compared = json.loads(kselect("compare", "base", "new", "--format", "json", check=None).stdout)
    assert len(compared["cells"]) == 4
    assert not {"missing", "added", "not_comparable"} & {c["verdict"] for c in compared["cells"]}
    assert {c["problem"].rpartition("/metric=")[2] for c in compared["cells"]} == {
        "cosine/queries=separate", "sqeuclidean/queries=separate"}
    for part in "12":
        kselect("run", config, "--shard", f"{part}/2", "--out", f"part{part}")
    kselect("merge", "part1", "part2", "--out", "merged")
    merged = next((tmp_path / "merged").rglob("runs.jsonl")).parent
    assert {r["key"] for r in records(merged)} == {r["key"] for r in records(tmp_path / "base")}


def test_exports_tell_settings_apart(kselect, write, tmp_path):
    kselect("run", write(INDEX), "--out", "out")
    csv = kselect("export", "out", "--format", "csv").stdout.splitlines()
    assert csv[0].endswith(",settings") and len(csv) == 9
    assert len({line.rpartition(",")[2] for line in csv[1:]}) == 2
    shown = kselect("show", "out", "--table", "cells").stdout
    assert "list_of_clusters+cluster_size=16" in shown and "share=0.01" in shown
    markdown = kselect("export", "out", "--format", "markdown").stdout
    assert markdown.count("share=0.01") == 1


def test_other_measurements_are_of_selections(kselect, write):
    assert "/task" in one_line(kselect("counters", write(KNN), check=2).stderr)


def parts_of(*configs):
    """The keys of each config that a part may have."""
    own = ("task", "axes", "algorithms", "input", "executor")
    return [{key: config[key] for key in own if key in config} for config in configs]


SELECTION = {"axes": {"n": 512, "q": 8, "k": 4}, "algorithms": ["cpu/heap"], "executor": "cpu"}


@pytest.fixture
def three(tmp_path):
    """A config of a selection, k-NN and index searches, twice with the same task and other axes."""
    other = INDEX | {"axes": {"n": 300, "q": 10, "k": 2, "dimension": 4, "threads": 1},
                     "algorithms": ["sss"]}  # fmt: skip
    path = tmp_path / "three.json"
    path.write_text(json.dumps({"schema": "kselect-config/1", "name": "three", "measure": MEASURE,
                                "parts": parts_of(SELECTION, KNN, INDEX, other)}))
    return path


def test_one_config_runs_selections_and_both_searches(kselect, three, tmp_path):
    kselect("run", three, "--out", "out")
    found = records(tmp_path / "out")
    assert {r["status"] for r in found} == {"ok"}
    tasks = [r.get("task", "select") for r in found]
    assert tasks == ["select"] + ["knn"] * 4 + ["index"] * 9, "in the order of the parts"
    assert found[-1]["algorithm"]["name"] == "sss+threads=1" and found[-1]["problem"]["n"] == 300
    meta = json.loads((tmp_path / "out" / "meta.json").read_text())
    assert [part["task"] for part in meta["config"]["parts"]] == ["select", "knn", "index", "index"]
    again = kselect("run", three, "--out", "out", "--resume").stdout
    assert "done before" in again and len(records(tmp_path / "out")) == 14
    shown = kselect("show", "out", "--table", "cells").stdout
    assert "cpu/heap" in shown and "sss+threads=1" in shown
    (tmp_path / "resolved.json").write_text(json.dumps(meta["config"]))
    kselect("run", "resolved.json", "--out", "out", "--resume")  # the record's config is the same


def test_runs_of_parts_compare_and_their_shards_merge(kselect, three, tmp_path):
    for out in ("base", "new"):
        kselect("run", three, "--out", out)
    compared = json.loads(kselect("compare", "base", "new", "--format", "json", check=None).stdout)
    assert len(compared["cells"]) == 14
    assert not {"missing", "added", "not_comparable"} & {c["verdict"] for c in compared["cells"]}
    for part in "12":
        kselect("run", three, "--shard", f"{part}/2", "--out", f"part{part}")
    kselect("merge", "part1", "part2", "--out", "merged")
    merged = next((tmp_path / "merged").rglob("runs.jsonl")).parent
    assert {r["key"] for r in records(merged)} == {r["key"] for r in records(tmp_path / "base")}


def test_a_filter_may_leave_one_part(kselect, three, tmp_path):
    kselect("run", three, "--filter", "cpu/heap*dimension=12/metric=cosine", "--out", "out")
    (found,) = records(tmp_path / "out")
    assert found["task"] == "knn" and found["problem"]["metric"] == "cosine"
    assert "no cell is left" in one_line(kselect("run", three, "--filter", "nothing", check=2).stderr)


def test_a_part_may_have_no_cell_here(kselect, tmp_path):
    """Without a GPU its algorithms are left out, as "*" asks for."""
    here = {"schema": "kselect-config/1", "name": "here", "measure": MEASURE, "parts": [
        SELECTION | {"algorithms": ["*"], "executor": "cuda"}, SELECTION]}  # fmt: skip
    (tmp_path / "here.json").write_text(json.dumps(here))
    done = kselect("run", "here.json", "--filter", "n=512", "--out", "out")
    assert {r["executor"] for r in records(tmp_path / "out")} >= {"cpu"}
    assert "cpu/heap" in done.stdout


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"axes": {"n": 1, "q": 1, "k": 1}}, "/axes: belongs into each of the parts"),
        ({"parts": []}, "/parts"),
        ({"parts": [SELECTION, SELECTION | {"measure": MEASURE}]}, "/parts/1"),
        ({"parts": [SELECTION, SELECTION | {"algorithms": ["cpu/hepa"]}]}, "/parts/1/algorithms/0"),
        ({"parts": [SELECTION | {"axes": {"n": 4, "q": 1, "k": 9}}]}, "/parts/0/axes/k"),
        ({"parts": [SELECTION, *parts_of(KNN | {"axes": {"n": 4, "q": 1, "k": 1}})]}, "/parts/1/axes/dimension"),
    ],
)
def test_a_message_names_the_part(kselect, tmp_path, change, said):
    (tmp_path / "parts.json").write_text(json.dumps(
        {"schema": "kselect-config/1", "name": "parts", "parts": [SELECTION]} | change))
    message = one_line(kselect("run", "parts.json", "--dry-run", check=2).stderr)
    assert "parts.json" in message and said in message


def test_other_commands_take_no_parts(kselect, three):
    assert "/parts" in one_line(kselect("counters", three, check=2).stderr)
    said = one_line(kselect("run", three, "--dataset", "x.npy", check=2).stderr)
    assert "--dataset" in said and "parts" in said


def test_a_list_of_clusters_has_a_size_or_a_radius(kselect, write, tmp_path):
    axes = {"share": None, "cluster_size": 16, "cluster_radius": [0, 0.8], "threads": [0, 1]}
    kselect("run", write(INDEX, axes, algorithms=["list_of_clusters"]), "--out", "out")
    found = {r["algorithm"]["name"]: r for r in records(tmp_path / "out")}
    name = "list_of_clusters+cluster_size=16"
    assert set(found) == {name, f"{name}+threads=1", f"{name}+cluster_radius=0.8",
                          f"{name}+cluster_radius=0.8+threads=1"}  # fmt: skip
    assert {r["status"] for r in found.values()} == {"ok"}
    sizes = {n: r["counts"]["clusters"] for n, r in found.items()}
    assert sizes[name] == 36 != sizes[f"{name}+cluster_radius=0.8"]
    assert all(r["counts"]["intrinsic_dimension"] > 1 for r in found.values())
    kselect("run", write(INDEX, {"threads": 1}, executor="fiber", algorithms=["none"]), "--out", "fiber")
    assert all("executor cpu" in r["reason"] for r in records(tmp_path / "fiber"))


def test_a_stand_in_is_the_database_of_index_generate(kselect, write, tmp_path):
    axes = {"n": 3000, "q": 50, "k": 3, "dimension": 20, "distribution": "decaying(5)", "share": None,
            "cluster_size": None, "stand_in": ["none", "images"], "alpha": 0.5}  # fmt: skip
    kselect("run", write(INDEX, axes, algorithms=["sss"], seed=1), "--out", "out")
    plain, images = (r["counts"] for r in records(tmp_path / "out"))
    kselect("index", "generate", "images", "--count", 3000, "--output", "images.npy")
    kselect("index", "build", "images.npy", "x.kidx", "--metric", "euclidean", "--kind", "sss", "--alpha", 0.5)
    about = json.loads(kselect("index", "info", "x.kidx", "--json").stdout)
    assert images["pivots"] == about["pivots"] and images["diameter"] == pytest.approx(about["diameter"])
    assert images["diameter"] != plain["diameter"]
    for wrong in ({"dimension": 19}, {"distribution": "decaying(6)"}):
        said = kselect("run", write(INDEX, axes | {"stand_in": "images"} | wrong), check=2).stderr
        assert "/axes/stand_in" in one_line(said) and "decaying(5)" in said
