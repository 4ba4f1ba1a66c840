"""Configs that a sweep reads, and the records that it writes."""

import json
import tempfile
from collections.abc import Iterator
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


def anchor_paths(config: dict[str, Any], folder: Path) -> None:
    """Make paths that are relative to the config's folder absolute: its copy lies elsewhere."""

    def anchored(path: Any) -> Any:
        return str(folder / path) if isinstance(path, str) and not path.startswith("${") else path

    if isinstance(config.get("plugins"), list):
        config["plugins"] = [anchored(path) for path in config["plugins"]]
    given = config.get("input")
    for of, member in (("rows", "file"), ("dataset", "base"), ("dataset", "query")):
        spec = given.get(of) if isinstance(given, dict) else None
        if isinstance(spec, dict) and member in spec:
            spec[member] = anchored(spec[member])


@contextmanager
def as_file(config: dict[str, Any]) -> Iterator[str]:
    """A file of this config, until the end."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{config.get('name', 'config')}.json"
        file.write_text(json.dumps(config))
        yield str(file)


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
