"""kselect with a planted slow-down: runs the real program, then replaces the times it recorded.

slowed.py PROGRAM FACTOR ARGUMENTS...; a FACTOR of `error` turns every record into a failed one. A cell's
rounds become fixed ones, noise of a few per mille from its key and the directory, times the factor; the
floor that `noise` measures becomes that of such times.
"""

import json
import random
import statistics
import subprocess
import sys
from pathlib import Path

from journal import read_records, write_records

STEADY_NS = 1e5
NOISE = 0.003


def replace(record, factor, seed):
    """Gives a record its planted time, or takes its time away."""
    if factor == "error":
        record |= {"status": "error", "reason": "planted", "time": None}
        return
    chance = random.Random(seed)
    rounds = [STEADY_NS * float(factor) * (1 + chance.gauss(0, NOISE))
              for _ in record["time"]["rounds"]]
    middle = statistics.median(rounds)
    record["time"] |= {"median": middle, "q1": middle, "q3": middle, "min": min(rounds),
                       "max": max(rounds), "ci95": [min(rounds), max(rounds)], "rounds": rounds,
                       "round_sizes": [1] * len(rounds), "samples": rounds, "outliers": []}


def replace_floor(path):
    """Gives a noise file the floor of planted times."""
    floor = json.loads(path.read_text())
    for cell in floor["cells"]:
        cell |= {"paired": NOISE, "unpaired": 4 * NOISE}
    path.write_text(json.dumps(floor))


def main(program, factor, *arguments):
    """Return the exit code of the real program."""
    code = subprocess.run([program, *arguments], check=False).returncode
    if code != 0 or "--out" not in arguments:
        return code
    directory = Path(arguments[arguments.index("--out") + 1])
    if arguments[0] == "noise":
        replace_floor(directory / "noise.json")
    if arguments[0] == "run":
        found = read_records(directory)
        for record in found:
            if record["reason"] != "planted":
                replace(record, factor, f'{record["key"]}{directory.name}')
        write_records(directory, found)
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
