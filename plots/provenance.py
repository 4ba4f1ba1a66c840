"""Tells whether a record names a commit of the history, and kernels that this commit has.

A cell names its algorithm's file and a hash of its sources, which is
computed again from the commit's own tree (`source_hashes`).

    python -m plots.provenance           which records have no provenance, and why
    python -m plots.provenance --write   also brings results/older_records.toml up to date: listed
                                         records that were made again are removed; none is added

It needs the history: in a shallow clone it says so.
"""

import argparse
import gzip
import hashlib
import posixpath
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plots.errors import Failure, PlotError
from plots.files import RUNS, holds, read_bytes, stored
from plots.journal import decode, read_journal
from plots.reproduce import older
from plots.source_hashes import History, Shallow, stem
from plots.words import amount_of


@dataclass(frozen=True)
class Finding:
    """A run without provenance."""

    folder: str
    digest: str
    reason: str
    converted: bool = False  # from a record of an older form, which the history has


def check(folder: Path, history: History) -> Finding | None:
    """Return why a run has no provenance; None if it has."""
    path = stored(folder, RUNS)
    digest = hashlib.sha256(read_bytes(path)).hexdigest()[:16]
    records, _ = read_journal(path)
    meta = decode(read_bytes(folder / "meta.json"), str(folder / "meta.json"))
    reason = _lost_origin(folder, meta, history) or _reason(meta, records, history)
    converted = "converted_from" in meta
    return Finding(folder.as_posix(), digest, reason, converted) if reason else None


def _lost_origin(folder: Path, meta: Mapping[str, Any], history: History) -> str:
    """Return which record a run was converted from that the history does not have; "" if none."""
    for file in meta.get("converted_from", {"files": ()})["files"]:
        at, name = str(file["commit"]), posixpath.normpath((folder / file["name"]).as_posix())
        if at not in history.commits:
            return f"the history has no commit {at[:9]!r} of {name}, which it was converted from"
        one = history.files(at).get(name, "")
        history.fetch([one] if one else [])
        data = history.content(one) if one else b""
        if name.endswith(".gz") and data:
            data = gzip.decompress(data)
        if hashlib.sha256(data).hexdigest() != file["sha256"]:
            return f"commit {at[:9]} does not have the {name} that it was converted from"
    return ""


def _reason(meta: dict[str, object], records: list[dict[str, object]], history: History) -> str:
    # A cell that another commit made than most of its run names it.
    made = dict.fromkeys(_made(record if "git" in record else meta) for record in records)
    for commit, dirty in made or [_made(meta)]:
        if commit not in history.commits:
            return f"its commit {commit[:9] or 'unknown'} is not in the history"
        if dirty:
            return f"it was made by a changed tree of {commit[:9]}, whose changes are not recorded"
    if any(record.get("task") == "index" and not _source_hash(record) for record in records):
        return "its searches name no source hash"
    for commit, _ in made:
        own = [r for r in records if _made(r if "git" in r else meta)[0] == commit]
        if reason := _hashes_differ(own, commit, history):
            return reason
    return ""


def _source_hash(record: dict[str, object]) -> object:
    algorithm = record["algorithm"]
    assert isinstance(algorithm, dict)
    return algorithm.get("source_hash")


def _made(value: dict[str, object]) -> tuple[str, bool]:
    git = value.get("git")
    assert isinstance(git, dict)
    return str(git.get("commit", "")), bool(git.get("dirty"))


def _hashes_differ(records: list[dict[str, object]], commit: str, history: History) -> str:
    hashes = history.source_hashes(commit)
    wrong: dict[str, set[str]] = defaultdict(set)
    for record in records:
        algorithm = record["algorithm"]
        assert isinstance(algorithm, dict)
        file = str(algorithm.get("file", ""))
        # Libraries' scripts have other hashes (peers/recorded.py) and no kernels of this project.
        if not file.startswith(("algorithms/", "baselines/")):
            continue
        if hashes.get(file) != algorithm.get("source_hash"):
            wrong[file].add(str(algorithm.get("source_hash")))
    if not wrong:
        return ""
    named = ", ".join(sorted(stem(file) for file in wrong)[:3])
    more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
    return f"commit {commit[:9]} does not have the sources of {named}{more} by their hashes"


def runs(results: Path) -> list[Path]:
    """Return the folders with a journal under results/MACHINE/."""
    return sorted(f for f in results.glob("*/*") if f.is_dir() and holds(f, RUNS))


def findings(root: Path) -> list[Finding]:
    """Return all runs under results/ without provenance; raises Shallow."""
    history = History(root)
    found = [check(folder, history) for folder in runs(Path("results"))]
    return [finding for finding in found if finding]


def text(found: Iterable[Finding]) -> str:
    """Return the list of older records as a file."""
    head = (
        "# Records without provenance: their commit is not in the history, their tree was changed, or "
        "their\n"
        "# commit does not have the kernels. Documents mark them as older records. The list may only "
        "shrink:\n"
        "# `python -m plots.provenance --write` removes what was recorded again. A converted one was made from\n"
        "# a record of an older form, which the history has as meta.json names it.\n"
    )
    return head + "".join(
        f'\n[[record]]\nfolder = "{f.folder}"\ndigest = "{f.digest}"\nreason = "{f.reason}"\n'
        + ("converted = true\n" if f.converted else "")
        for f in found
    )


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns 1 where a record without provenance is not listed."""
    parser = argparse.ArgumentParser(
        prog="python -m plots.provenance", description="Check which records have no provenance."
    )
    add = parser.add_argument
    add("--write", action="store_true", help="remove from the list what was recorded again")
    add("--first", action="store_true", help=argparse.SUPPRESS)  # how the list was begun
    options = parser.parse_args(arguments)
    try:
        found = findings(Path())
    except Shallow as e:
        raise PlotError(Failure.INPUT, str(e)) from e
    listed = older.read()
    new = [f for f in found if listed.reason(f.folder, f.digest) is None]
    for f in found:
        print(f"{f.folder}: {f.reason}{' (not listed)' if f in new else ''}")
    kept = found if options.first else [f for f in found if f not in new]
    if options.write or options.first:
        older.LIST.write_text(text(kept), encoding="utf-8")
    print(f"{amount_of(len(found), 'record')} without provenance, {len(new)} of them not listed")
    return 1 if new and not options.first else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except PlotError as e:
        print(f"provenance: {e}", file=sys.stderr)
        sys.exit(int(e.failure))
