"""What a cell of task `index` says of its search, for figures and claims."""

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

# Generated objects that stand for a database of Barrientos 2011: distribution, dimension.
_STAND_INS = {("decaying(5)", 20): "images", ("decaying(64)", 254): "faces"}


# What a source is called by a metric that another has the same distances as.
_METRICS = {"levenshtein_table": "_table"}

# What the thesis runs beside the indexes: heaps on rows of distances that were computed before.
_APART = "batch-heap-reduction"


# Exact k-NN of vectors without an index (task `knn`).
FUSED = "fused"


def is_search(cell: Mapping[str, Any]) -> bool:
    """Tell whether a cell is of a search, or the thesis' exhaustive search in two steps."""
    return cell.get("task") in ("index", "knn") or is_apart(cell)


def is_apart(cell: Mapping[str, Any]) -> bool:
    """Tell whether a cell selects by the thesis' heaps from distances whose time it has."""
    own = "task" not in cell and kind_of(cell) == _APART
    return bool(own and "vectors" in cell["input"] and cell["inputs"].get("distances"))


def kind_of(cell: Mapping[str, Any]) -> str:
    """Return the kind of index: the entry's name without its variants."""
    return str(cell["algorithm"]["name"].split("+")[0])


def source_of(cell: Mapping[str, Any]) -> str:
    """Return what the objects are: their file without ending, or what they stand for."""
    if cell["input"]["kind"] != "generated":
        name = PurePosixPath(cell["input"]["name"]).name.split(".")[0]
        return name + _METRICS.get(cell["problem"].get("metric", ""), "")
    problem = cell["problem"]
    vectors = cell["input"].get("vectors", problem)
    made = (problem["distribution"], vectors["dimension"])
    return _STAND_INS.get(made, f"{made[0]}, d = {made[1]}")


def traits_of(cell: Mapping[str, Any]) -> dict[str, Any]:
    """Return the traits by which searches are compared (`plots.reproduce.searches`)."""
    if is_apart(cell):
        return {"kind": "none_apart", "source": source_of(cell), "what": "knn", "executor": cell["executor"],
                "threads": cell["threads"], "k": cell["problem"]["k"]} | _sizes(cell["problem"])  # fmt: skip
    problem, own = cell["problem"], cell["algorithm"]["settings"]
    if cell["task"] == "knn":
        return {"kind": FUSED, "source": source_of(cell), "what": "knn", "executor": cell["executor"],
                "threads": cell["threads"], "k": problem["k"]} | _sizes(problem)  # fmt: skip
    counts, kind = cell["counts"], kind_of(cell)
    is_range = problem["radius"] > 0 or problem["share"] > 0
    kernels = cell["executor"] != "cpu"  # there alone the radius' rule, batches and distribution matter
    traits = {
        "kind": "list_of_clusters_of_radius" if own.get("cluster_radius") else kind,
        "source": source_of(cell),
        "what": "range" if is_range else "knn",
        "executor": cell["executor"],
        "threads": own.get("threads") or cell["threads"],
    } | _sizes(problem)
    if is_range:
        name = "share" if problem["share"] > 0 else "radius"
        traits[name] = problem[name]
    else:
        traits["k"] = problem["k"]
    if kernels:
        traits |= {name: own[name] for name in ("batch",) if name in own}
        if kind == "list_of_clusters":
            traits["walk"] = own.get("walk", "members")
        if not is_range:
            traits["radius_rule"] = own.get("radius_rule", "increasing")
        if kind == "sss":
            traits["distribution"] = own["distribution_rule"]
    if kind == "list_of_clusters":
        size = "cluster_radius" if own.get("cluster_radius") else "cluster_size"
        traits[size] = own[size]
    if kind == "sss":
        traits |= {"alpha": own["alpha"], "pivots": int(counts["pivots"])}
    return traits


def _sizes(problem: Mapping[str, Any]) -> dict[str, Any]:
    """Return the number of objects, and the intrinsic dimension that vectors were generated with."""
    sizes = {"n": problem["n"]}
    name, _, rest = str(problem.get("distribution", "")).partition("(")
    if name == "decaying":
        sizes["intrinsic_dimension"] = float(rest.rstrip(")"))
    return sizes


def values_of(cell: Mapping[str, Any]) -> dict[str, float]:
    """Return the quantities of a search (`plots.reproduce.searches.QUANTITIES`)."""
    queries, counts = cell["problem"]["q"], {} if is_apart(cell) else cell["counts"]
    traits = traits_of(cell)
    values = {}
    if cell["time"] is not None:
        values["time"] = float(cell["time"]["median"])
        if is_apart(cell):
            values["time"] += float(cell["inputs"]["distances"]["median"])
        values["throughput"] = queries / values["time"] * 1e9
    if traits["kind"] == FUSED:  # timed on vectors in the GPU's memory
        return values | {"kernels": values["time"]} if values else values
    kernels = cell.get("stages", {}).get("kernels")
    if kernels:
        values["kernels"] = float(kernels["median"])
    increasing = traits.get("radius_rule") == "increasing" and traits["kind"] != "none"
    if increasing and traits["what"] == "knn" and "pending" in counts:
        values["second_turns"] = counts["pending"] / queries
    if "distances" in counts:
        values["distances"] = counts["distances"] / queries
    if "bytes_read" in counts:
        values["bytes"] = (counts["bytes_read"] + counts["bytes_written"]) / queries
    return values
