"""README.md's figure and table: how many times as fast as others the project's selection is, from records alone.

    python -m plots.readme [--check]

Writes README.md anew between the lines `<!-- table: begin -->` and `<!-- table: end -->`; with --check it changes
nothing and ends with 1 if the file would change. Runs of rivals (scripts/rivals.sh), results/MACHINE/NAME with a NAME of
RUNS, give the figure, which is written to docs/figures, and the rows of the libraries in them. A library's row is of the
first of RUNS that has it: that on the card of CARD if there is one, else that with most problems, the newest of several.
"""

import argparse
import fnmatch
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from plots.errors import Failure, PlotError, exit_code
from plots.files import write_file
from plots.records import Record, load
from plots.rivals_figure import drawing, problem_of
from plots.save import encode

ROOT = Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- table: begin -->\n", "<!-- table: end -->\n"
FIGURES = "docs/figures"
# Until a run of rivals is on record.
FIGURE = """\
![Share of the read ceiling over n: auto beside radix select and bitonic merge](reproduction/X-goal-rows-ceiling-nvidia-h200.png)

*`auto` on an NVIDIA H200. The vertical axis is the time to read the rows once and to write the answer, at the read
rate measured in the same run, divided by the time of the selection. Rows are uniform, n·Q = 2^27. Drawn from
[goal_many_rows](results/nvidia-h200/goal_many_rows).*
"""
RUNS = ("goal_rivals", "serving_rivals", "serving_ragged_rivals")
CARD = "NVIDIA H200"
# Runs in which all libraries together have a row, too, on each card.
TOGETHER = {
    "goal_rivals": "the fastest other library of each problem",
    "serving_rivals": "the same at servers' shapes",
    "serving_ragged_rivals": "the same on ragged rows",
}
# Algorithms of a run of rivals, as rows and lines are called; in this order. CuPy's argpartition, which sorts whole rows,
# is in the records alone. Globs stand for several.
TITLES = {
    "auto": "auto (kselect)",
    "raft": "RAFT's `select_k`, its own choice",
    "flashinfer-top-k": "FlashInfer's `top_k`",
    "rtopk": "RTop-K, where it takes the problem",
    "bits-knn": "bits-knn's `bits_kernel`",
    "quack-topk": "QuACK's `topk`, where it takes the problem",
    "flaggems-topk": "FlagGems' `topk` (Triton), where it compiles in seconds",
    "triton-kernels-topk": "Triton's kernels' `topk`, where it takes the problem",
    "vllm-top-k-per-row": "vLLM's `top_k_per_row_prefill`, ragged rows",
    "cub-*": "CUB's `DeviceTopK` and batched top-k, where they take the problem",
    "torch-topk": "`torch.topk`",
    "radix-select": "batched radix select, our baseline",
}


@dataclass(frozen=True)
class Rival:
    """A row: the fastest of some algorithms on each problem, against one of ours."""

    title: str
    algorithms: Sequence[str]  # globs
    record: str  # the rival's run, below results/
    ours: str


GPU, CPU = "nvidia-h200-x2/goal_libraries", "cpu-epyc-2core/cpu_goal"
RIVALS = (
    Rival("the fastest of RAFT's eight `select_k`", ["raft/*"], GPU, "auto"),
    Rival(TITLES["cub-*"], ["cub-*"], GPU, "auto"),
    Rival(TITLES["radix-select"], ["radix-select"], GPU, "auto"),
    Rival("Intel's x86-simd-sort", ["cpu/x86_simd_sort"], CPU, "one-pass"),
    Rival("Highway's VQSelect", ["cpu/vqselect"], CPU, "one-pass"),
    Rival("FAISS's heap", ["cpu/faiss_heap"], CPU, "one-pass"),
    Rival("`std::nth_element`", ["cpu/nth_element"], CPU, "one-pass"),
)


def fastest(run: Path, globs: Sequence[str]) -> dict[tuple[object, ...], float]:
    """Return the least median of those algorithms on each problem of a run."""
    times: dict[tuple[object, ...], float] = {}
    for record in load(run).records:
        if record.time and any(fnmatch.fnmatchcase(record.algorithm, glob) for glob in globs):
            key = problem_of(record)
            times[key] = min(times.get(key, math.inf), record.time.median)
    return times


def row(rival: Rival, results: Path) -> str:
    """Return a line of the table."""
    theirs = fastest(results / rival.record, rival.algorithms)
    ours = fastest(results / rival.record, [rival.ours])
    factors = [theirs[key] / ours[key] for key in theirs if key in ours]
    if not factors:
        raise PlotError(Failure.INPUT, f"results/{rival.record}: no problem has a time of both")
    mean = math.exp(sum(map(math.log, factors)) / len(factors))
    device = load(results / rival.record).run
    where = device.gpu or device.cpu.replace(" Processor", "")
    return (
        f"| {rival.title} | {where} | {len(factors)} | {mean:.1f} | {min(factors):.2f} to {max(factors):.1f} | "
        f"[{rival.record.split('/')[1]}](results/{rival.record}) |"
    )


