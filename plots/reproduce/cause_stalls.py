"""What warps wait for, from results/MACHINE/RECORD/stalls.csv (`plots.stalls`)."""

import csv
from collections.abc import Mapping
from pathlib import Path

from plots.reproduce.asked import in_words_of
from plots.reproduce.cells import Missing
from plots.reproduce.manifest import Table, size


def told_stalls(machine: str, cause: Table, where: Table) -> str:
    """Say what the algorithms of a cause wait for at a problem; raises Missing without a profile of it."""
    pattern = f"*/{cause['record']}/stalls.csv"
    found = sorted(Path("results").glob(pattern))
    card = machine.split("-x")[0]  # a host of several GPUs has the card's name, too
    path = next((p for p in found if p.parts[1].split("-x")[0] == card), None)
    if path is None:
        raise Missing(f"results/{pattern} is not yet recorded for {card}")
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    parts = []
    for name in (*cause.get("of", ()), *cause.get("over", ())):
        fits = [
            r for r in rows
            if r["algorithm"] == name and all(int(r[key]) == size(v, key) for key, v in where.items())
        ]  # fmt: skip
        if fits:
            parts.append(f"{name} {_waits(fits[0])}")
    if not parts:
        raise Missing(f"{path} has no row at {in_words_of(where)}")
    return f"By the profiler at {in_words_of(where)}: {'; '.join(parts)}."


def _waits(row: Mapping[str, str]) -> str:
    """Return what a row of stalls.csv says, in words."""
    reasons = [
        f"{row[f'stall_{i}'].replace('_', ' ')} ({float(row[f'share_{i}']):.0%})"
        for i in (1, 2)
        if row.get(f"stall_{i}")
    ]
    text = f"waits mostly for {' and '.join(reasons)}"
    if row.get("warps_per_multiprocessor"):
        text += f" with {float(row['warps_per_multiprocessor']):.3g} warps a multiprocessor"
    return text
