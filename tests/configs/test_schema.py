"""configs/config.schema.json accepts every shipped config and refuses broken ones.

The schema serves editors; the parser in harness/config decides. Each broken config below is the
minimal one with a single change, so that it is refused for that change alone.
"""

import copy
import json
from pathlib import Path

import jsonschema
import pytest

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
SCHEMA = json.loads((CONFIGS / "config.schema.json").read_text())
SHIPPED = sorted(p for p in CONFIGS.rglob("*.json") if p.name != "config.schema.json")

MINIMAL = {
    "schema": "kselect-config/1",
    "name": "minimal",
    "axes": {"n": 1024, "q": 4, "k": 8},
    "algorithms": ["cpu/*"],
}
DATASET = {"base": "${DATA}/base.idx", "metric": "euclidean", "self": True}
REMOVE = object()


KNN = {
    "schema": "kselect-config/1",
    "name": "minimal",
    "task": "knn",
    "axes": {"n": 1024, "q": 4, "k": 8, "dimension": 16},
    "algorithms": ["auto"],
}
INDEX = KNN | {
    "task": "index",
    "axes": {"n": 1024, "q": 4, "k": 8, "dimension": 16, "metric": "euclidean", "cluster_size": [32, 64]},
    "algorithms": ["none", "list_of_clusters"],
}


def accepts(config):
    return jsonschema.Draft202012Validator(SCHEMA).is_valid(config)


def changed(path, value):
    """MINIMAL with the member at `path` ("axes/n") set, or removed; missing objects are made."""
    config = copy.deepcopy(MINIMAL)
    *parents, last = path.split("/")
    target = config
    for key in parents:
        target = target.setdefault(key, {})
    if value is REMOVE:
        del target[last]
    else:
        target[last] = value
    return config


def test_the_schema_is_valid_itself():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_configs_are_shipped():
    assert {"smoke.json", "quick.json", "mnist.json"} <= {p.name for p in SHIPPED}


@pytest.mark.parametrize("path", SHIPPED, ids=lambda p: p.name)
def test_accepts_each_shipped_config(path):
    config = json.loads(path.read_text())
    jsonschema.Draft202012Validator(SCHEMA).validate(config)
    assert config["name"] == path.stem


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("axes/n", [0, "2^20 + 1", {"pow2": [10, 16]}, {"pow2": [20, 30, 2]}]),
        ("axes/dtype", ["float32", "bfloat16", "int32", "uint32", "int8", "uint8", "float8_e4m3fn", "float8_e5m2"]),
        ("axes/distribution", ["uniform", "inf_fraction(0.5)", "kth_ties(1e3)"]),
        ("axes/_note", "why"),
        ("axes", {"n_times_q": "2^22", "n": {"pow2": [10, 20]}, "k": 8}),
        ("axes", {"n_times_q": 4096, "q": [1, 2], "k": 8}),
        ("axes", {"shapes": [[1024, 4, 8], ["2^20", 1, 3]], "dtype": "float64"}),
        ("algorithms", [{"name": "cpu/sort", "where": "n*q <= 2^24 and k < n"}]),
        ("constraints", ["k <= n", "(n + q)/2 != 7"]),
        ("exclude", [{"n": 1024, "k": 8}]),
        ("input", {"generator": {}}),
        ("input", {"generator": {"vectors": {"dimension": "2^7", "metric": "cosine"}}}),
        ("input", {"dataset": DATASET}),
        ("algorithms", ["*", "cpu/*@here", {"name": "a@here"}]),
        ("measure/target_spread", 0.5),
        ("executor", ["cpu", "fiber"]),
        ("executor", "auto"),
    ],
)
def test_accepts(path, value):
    assert accepts(changed(path, value))


def test_accepts_all_with_a_dataset_only():
    config = changed("input", {"dataset": DATASET})
    config["axes"]["n"] = [1024, "all"]
    config["axes"]["q"] = "all"
    assert accepts(config)
    del config["input"]
    assert not accepts(config)


