"""`python -m kselect.plots RUN_DIR...` draws recorded runs, as `kselect plot` does.

It needs matplotlib and pillow: `pip install 'kselect[plots]'`.
"""

import os
import sys

from kselect._launch import SHARE, UNSUPPORTED


def main() -> int:
    """Run the command line of plots/; returns its exit code."""
    os.environ.setdefault("KSELECT_COMMAND", "python -m kselect.plots")
    sys.path.insert(0, str(SHARE))
    try:
        from plots.__main__ import main as draw
    except ModuleNotFoundError as missing:
        if missing.name not in ("matplotlib", "PIL"):
            raise
        advice = "pip install 'kselect[plots]'"
        print(f"kselect.plots: {missing.name} is not installed: {advice}", file=sys.stderr)
        return UNSUPPORTED
    return draw(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
