"""What algorithms promise, as the program says: `kselect list --json`."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from plots.errors import Failure, PlotError

ROOT = Path(__file__).resolve().parents[2]
_BUILDS = ("build/release/kselect", "build/gpu/kselect", "build/cpu/kselect")


def default_program() -> Path | None:
    """Return the program named by KSELECT_BINARY, or one that is built in this tree."""
    if named := os.environ.get("KSELECT_BINARY"):
        return Path(named)
    return next((ROOT / name for name in _BUILDS if (ROOT / name).is_file()), None)


def contracts(program: Path) -> dict[str, dict[str, Any]]:
    """Return what each entry of a program promises, by name; raises PlotError(INPUT)."""
    try:
        done = subprocess.run([str(program), "list", "--json"], capture_output=True, text=True, check=False)
    except OSError as e:
        raise PlotError(Failure.INPUT, f"{program}: {e.strerror}; name a kselect program") from None
    if done.returncode != 0:
        told = done.stderr.strip().splitlines() or ["it says nothing"]
        raise PlotError(Failure.INPUT, f"{program} list --json: {told[0]}")
    try:
        return {entry["name"]: _contract(entry) for entry in json.loads(done.stdout)}
    except (ValueError, KeyError, TypeError) as e:
        message = f"{program} list --json: this is no list of entries: {e!r}"
        raise PlotError(Failure.INPUT, message) from None


def _contract(entry: Mapping[str, Any]) -> dict[str, Any]:
    kept = ("file", "contract", "limits", "dtypes", "index_types", "payloads", "layouts", "threaded")
    executors = [
        name for name, state in entry["executors"].items() if state["reason"] != "not written for it"
    ]
    return {name: entry[name] for name in kept} | {"executors": executors}
