"""The command `kselect`: runs the program that came with the package."""

import os
import sys
from pathlib import Path
from typing import NoReturn

from kselect import _select

_FOLDER = Path(__file__).parent / "_program"
SHARE = _FOLDER / "share" / "kselect"

UNSUPPORTED = 4  # docs/reference/exit-codes.md


def name_cublas() -> None:
    """Name the newest of pip's packages of cuBLAS, which torch brings (python/program/cublas.cpp)."""
    files = [file for at in sys.path for file in Path(at).glob("nvidia/*/lib/libcublas.so.*")]
    if files:
        os.environ.setdefault("KSELECT_CUBLAS", str(max(files, key=lambda file: file.suffix)))


def main() -> NoReturn:
    """Become the program. `kselect plot` and `report` will use this interpreter."""
    program = _FOLDER / "bin" / "kselect"
    os.environ.setdefault("KSELECT_PYTHON", sys.executable)
    if _select.HAS_CUDA:
        name_cublas()
    try:
        os.execv(program, ["kselect", *sys.argv[1:]])
    except OSError as error:
        print(f"kselect: {program}: {error.strerror}; install the package again", file=sys.stderr)
        sys.exit(UNSUPPORTED)
