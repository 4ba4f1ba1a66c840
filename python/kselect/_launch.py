"""The command `kselect`: runs the program that came with the package."""

import os
import sys
from pathlib import Path
from typing import NoReturn

from kselect import _select

_FOLDER = Path(__file__).parent / "_program"
SHARE = _FOLDER / "share" / "kselect"

UNSUPPORTED = 4  # docs/reference/exit-codes.md


def _let_it_find_cublas() -> None:
    """Name the folders of pip's packages of cuBLAS, which torch brings."""
    known = os.environ.get("LD_LIBRARY_PATH", "")
    packaged = {
        str(file.parent) for at in sys.path for file in Path(at).glob("nvidia/*/lib/libcublas.so.*")
    }
    os.environ["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, [known, *sorted(packaged)]))


def main() -> NoReturn:
    """Become the program. `kselect plot` and `report` will use this interpreter."""
    program = _FOLDER / "bin" / "kselect"
    os.environ.setdefault("KSELECT_PYTHON", sys.executable)
    if _select.HAS_CUDA:
        _let_it_find_cublas()
    try:
        os.execv(program, ["kselect", *sys.argv[1:]])
    except OSError as error:
        print(f"kselect: {program}: {error.strerror}; install the package again", file=sys.stderr)
        sys.exit(UNSUPPORTED)
