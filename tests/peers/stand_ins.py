"""What stands for a config, a problem and a rival in the tests of peers.rivals."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from peers import callables

CONFIG = {
    "schema": "kselect-config/1", "name": "small",
    "axes": {
        "n": [64, 256], "q": [4], "k": [8], "dtype": ["float32", "float16"],
        "direction": ["smallest", "largest"], "distribution": ["uniform", "few_distinct(16)"],
    },
    "algorithms": ["cpu/heap", "cpu/sort"], "executor": "cpu",
    "measure": {"warmup": 0, "rounds": 2, "min_samples": 2, "max_samples": 2, "max_seconds": 0.05},
}  # fmt: skip


def config_file(folder: Path, **axes: Any) -> Path:
    """Write the config with other axes."""
    path = folder / "small.json"
    path.write_text(json.dumps(CONFIG | {"axes": CONFIG["axes"] | axes}))
    return path


def own(name: str, call: Any, **more: Any) -> callables.Rival:
    """Return a rival on the host."""
    facts = callables._facts(name, f"{name} 1.0", "cpu", "peers/callables.py")
    return callables.Rival(facts, call, callables.Host(), callables.FLOATS, **more)


def partition(rows: np.ndarray, k: int, largest: bool) -> Any:
    """Return a right answer."""
    return callables._partition(np, rows, k, largest)


def problem(**changes: Any) -> Any:
    """Return a problem as the plan has it."""
    usual = {
        "n": 64, "q": 4, "k": 8, "dtype": "float32", "direction": "smallest", "seed": 42,
        "payload": "values_and_indices", "layout": "row_major", "workload": "uniform", "lengths": "", "mask": "",
    }  # fmt: skip
    return SimpleNamespace(**usual | changes)
