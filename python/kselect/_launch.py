"""The command `kselect`: runs the program that came with the package."""

import os
import sys
from pathlib import Path
from typing import NoReturn

_FOLDER = Path(__file__).parent / "_program"
SHARE = _FOLDER / "share" / "kselect"

UNSUPPORTED = 4  # docs/reference/exit-codes.md


def main() -> NoReturn:
    """Become the program. `kselect plot` and `report` will use this interpreter."""
    program = _FOLDER / "bin" / "kselect"
    os.environ.setdefault("KSELECT_PYTHON", sys.executable)
    try:
        os.execv(program, ["kselect", *sys.argv[1:]])
    except OSError as error:
        print(f"kselect: {program}: {error.strerror}; install the package again", file=sys.stderr)
        sys.exit(UNSUPPORTED)
