"""Links to the files that algorithms are written in: in the site itself, or where the user says."""

from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_FOLDER = "source"


def copied(files: Iterable[str], root: Path = ROOT) -> tuple[dict[str, str], dict[str, bytes]]:
    """Return a link for each file that the tree has, and the site's copies by path.

    Copies end in .txt, so that a browser shows them. An installed program has no sources to copy.
    """
    links, copies = {}, {}
    for file in sorted(set(files)):
        path = root / file
        # A record's file is text from elsewhere; only what is in the tree is taken.
        inside = file and not Path(file).is_absolute() and path.resolve().is_relative_to(root)
        if inside and path.is_file():
            links[file] = f"{_FOLDER}/{file}.txt"
            copies[links[file]] = path.read_bytes()
    return links, copies


def linked(files: Iterable[str], address: str) -> dict[str, str]:
    """Return a link for each file below an address, such as https://host/owner/kselect/blob/COMMIT."""
    return {file: f"{address.rstrip('/')}/{file}" for file in sorted(set(files)) if file}