def test_rows_of_a_file_have_their_own_sizes_and_types():
    config = changed("input", {"rows": {"file": "rows.npy"}})
    config["axes"].pop("distribution", None)
    config["axes"] |= {"n": "all", "q": "all", "dtype": ["float64"]}
    assert accepts(config)
    assert not accepts(config | {"axes": config["axes"] | {"dtype": "bfloat16"}})
    assert not accepts(config | {"axes": config["axes"] | {"distribution": "uniform"}})
    assert not accepts(config | {"input": {"rows": {}}})


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("algorithms", ["a@b"]),
        ("schema", "kselect-config/2"),
        ("schema", REMOVE),
        ("name", "Upper"),
        ("name", ""),
        ("name", REMOVE),
        ("seed", -1),
        ("seed", 1.5),
        ("colour", "red"),
        ("_note", 1),
        ("_comment", "text"),
        ("axes", REMOVE),
        ("axes/kk", 8),
        ("axes/n", []),
        ("axes/n", -1),
        ("axes/n", 2**40 + 1),
        ("axes/n", 1.5),
        ("axes/n", "many"),
        ("axes/n", "all"),
        ("axes/n", [1024, 1024]),
        ("axes/n", {"pow2": [10]}),
        ("axes/n", {"pow2": [10, 41]}),
        ("axes/n", {"pow2": [10, 20, 0]}),
        ("axes/n", {"pow3": [1, 2]}),
        ("axes/n", REMOVE),
        ("axes/k", 0),
        ("axes/k", True),
        ("axes/k", "all"),
        ("axes/n_times_q", 4096),
        ("axes/shapes", [[1024, 4, 8]]),
        ("axes", {"shapes": [[1024, 4]]}),
        ("axes", {"shapes": [[1024, 4, 0]]}),
        ("axes", {"shapes": []}),
        ("axes/dtype", "float8"),
        ("axes/dtype", []),
        ("axes/layout", ["row_major", "row_major"]),
        ("axes/distribution", "external"),
        ("axes/distribution", "uniform(3)"),
        ("constraints", []),
        ("constraints", ["k"]),
        ("constraints", ["k < m"]),
        ("exclude", [{}]),
        ("exclude", [{"n": [1024]}]),
        ("algorithms", []),
        ("algorithms", ["cpu/sort", "cpu/sort"]),
        ("algorithms", ["cpu/[a-z]"]),
        ("algorithms", [{"where": "n < 5"}]),
        ("input", {}),
        ("input", {"generator": {}, "dataset": DATASET}),
        ("input", {"generator": {"seed": 1}}),
        ("input", {"generator": {"vectors": {"dimension": 0, "metric": "cosine"}}}),
        ("input", {"generator": {"vectors": {"dimension": 128}}}),
        ("input", {"dataset": {**DATASET, "query": "q.idx"}}),
        ("input", {"dataset": {**DATASET, "self": False}}),
        ("input", {"dataset": {**DATASET, "metric": "manhattan"}}),
        ("input", {"dataset": {**DATASET, "base": "$DATA"}}),
        ("input", {"dataset": {**DATASET, "limit": 0}}),
        ("measure/max_samples", 0),
        ("measure/max_seconds", 0),
        ("measure/target_spread", 1.5),
        ("measure/warm_up", 1),
        ("executor", "gpu"),
        ("executor", []),
        ("executor", ["auto"]),
    ],
)
def test_refuses(path, value):
    assert not accepts(changed(path, value))


@pytest.mark.parametrize(("axis", "value"), [("distribution", "uniform"), ("dtype", "float64")])
def test_refuses_beside_a_dataset(axis, value):
    config = changed("input", {"dataset": DATASET})
    assert accepts(config)
    config["axes"][axis] = value
    assert not accepts(config)


@pytest.mark.parametrize(
    "config",
    [
        KNN,
        KNN | {"axes": KNN["axes"] | {"metric": ["cosine", "euclidean"], "product": ["float16", "bfloat16", "int8", "float64"]}},
        KNN | {"input": {"dataset": {"base": "x.npy", "query": "y.npy"}}},
        KNN | {"input": {"dataset": {"base": "x.npy"}}, "axes": {"n": "all", "q": "all", "k": 1, "queries": "graph"}},
        INDEX,
        INDEX | {"axes": INDEX["axes"] | {"share": [0.001, 0.01], "alpha": 0.5, "batch": 0}},
        MINIMAL | {"task": "select"},
    ],
)
def test_accepts_tasks(config):
    jsonschema.Draft202012Validator(SCHEMA).validate(config)


@pytest.mark.parametrize(
    "config",
    [
        KNN | {"task": "kn"},
        KNN | {"axes": KNN["axes"] | {"dtype": "float32"}},
        KNN | {"axes": KNN["axes"] | {"cluster_size": 64}},
        KNN | {"axes": KNN["axes"] | {"product": "tf32"}},
        KNN | {"input": {"rows": {"file": "x.npy"}}},
        KNN | {"input": {"dataset": DATASET}},
        INDEX | {"axes": INDEX["axes"] | {"product": "float16"}},
        INDEX | {"axes": INDEX["axes"] | {"radius_rule": "sideways"}},
        MINIMAL | {"axes": MINIMAL["axes"] | {"dimension": 16}},
    ],
)
def test_refuses_what_a_task_does_not_have(config):
    assert not accepts(config)
