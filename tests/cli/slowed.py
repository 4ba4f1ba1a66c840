"""kselect with a planted slow-down: runs the real program, then replaces the times it recorded.

slowed.py PROGRAM FACTOR ARGUMENTS...; a FACTOR of `error` turns every record into a failed one. A cell's
time becomes a fixed one, noise of a few per mille from its key and the directory, times the factor.
"""

import random
import subprocess
import sys
from pathlib import Path

from conftest import records, write_records

STEADY_NS = 1e5


def replace(record, factor, seed):
    """Gives a record its planted time, or takes its time away."""
    if factor == "error":
        record |= {"status": "error", "reason": "planted", "time": None}
        return
    time = STEADY_NS * float(factor) * (1 + random.Random(seed).gauss(0, 0.003))
    record["time"] |= dict.fromkeys(("median", "q1", "q3", "min", "max"), time)
    record["time"] |= {"ci95": [time, time], "samples": [time]}
    record["time"].pop("rounds", None)


def main(program, factor, *arguments):
    """Return the exit code of the real program."""
    code = subprocess.run([program, *arguments], check=False).returncode
    if "--out" in arguments and code == 0:
        directory = Path(arguments[arguments.index("--out") + 1])
        found = records(directory)
        for record in found:
            if record["reason"] != "planted":
                replace(record, factor, f'{record["key"]}{directory.name}')
        write_records(directory, found)
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
