"""The table in README.md: how many times as fast as others the project's selection is, from records alone.

    python -m plots.readme [--check]

Writes README.md anew between the lines `<!-- table: begin -->` and `<!-- table: end -->`; with --check it
changes nothing and ends with 1 if the file would change.
"""

import argparse
import fnmatch
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from plots.errors import Failure, PlotError, exit_code
from plots.records import Record, load

ROOT = Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- table: begin -->\n", "<!-- table: end -->\n"


@dataclass(frozen=True)
class Rival:
    """A row: the fastest of some algorithms on each problem, against one of ours."""

    title: str
    algorithms: Sequence[str]  # globs
    record: str  # the rival's run, below results/
    ours: str
    our_record: str = ""  # if it is another run of the same machine


GPU, CPU = "nvidia-h200-x2/goal_libraries", "cpu-xeon-2core/cpu_goal"
RIVALS = (
    Rival("the fastest of RAFT's eight `select_k`", ["raft/*"], GPU, "auto"),
    Rival("CUB's `DeviceTopK` and batched top-k, where they take the problem", ["cub-*"], GPU, "auto"),
    Rival("batched radix select", ["radix-select"], GPU, "auto"),
    Rival("`torch.topk`", ["torch-topk"], "nvidia-h200-x2/goal_torch", "auto", "nvidia-h200-x2/goal"),
    Rival("Intel's x86-simd-sort", ["cpu/x86_simd_sort"], CPU, "one-pass"),
    Rival("Highway's VQSelect", ["cpu/vqselect"], CPU, "one-pass"),
    Rival("FAISS's heap", ["cpu/faiss_heap"], CPU, "one-pass"),
    Rival("`std::nth_element`", ["cpu/nth_element"], CPU, "one-pass"),
)


def problem_of(record: Record) -> tuple[object, ...]:
    """Return what two records of one problem agree on, whatever type their indices have."""
    r = record
    return (r.n, r.q, r.k, r.dtype, r.direction, r.payload, r.layout, r.pitch, r.workload, r.seed)


def fastest(run: str, globs: Sequence[str]) -> dict[tuple[object, ...], float]:
    """Return the least median of those algorithms on each problem of a run."""
    times: dict[tuple[object, ...], float] = {}
    for record in load(ROOT / "results" / run).records:
        if record.time and any(fnmatch.fnmatchcase(record.algorithm, glob) for glob in globs):
            key = problem_of(record)
            times[key] = min(times.get(key, math.inf), record.time.median)
    return times


def row(rival: Rival) -> str:
    """Return a line of the table."""
    theirs = fastest(rival.record, rival.algorithms)
    ours = fastest(rival.our_record or rival.record, [rival.ours])
    factors = [theirs[key] / ours[key] for key in theirs if key in ours]
    if not factors:
        raise PlotError(Failure.INPUT, f"results/{rival.record}: no problem has a time of both")
    mean = math.exp(sum(map(math.log, factors)) / len(factors))
    device = load(ROOT / "results" / rival.record).run
    where = device.gpu or device.cpu.replace(" Processor", "")
    return (
        f"| {rival.title} | {where} | {len(factors)} | {mean:.1f} | {min(factors):.2f} to {max(factors):.1f} | "
        f"[{rival.record.split('/')[1]}](results/{rival.record}) |"
    )


def table() -> str:
    """Return the whole table."""
    head = "| beside | on | problems | times as fast (geometric mean) | least to most | record |\n|---|---|--:|--:|--:|---|\n"
    return head + "".join(row(rival) + "\n" for rival in RIVALS)


def renewed(text: str) -> str:
    """Return a README with the table of today's records."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise PlotError(Failure.INPUT, f"README.md has no lines {BEGIN.strip()} and {END.strip()}")
    return before + BEGIN + "\n" + table() + "\n" + END + after


def work(arguments: argparse.Namespace) -> None:
    """Write the table, or check it."""
    readme = ROOT / "README.md"
    text = readme.read_text()
    new = renewed(text)
    if new == text:
        return
    if arguments.check:
        raise PlotError(Failure.OUTPUT, "README.md: its table is not of these records; run python -m plots.readme")
    readme.write_text(new)


def main() -> int:
    """Read the command line and do it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; fail if it would change")
    arguments = parser.parse_args()
    return exit_code("plots.readme", lambda: work(arguments))


if __name__ == "__main__":
    sys.exit(main())
