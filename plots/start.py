"""Runs a module as `python -m` would: `python -m plots.start plots.report RUN`. Used by `kselect plot` and its like.

Reading the modules takes up to seconds. An interruption then ends in one line, too, as it does later (plots/errors.py).
"""

import runpy
import sys

from plots.errors import Failure, command_name


def main() -> int:
    """Run the module that the first argument names."""
    if len(sys.argv) < 2:
        print("plots.start: name the module to run", file=sys.stderr)
        return int(Failure.USAGE)
    module = sys.argv.pop(1)
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except KeyboardInterrupt:
        print(f"{command_name(module).split()[-1]}: interrupted", file=sys.stderr)
        return int(Failure.INTERRUPTED)
    return 0


if __name__ == "__main__":
    sys.exit(main())
