"""The table of the data sets that searches were measured on."""

from typing import Any

from plots.reproduce.data_sets import table_of
from plots.reproduce.searches import Search


def search(source: str, facts: dict[str, float], queries: int = 24000, **traits: Any) -> Search:
    """Return a search of a data set on a GPU."""
    known = {"kind": "sss", "source": source, "executor": "cuda", "n": 96000} | traits
    return Search("folder", "path", "gpu", "commit", known, {}, queries=queries, facts=facts)


def test_a_row_has_all_indexes_of_a_data_set() -> None:
    images = {"intrinsic_dimension": 4.87}
    rows = table_of([
        search("images", images, pivots=72, alpha=0.5),
        search("images", images, pivots=1, alpha=0.66),
        search("images", images, pivots=72, alpha=0.5, queries=500),
        search("images", images | {"clusters": 1477.0}, kind="list_of_clusters"),
        search("faces", {"intrinsic_dimension": 32.1}),
    ])  # fmt: skip
    assert rows[2:] == [
        "| Images | 96,000 | 24,000 | 4.9 | 0.5: 72, 0.66: 1 | 1,477 |",
        "| Faces | 96,000 | 24,000 | 32.1 | – | – |",
        "",
    ]


def test_clusters_that_fibers_counted_are_visits() -> None:
    assert table_of([search("images", {"intrinsic_dimension": 4.87, "clusters": 9.0}, executor="fiber")]) == []
    assert table_of([search("images", {})]) == []
