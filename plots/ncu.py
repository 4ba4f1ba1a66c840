"""Reads what Nsight Compute (`ncu --csv --page raw`) says of kernels, and shortens it to a row.

The text may hold lines of ncu's own ("==PROF== ...") before and after the table. The table has a
line of metric names, a line of units, and a line for each kernel launch.
"""

import csv
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from plots.errors import Failure, PlotError

# What is asked for besides the section of warp states, by the name it has in the table.
METRICS: Mapping[str, str] = {
    "duration": "gpu__time_duration.sum",
    "grid": "launch__grid_size",
    "block": "launch__block_size",
    "registers": "launch__registers_per_thread",
    "warps": "sm__warps_active.avg.per_cycle_active",
    "occupancy": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "issue": "smsp__issue_active.avg.per_cycle_active",
    "dram": "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
    "cycles_of_all": "sm__cycles_active.sum",
    "cycles_of_most": "sm__cycles_active.max",
}
# This section holds the average number of warps in each state while a warp issues.
SECTION = "WarpStateStats"
REASONS_SHOWN = 5

_STATE = re.compile(r"smsp__average_warps_issue_stalled_(\w+)_per_issue_active\.ratio")
_NOT_STALLED = "selected"  # the warp that issues
_NANOSECONDS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9} | {
    f"{prefix}second": factor for prefix, factor in (("n", 1), ("u", 1e3), ("m", 1e6), ("", 1e9))
}


@dataclass(frozen=True)
class Launch:
    """One launch of a kernel: its demangled name, and its metrics by ncu's names."""

    kernel: str
    nanoseconds: float
    metrics: Mapping[str, float]

    def metric(self, name: str) -> float | None:
        """Return one of METRICS; None if ncu did not say it."""
        return self.metrics.get(METRICS[name])

    def states(self) -> dict[str, float]:
        """Return the share of the warps' time in each state, "selected" too, the largest first."""
        found = {}
        for name, value in self.metrics.items():
            state = _STATE.fullmatch(name)
            # The same sampled without the cycles in which a warp issued has a name of its own.
            if state and not state[1].endswith("_not_issued"):
                found[state[1]] = value
        whole = sum(found.values())
        if whole <= 0:
            return {}
        shares = {state: value / whole for state, value in found.items()}
        return dict(sorted(shares.items(), key=lambda item: (-item[1], item[0])))


def launches(text: str, where: str) -> list[Launch]:
    """Return the launches in ncu's output; raises PlotError(INPUT) if it holds no table."""
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID",')), None)
    if start is None:
        said = [line for line in lines if line.startswith("==ERROR==")]
        message = said[0].removeprefix("==ERROR==").strip() if said else "no kernel was profiled"
        raise PlotError(Failure.INPUT, f"{where}: {message}")
    table = [line for line in lines[start:] if line.startswith('"')]
    names, units, *rows = csv.reader(table)
    for name in ("Kernel Name", METRICS["duration"]):
        if name not in names:
            raise PlotError(Failure.INPUT, f"{where}: ncu's table has no column {name!r}")
    unit = units[names.index(METRICS["duration"])]
    if unit not in _NANOSECONDS:
        raise PlotError(Failure.INPUT, f"{where}: ncu gives durations in {unit!r}, which is no time")
    found = []
    for number, row in enumerate(rows):
        if len(row) != len(names):
            message = f"{where}: launch {number} has {len(row)} columns, not {len(names)}"
            raise PlotError(Failure.INPUT, message)
        values = dict(zip(names, row, strict=True))
        metrics = {name: v for name, text in values.items() if (v := _number(text)) is not None}
        if METRICS["duration"] not in metrics:
            message = f"{where}: launch {number} of {values['Kernel Name']} has no duration"
            raise PlotError(Failure.INPUT, message)
        took = metrics[METRICS["duration"]] * _NANOSECONDS[unit]
        found.append(Launch(values["Kernel Name"], took, metrics))
    return found


