"""Configs that a sweep reads, and the records that it writes."""

import itertools
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kselect._launch import SHARE


def config_file(given: str | Path) -> Path:
    """A config's file, or that of the stock config of this name."""
    file = Path(given)
    if file.is_file():
        return file
    stock = SHARE / "configs" / f"{file.name.removesuffix('.json')}.json"
    if file.parent in (Path(), Path("configs")) and stock.is_file():
        return stock
    raise ValueError(f"{given}: there is no such config, neither as a file nor among kselect's own")


def parsed(text: str, where: str) -> Any:
    """What a text in JSON says. Raises ValueError, which says where it stands, if it is none."""
    try:
        return json.loads(text)
    except ValueError as why:
        raise ValueError(f"{where}: is no JSON: {why}") from None


def anchor_paths(config: dict[str, Any], folder: Path) -> None:
    """Make paths that are relative to the config's folder absolute: its copy lies elsewhere."""

    def anchored(path: Any) -> Any:
        return str(folder / path) if isinstance(path, str) and not path.startswith("${") else path

    if isinstance(config.get("plugins"), list):
        config["plugins"] = [anchored(path) for path in config["plugins"]]
    _anchor_part(config, anchored)
    parts = config.get("parts")
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, dict):
            _anchor_part(part, anchored)


def _anchor_part(part: dict[str, Any], anchored: Callable[[Any], Any]) -> None:
    """The paths of a config without parts, or of one part."""
    axes = part.get("axes")
    lengths = axes.get("lengths") if isinstance(axes, dict) else None
    for one in lengths if isinstance(lengths, list) else [lengths]:
        if isinstance(one, dict) and "file" in one:
            one["file"] = anchored(one["file"])
    given = part.get("input")
    for of, member in (("rows", "file"), ("dataset", "base"), ("dataset", "query")):
        spec = given.get(of) if isinstance(given, dict) else None
        if isinstance(spec, dict) and member in spec:
            spec[member] = anchored(spec[member])


@contextmanager
def as_file(config: dict[str, Any]) -> Iterator[str]:
    """A file of this config, until the end."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "config.json"
        file.write_text(json.dumps(config))
        yield str(file)


def new_folder(name: Any) -> Path:
    """A folder in out/ that is not there, with the time in its name."""
    stem = f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
    names = (stem if i == 1 else f"{stem}-{i}" for i in itertools.count(1))
    return next(folder for one in names if not (folder := Path("out") / one).exists())


class Run:
    """A finished sweep: its folder, and a record for each cell."""

    def __init__(self, folder: str | Path) -> None:
        """Read the records of a folder that `kselect.bench.run` or `kselect run` wrote."""
        self.folder = Path(folder)
        lines = (self.folder / "runs.jsonl").read_text().splitlines()
        #: A dictionary for each cell, as docs/reference/records.md says.
        self.records: list[dict[str, Any]] = [json.loads(line) for line in lines]

    def median(self, algorithm: str) -> dict[tuple[int, int, int], float]:
        """The medians in seconds of an entry's timed cells, by (n, Q, k)."""
        return {
            (p["n"], p["q"], p["k"]): r["time"]["median"] * 1e-9
            for r in self.records
            if (p := r["problem"]) and r["algorithm"]["name"] == algorithm and r["time"]
        }

    def __str__(self) -> str:
        """A line for each cell: problem, entry, and its time or what became of it."""
        lines = []
        for r in self.records:
            p = r["problem"]
            told = f"{r['time']['median'] / 1e3:.1f} us" if r["time"] else r["status"]
            reason = f": {r['reason']}" if r["reason"] else ""
            shape = f"n={p['n']} Q={p['q']} k={p['k']} {p['dtype']}"
            lines.append(f"{shape}  {r['algorithm']['name']}  {told}{reason}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        """The folder, and how many cells there are."""
        return f"Run({str(self.folder)!r}), {len(self.records)} cells"
