"""Performance profile: the share of problems an algorithm solves within τ times the best time.

Dolan & Moré, Benchmarking optimization software with performance profiles, 2002. At τ = 1 a line
shows how often its algorithm is the fastest; further right it shows how far the algorithm falls
behind on the other problems. A problem without a time (failed, refused) counts as an infinite
ratio: the line then ends below 1, and the notes say how many problems had which status. A problem
that the config leaves out for an algorithm does not count: its line is of the others, and a note
says of how many.
There is one figure for each group of slices, over all n, Q and k.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from plots import slices, style
from plots.figures import Drawing, Options
from plots.page import KEY_LINE, Grid, Page, footer, key_columns
from plots.records import Record
from plots.words import amount_of

NAME = "profile"
DESCRIPTION = "Dolan-Moré performance profile over all problems (two or more algorithms)"

_LARGEST = 1000.0  # the axis ends at this τ even if ratios are larger
Problem = tuple[int, int, int]
Ratios = Mapping[str, Mapping[Problem, float]]  # infinite if there is no time


def draw(records: Sequence[Record], options: Options) -> list[Drawing]:
    """Draw each group of slices with two or more timed algorithms and problems."""
    del options
    groups: dict[slices.Slice, list[Record]] = defaultdict(list)
    for part, members in slices.cut(records).items():
        groups[part.without_fixed()] += members
    groups = {head: members for head, members in groups.items() if _worth(members)}
    names = slices.names(NAME, groups)
    drawings = []
    for head, members in groups.items():
        found = ratios(members)
        figure = _figure(head, found, members)
        drawings.append(Drawing(names[head], figure, _rows(found, members)))
    return drawings


def ratios(records: Sequence[Record]) -> Ratios:
    """Return each algorithm's time over the best time of the problem.

    Each algorithm has the problems that were tried with it and that some algorithm solved.
    """
    times: dict[Problem, dict[str, float]] = defaultdict(dict)
    for record in records:
        if record.time:
            at = times[record.n, record.q, record.k]
            at[record.algorithm] = min(record.time.median, at.get(record.algorithm, math.inf))
    tried = {(r.algorithm, (r.n, r.q, r.k)) for r in records}
    found = {
        name: {
            problem: solved.get(name, math.inf) / min(solved.values())
            for problem, solved in sorted(times.items())
            if (name, problem) in tried
        }
        for name in sorted({r.algorithm for r in records})
    }
    return {name: by_problem for name, by_problem in found.items() if by_problem}


def _worth(records: Sequence[Record]) -> bool:
    timed = [r for r in records if r.time]
    return len({r.algorithm for r in timed}) > 1 and len({(r.n, r.q, r.k) for r in timed}) > 1


def _figure(head: slices.Slice, found: Ratios, members: Sequence[Record]) -> Figure:
    looks = style.looks(found)
    columns = key_columns(found, 4.9)
    grid = Grid(1, 1, 4.6, 3.0, 0.62, 0.1, 0.22, 0.17, 0.1)
    problems = len({problem for by_problem in found.values() for problem in by_problem})
    page = Page(
        "Performance profile",
        f"{head.title()}  |  {amount_of(problems, 'problem')} (n, Q, k)",
        KEY_LINE * -(-len(found) // columns) + 0.08,
        grid,
        _notes(found, members),
        footer(members),
        least_width=5.4,
    )
    entries = [
        (Line2D([], [], color=look.colour, marker=look.marker, linestyle=look.line), name)
        for name, look in looks.items()
    ]
    page.legend(page.key, entries, columns)
    axes = page.axes(page.panels[0])
    finite = [r for by_problem in found.values() for r in by_problem.values() if r < math.inf]
    end = min(_LARGEST, max(2.0, max(finite) * 1.05))
    for name, by_problem in found.items():
        _curve(axes, sorted(by_problem.values()), end, looks[name])
    axes.set_xscale("log")
    axes.set_xlim(1, end)
    subs = (1.0, 2.0, 5.0) if end <= 150 else (1.0,)
    axes.xaxis.set_major_locator(LogLocator(base=10, subs=subs))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: style.number(value)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_ylim(0, 1.03)
    axes.set_xlabel("τ: time over the best of the problem", labelpad=2)
    axes.set_ylabel("share of the problems", labelpad=3)
    return page.figure


def _curve(axes: Axes, ordered: Sequence[float], end: float, look: style.Look) -> None:
    """Draw the share of ratios that are at most τ, with a marker at both ends of the line."""
    count = len(ordered)
    x, y = [1.0], [sum(r <= 1 for r in ordered) / count]
    for place, ratio in enumerate(ordered, 1):
        if 1 < ratio <= end:
            x.append(ratio)
            y.append(place / count)
    x.append(end)
    y.append(y[-1])
    axes.plot(x, y, drawstyle="steps-post", color=look.colour, linestyle=look.line)
    axes.plot(
        [x[0], x[-1]],
        [y[0], y[-1]],
        color=look.colour,
        marker=look.marker,
        markeredgecolor="white",
        markeredgewidth=0.4,
        linestyle="none",
        clip_on=False,
        zorder=5,
    )


def _notes(found: Ratios, records: Sequence[Record]) -> list[str]:
    """Return for each algorithm the problems without a time, and how many were not tried."""
    every = len({problem for by_problem in found.values() for problem in by_problem})
    notes = []
    for name, by_problem in found.items():
        parts = []
        unsolved = {problem for problem, ratio in by_problem.items() if math.isinf(ratio)}
        if unsolved:
            parts.append(f"infinite on {len(unsolved)} of {len(by_problem)}")
            parts += _endings(name, unsolved, records)
        if len(by_problem) < every:
            left_out = every - len(by_problem)
            parts.append(f"{left_out} of {every} problems are not in the run and do not count")
        if parts:
            notes.append(style.literal(f"{name}: {'; '.join(parts)}"))
    return notes


def _endings(name: str, unsolved: set[Problem], records: Sequence[Record]) -> list[str]:
    """Return how an algorithm's problems without a time ended, the two most frequent by name."""
    ends = Counter(
        f"{r.status.replace('_', ' ')} ({r.reason})"
        for r in sorted(records, key=lambda r: (r.status, r.reason))
        if r.algorithm == name and (r.n, r.q, r.k) in unsolved
    )
    parts = [f"{count} {why}" for why, count in ends.most_common(2)]
    if len(ends) > 2:
        parts.append(f"{ends.total() - sum(c for _, c in ends.most_common(2))} otherwise")
    return parts


def _rows(found: Ratios, records: Sequence[Record]) -> list[dict[str, object]]:
    fastest: dict[tuple[str, Problem], Record] = {}
    for r in sorted(records, key=lambda r: (r.time is None, r.time.median if r.time else 0, r.key)):
        fastest.setdefault((r.algorithm, (r.n, r.q, r.k)), r)
    rows: list[dict[str, object]] = []
    every = sorted({problem for by_problem in found.values() for problem in by_problem})
    for name, by_problem in found.items():
        for problem in every:
            record, ratio = fastest.get((name, problem)), by_problem.get(problem)
            rows.append(
                {
                    "algorithm": name,
                    "n": problem[0],
                    "q": problem[1],
                    "k": problem[2],
                    "ratio": "" if ratio is None else "inf" if math.isinf(ratio) else ratio,
                    "status": record.status if record else "not in the run",
                    "reason": record.reason if record else "",
                    "key": record.key if record else "",
                }
            )
    return rows
