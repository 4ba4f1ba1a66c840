"""Tells what a directory holds that is no run of a sweep, and which command draws it."""

from collections.abc import Callable
from pathlib import Path

from plots.files import RUNS, begins_with, holds

# What a record is, how it is known, and the command that draws it.
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
    """Return a sentence on what is recorded there instead of a sweep; "" where nothing is known."""
    if (directory / "meta.json").exists():
        return ""
    for what, holds, command in _KINDS:
        if holds(directory):
            how = command.format(directory)
            return f"{directory}: a record of {what}, not of a sweep; `{how}` draws it"
    return ""
