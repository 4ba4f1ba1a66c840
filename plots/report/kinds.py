"""Recognises directories of records other than sweeps, and names the commands that read them."""

from collections.abc import Callable
from pathlib import Path

from plots.files import RUNS, begins_with, holds
from plots.older_tiles import SCALING

# (kind of record, test that recognises it, command that draws or converts it)
_KINDS: tuple[tuple[str, Callable[[Path], bool], str], ...] = (
    (
        "searches in an older form",
        lambda d: (
            begins_with(d, RUNS, b'"what":"index_search"')
            or holds(d, "knn_end_to_end.jsonl")
            or holds(d, SCALING)
            or any(begins_with(d, path.name, b'"what": "knn"') for path in d.glob("*.json"))
        ),
        "python -m plots.older_searches {}",
    ),
)


def other_kind(directory: Path) -> str:
    """Return a sentence that names the records found instead of a sweep's; "" if none are known."""
    if (directory / "meta.json").exists():
        return ""
    for what, holds, command in _KINDS:
        if holds(directory):
            how = command.format(directory)
            return f"{directory}: a record of {what}, not of a sweep; see `{how}`"
    return ""
