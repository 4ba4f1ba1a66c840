"""Rows and proofs from kselect's own program: KSELECT_BINARY, or else build/release/kselect."""

import os
import subprocess
import tempfile
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
    """Write a problem's rows, Q x n, to a file in the folder; return the file. Their lengths and their mask go beside it.

    Rows of bfloat16 are those of float32, rounded as the harness rounds them, and the file has their bits as int16.
    """
    file = folder / "rows.npy"
    half = record.dtype == "bfloat16"  # NumPy has no such numbers
    kselect(
        "generate", "rows", "--n", record.n, "--q", record.q, "--k", record.k,
        "--dtype", "float32" if half else record.dtype,
        "--distribution", record.workload, "--seed", record.seed, "--output", file, *_lengths_of(record, folder),
        *(["--mask", record.mask, "--mask-output", mask_beside(file)] if record.mask else []),
    )  # fmt: skip
    if half:
        np.save(file, _bits_of_bfloat16(np.load(file)))
    if record.mask:
        _gather(file)
    return file


def lengths_beside(rows: Path) -> Path:
    """Return the file with the lengths of rows."""
    return rows.parent / "lengths.npy"


def mask_beside(rows: Path) -> Path:
    """Return the file with the mask of rows: 1 where an element is admitted, n for all rows or Q x n."""
    return rows.parent / "mask.npy"


def _gather(file: Path) -> None:
    """Write what the mask of rows admits beside them, as ragged rows whose elements a map names by their columns."""
    rows = np.load(file)
    mask = np.broadcast_to(np.load(mask_beside(file)).astype(bool), rows.shape)
    counts = mask.sum(axis=1, dtype=np.int32)
    places = np.arange(max(1, counts.max())) < counts[:, None]
    admitted, names = np.zeros(places.shape, rows.dtype), np.zeros(places.shape, np.int32)
    admitted[places], names[places] = rows[mask], np.nonzero(mask)[1]
    for name, array in (("admitted", admitted), ("counts", counts), ("names", names)):
        np.save(file.parent / f"{name}.npy", array)


def _lengths_of(record: Record, folder: Path) -> list[object]:
    if not record.lengths:
        return []
    return ["--lengths", record.lengths, "--lengths-output", lengths_beside(folder / "rows.npy")]


def _bits_of_bfloat16(rows: np.ndarray) -> np.ndarray:
    """Return the bits of the nearest bfloat16 of each float32, ties to the even one, as int16. None may be NaN."""
    bits = rows.view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16).view(np.int16)


def disprove(
    rows: Path,
    values: np.ndarray | None,
    indices: np.ndarray,
    *,
    largest: bool,
    bfloat16: bool = False,
    ragged: bool = False,
    masked: bool = False,
) -> str | None:
    """Return what is wrong with an answer (values, or None, and indices, Q x k each), or None.

    `ragged`: the lengths of the rows lie beside them. `masked`: so does their mask, and what it admits. Several threads
    may ask at once.
    """
    with tempfile.TemporaryDirectory(dir=rows.parent) as name:
        folder = Path(name)
        answer: list[object] = []
        for name, array in (("values", values), ("indices", indices)):
            if array is not None:
                np.save(folder / f"{name}.npy", np.ascontiguousarray(array))
                answer += [f"--{name}", folder / f"{name}.npy"]
        options: list[object] = [*(["--largest"] if largest else []), *(["--bfloat16"] if bfloat16 else [])]
        if ragged:
            options += ["--lengths", lengths_beside(rows)]
        if masked:
            rows = rows.parent / "admitted.npy"
            options += ["--lengths", rows.parent / "counts.npy", "--map", rows.parent / "names.npy"]
        done = kselect("prove", "--rows", rows, *answer, *options)
    return done.stderr.strip() if done.returncode == WRONG_ANSWER else None
