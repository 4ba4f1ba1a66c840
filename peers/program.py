"""Rows and proofs from kselect's own program: KSELECT_BINARY, or else build/release/kselect."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from plots.errors import Failure, PlotError
from plots.records import Record

ROOT = Path(__file__).resolve().parents[1]
WRONG_ANSWER = 7  # exit code of `kselect prove`
FAILED_CELLS = 1  # exit code of `kselect run` if some cell failed


def kselect(*arguments: object, fine: Sequence[int] = ()) -> subprocess.CompletedProcess[str]:
    """Run the program; raise PlotError unless it succeeds, finds a wrong answer or ends by a `fine` code."""
    program = os.environ.get("KSELECT_BINARY", str(ROOT / "build" / "release" / "kselect"))
    command = [program, *map(str, arguments)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as problem:
        message = f"{program}: {problem.strerror}; build it (scripts/build.sh) or set KSELECT_BINARY"
        raise PlotError(Failure.INPUT, message) from None
    if done.returncode not in (0, WRONG_ANSWER, *fine):
        raise PlotError(Failure.INPUT, done.stderr.strip())
    return done


def generate_rows(record: Record, folder: Path) -> Path:
    """Write a problem's rows, Q x n, to a file in the folder; return the file."""
    file = folder / "rows.npy"
    kselect(
        "generate", "rows", "--n", record.n, "--q", record.q, "--k", record.k, "--dtype", record.dtype,
        "--distribution", record.workload, "--seed", record.seed, "--output", file,
    )  # fmt: skip
    return file


def disprove(rows: Path, values: np.ndarray, indices: np.ndarray, *, largest: bool) -> str | None:
    """Return what is wrong with an answer (values and indices, Q x k each), or None."""
    folder = rows.parent
    np.save(folder / "values.npy", np.ascontiguousarray(values))
    np.save(folder / "indices.npy", np.ascontiguousarray(indices))
    answer = ["--values", folder / "values.npy", "--indices", folder / "indices.npy"]
    done = kselect("prove", "--rows", rows, *answer, *(["--largest"] if largest else []))
    return done.stderr.strip() if done.returncode == WRONG_ANSWER else None