def runs_of_rivals(results: Path) -> list[str]:
    """Return the runs of rivals by their paths below results/, in the order that the module's docstring gives."""
    folders = [meta.parent for name in RUNS for meta in results.glob(f"*/{name}/meta.json")]
    folders.sort(key=_breadth, reverse=True)
    folders.sort(key=lambda f: (RUNS.index(f.name), load(f).run.gpu != CARD))
    return [f"{folder.parent.name}/{folder.name}" for folder in folders]


def _breadth(folder: Path) -> tuple[int, str]:
    """Return on how many problems a run has times of rivals, and when it began."""
    run = load(folder)
    timed = {problem_of(r) for r in run.records if r.time and r.algorithm not in ("auto", "radix-select")}
    return len(timed), run.run.started


def _timed(run: Path) -> list[str]:
    """Return the keys of TITLES whose algorithms have times in a run."""
    timed = {r.algorithm for r in load(run).records if r.time}
    return [name for name in TITLES if fnmatch.filter(timed, name)]


def rows_of(runs: Sequence[str], results: Path) -> list[Rival]:
    """Return a row for each library of these runs, of the first run that has it; first those of all libraries together."""
    found: dict[str, Rival] = {}
    together = []
    for run in runs:
        others = [name for name in _timed(results / run) if name != "auto"]
        for name in others:
            found.setdefault(name, Rival(TITLES[name], [name], run, "auto"))
        if title := TOGETHER.get(run.split("/")[1]):
            together.append(Rival(title, [name for name in others if name != "radix-select"], run, "auto"))
    return together + [found[name] for name in TITLES if name in found]


def table(results: Path = ROOT / "results") -> str:
    """Return the whole table, and a sentence on what is old in it."""
    head = "| beside | on | problems | times as fast (geometric mean) | least to most | record |\n|---|---|--:|--:|--:|---|\n"
    rivals = rows_of(runs_of_rivals(results), results)
    measured = {name for rival in rivals for name in rival.algorithms}
    known = {"raft/*": "raft"}  # the same library, measured in another way
    older = [rival for rival in RIVALS if not measured & {known.get(name, name) for name in rival.algorithms}]
    text = head + "".join(row(rival, results) + "\n" for rival in [*rivals, *older])
    outdated = {rival.record.split("/")[0] for rival in older if rival.ours == "auto"}
    if outdated:
        text += f"\nThe lines from {' and '.join(sorted(outdated))} were measured with an earlier version of `auto`.\n"
    return text


def figure_of(runs: Sequence[str], results: Path) -> tuple[str, dict[str, bytes]] | None:
    """Return the figure's lines in README.md and its files by their names; None without a run of rivals."""
    for run in runs:
        drawn = drawing(results / run, {name: title.replace("`", "") for name, title in TITLES.items()})
        if drawn is not None:
            break
    else:
        return None
    meta = load(results / run).run
    names = sorted({str(row["series"]) for row in drawn.rows} - {TITLES["auto"]})
    text = (
        f"![Share of the read ceiling over n: auto beside {', '.join(names)}]({FIGURES}/{drawn.name}.png)\n\n"
        f"*`auto` and other libraries in one run on an {meta.gpu}, commit {meta.commit[:8]}. The axis is the share of the read\n"
        "ceiling: the time to read the rows once and to write the answer, at the read rate of this run, divided by the time\n"
        f"of the selection. Drawn from [{run.split('/')[1]}](results/{run}).*\n"
    )
    return text, {f"{drawn.name}.{ending}": data for ending, data in encode(drawn, ("png", "csv")).items()}


def renewed(text: str, results: Path = ROOT / "results") -> str:
    """Return a README with the table and the figure's lines of today's records."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise PlotError(Failure.INPUT, f"README.md has no lines {BEGIN.strip()} and {END.strip()}")
    figure = figure_of(runs_of_rivals(results), results)
    return before + BEGIN + table(results) + "\n" + (figure[0] if figure else FIGURE) + END + after


def work(arguments: argparse.Namespace) -> None:
    """Write the table, or check it."""
    readme = ROOT / "README.md"
    text = readme.read_text()
    new = renewed(text)
    figure = figure_of(runs_of_rivals(ROOT / "results"), ROOT / "results")
    for name, data in (figure[1] if figure and not arguments.check else {}).items():
        write_file(ROOT / FIGURES / name, data)
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
