"""Recognises directories of records other than sweeps, and names the commands that draw them."""

from collections.abc import Callable
from pathlib import Path

from plots.files import RUNS, begins_with, holds

# (kind of record, test that recognises it, command that draws it)
_KINDS: tuple[tuple[str, Callable[[Path], bool], str], ...] = (
    (
        "searches in metric indexes",
        lambda d: begins_with(d, RUNS, b'"what":"index_search"'),
        "python -m plots.index_searches {}",
    ),
    (
        "k-NN searches end to end",
        lambda d: holds(d, "knn_end_to_end.jsonl"),
        "python -m plots.knn_end_to_end {}",
    ),
    (
        "k-NN searches on growing numbers of GPUs",
        lambda d: holds(d, "scaling.jsonl"),
        "python -m plots.scaling {}",
    ),
    (
        "times of a k-NN search's stages",
        lambda d: any(begins_with(d, path.name, b'"what": "knn"') for path in d.glob("*.json")),
        "scripts/reproduce.sh --from {} K-knng",
    ),
)


def other_kind(directory: Path) -> str:
    """Return a sentence that names the records found instead of a sweep's; "" if none are known."""
    if (directory / "meta.json").exists():
        return ""
    for what, holds, command in _KINDS:
        if holds(directory):
            how = command.format(directory)
            return f"{directory}: a record of {what}, not of a sweep; `{how}` draws it"
    return ""