def _number(text: str) -> float | None:
    """Return a number that may have separators of thousands; None for names and "n/a"."""
    if not re.fullmatch(r"-?[0-9][0-9,]*(\.[0-9]+)?([eE][-+]?[0-9]+)?", text):
        return None
    return float(text.replace(",", ""))


def is_of_the_harness(kernel: str) -> bool:
    """Tell whether a kernel makes rows, proves answers or measures, instead of selecting."""
    return re.search(r"kselect::(harness|runtime)::", kernel) is not None


@dataclass(frozen=True)
class Main:
    """The kernel in which a call spends most time: its longest launch, and its share of the time."""

    launch: Launch
    launches: int
    share: float


def main_kernel(all_launches: Sequence[Launch], where: str) -> Main:
    """Choose among an algorithm's kernels; raises PlotError(INPUT) if there is none."""
    by_kernel: dict[str, list[Launch]] = defaultdict(list)
    for launch in all_launches:
        if not is_of_the_harness(launch.kernel):
            by_kernel[launch.kernel].append(launch)
    if not by_kernel:
        raise PlotError(Failure.INPUT, f"{where}: no kernel of the algorithm was profiled")
    times = {name: sum(each.nanoseconds for each in of) for name, of in by_kernel.items()}
    most = max(times, key=lambda name: times[name])
    longest = max(by_kernel[most], key=lambda launch: launch.nanoseconds)
    whole = sum(times.values())
    return Main(longest, len(by_kernel[most]), times[most] / whole if whole else 1.0)


def short_name(kernel: str) -> str:
    """Return a kernel's name without the launcher's template, namespaces and parameters."""
    name = re.sub(r"\(anonymous namespace\)::|<unnamed>::|\(anonymous\)::", "", kernel)
    inner = re.search(r"run_on_cuda<(.*)>\(", name)
    name = re.sub(r"^\w+ (?=\w+::)", "", inner[1] if inner else name)
    base = re.match(r"[\w:~]+", name)
    return base[0].split("::")[-1] if base else kernel


COLUMNS = (
    "kernel",
    "launches",
    "share_of_time",
    "duration_us",
    "grid",
    "block",
    "registers",
    "warps_per_multiprocessor",
    "occupancy_percent",
    "issues_per_cycle",
    "multiprocessors_busy",
    "dram_percent",
    *(f"{what}_{i}" for i in range(1, REASONS_SHOWN + 1) for what in ("stall", "share")),
)


def row_of(main: Main) -> dict[str, str]:
    """Return the columns of a table; what ncu did not say is empty."""
    launch = main.launch

    def shown(value: float | None, digits: int) -> str:
        return "" if value is None else f"{value:.{digits}f}"

    busy = None
    most = launch.metric("cycles_of_most")
    if most and (of_all := launch.metric("cycles_of_all")) is not None:
        busy = of_all / most  # a multiprocessor that is busy half of the time counts half
    row = {
        "kernel": short_name(launch.kernel),
        "launches": str(main.launches),
        "share_of_time": shown(main.share, 3),
        "duration_us": shown(launch.nanoseconds / 1e3, 2),
        "grid": shown(launch.metric("grid"), 0),
        "block": shown(launch.metric("block"), 0),
        "registers": shown(launch.metric("registers"), 0),
        "warps_per_multiprocessor": shown(launch.metric("warps"), 2),
        "occupancy_percent": shown(launch.metric("occupancy"), 1),
        "issues_per_cycle": shown(launch.metric("issue"), 3),
        "multiprocessors_busy": shown(busy, 1),
        "dram_percent": shown(launch.metric("dram"), 1),
    }
    reasons = [(s, share) for s, share in launch.states().items() if s != _NOT_STALLED]
    for i in range(REASONS_SHOWN):
        state, share = reasons[i] if i < len(reasons) else ("", None)
        row[f"stall_{i + 1}"] = state
        row[f"share_{i + 1}"] = shown(share, 3)
    return row
