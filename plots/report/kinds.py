"""Tells what a directory holds that is no run of a sweep, and which command draws it."""

from collections.abc import Callable
from pathlib import Path

_BEGIN = 200  # bytes: a record says what it is in its first members

# What a record is, how it is known, and the command that draws it.
_KINDS: tuple[tuple[str, Callable[[Path], bool], str], ...] = (
    (
        "searches in metric indexes",
        lambda d: _says(d / "runs.jsonl", b'"what":"index_search"'),
        "python -m plots.index_searches {}",
    ),
    (
        "k-NN searches end to end",
        lambda d: (d / "knn_end_to_end.jsonl").is_file(),
        "python -m plots.knn_end_to_end {}",
    ),
    (
        "k-NN searches on growing numbers of GPUs",
        lambda d: (d / "scaling.jsonl").is_file(),
        "python -m plots.scaling {}",
    ),
    (
        "times of a k-NN search's stages",
        lambda d: any(_says(path, b'"what": "knn"') for path in d.glob("*.json")),
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


def _says(path: Path, text: bytes) -> bool:
    try:
        with path.open("rb") as file:
            return text in file.read(_BEGIN)
    except OSError:
        return False
