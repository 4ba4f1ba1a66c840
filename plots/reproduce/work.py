"""Counted work by algorithm and problem, of a row: how many rows there were does not matter."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from plots.errors import Failure, PlotError
from plots.records import Record

Work = Mapping[str, Mapping[tuple[int, int], Mapping[str, float]]]  # algorithm, (n, k): a row's


def work_of(records: Sequence[Record]) -> Work:
    """Return the counted work of a row of each cell on fibers."""
    found: dict[str, dict[tuple[int, int], dict[str, float]]] = {}
    for r in records:
        if r.counters:
            row = {name: count / r.q for name, count in r.counters.items()}
            found.setdefault(r.algorithm, {})[r.n, r.k] = row
    return found


def read_work(path: Path) -> Work:
    """Read results/counters.json, of uniform rows; {} if it does not exist."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
        found: dict[str, dict[tuple[int, int], dict[str, float]]] = {}
        for cell in value["cells"]:
            sizes = dict(re.findall(r"(?:^|/)([nkQ])=(\d+)", cell["problem"]))
            if "uniform" in cell["problem"] and len(sizes) == 3:
                row = {name: c / int(sizes["Q"]) for name, c in cell["counters"].items()}
                at = int(sizes["n"]), int(sizes["k"])
                found.setdefault(cell["algorithm"], {})[at] = row
        return found
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError) as e:
        raise PlotError(Failure.INPUT, f"{path}: no record of counted work: {e!r}") from e
