"""The style of all figures: fonts, colours, the marker of each series, the text of ticks.

Colours are those of Okabe and Ito; grey replaces their yellow, which is too faint on white. Four of
Tol's muted ones follow, for the ninth to the twelfth series. Series also differ in marker and dash
pattern, so that a figure can be read in greyscale.
"""

import functools
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import matplotlib
import numpy
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.font_manager import FontProperties
from matplotlib.path import Path
from matplotlib.textpath import TextPath
from matplotlib.ticker import FixedFormatter, FixedLocator, FuncFormatter, LogLocator, NullLocator

INK = "#1a1a1a"
MUTED = "#5c5c5c"
GRID = "#dedede"

COLOURS = (
    *("#0072B2", "#D55E00", "#009E73", "#000000", "#CC79A7", "#E69F00", "#56B4E9", "#808080"),
    *("#882255", "#999933", "#332288", "#117733"),
)
MARKERS = ("o", "s", "^", "D", "v", "<", "p", "*", "X", ">", "P", "d", "h")
LINES = (
    "-",
    (0, (5, 1.6)),
    (0, (1.2, 1.2)),
    (0, (6, 1.5, 1.2, 1.5)),
    (0, (3, 1.2, 1.2, 1.2, 1.2, 1.2)),
)

# Vermillion for slower, white for equal, blue for faster; the ends are dark enough to print.
SPEEDUP_MAP = LinearSegmentedColormap.from_list(
    "speedup", ["#8a3b00", "#D55E00", "#f3c9ae", "#ffffff", "#b3d3e8", "#0072B2", "#003f66"]
)

_RC: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 7.5,
    "mathtext.fontset": "dejavusans",
    "text.color": INK,
    "axes.edgecolor": "#8a8a8a",
    "axes.labelcolor": INK,
    "axes.labelsize": 7.5,
    "axes.linewidth": 0.6,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": GRID,
    "grid.linewidth": 0.5,
    "xtick.color": "#8a8a8a",
    "xtick.labelcolor": INK,
    "xtick.labelsize": 7,
    "xtick.major.size": 2.5,
    "xtick.major.width": 0.6,
    "ytick.color": "#8a8a8a",
    "ytick.labelcolor": INK,
    "ytick.labelsize": 7,
    "ytick.major.size": 2.5,
    "ytick.major.width": 0.6,
    "lines.linewidth": 1.2,
    "lines.markersize": 4.2,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "hatch.linewidth": 0.6,
    "hatch.color": "#8a8a8a",
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "kselect",
}

_UNITS = (("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1.0))


def apply() -> None:
    """Set every matplotlib parameter, so that no local matplotlibrc reaches a figure."""
    matplotlib.rcdefaults()
    matplotlib.rcParams.update(_RC)


@dataclass(frozen=True)
class Look:
    """The look of one series; its (marker, line) is unique among all series of a run."""

    colour: str
    marker: str
    line: str | tuple[float, tuple[float, ...]]


def looks(labels: Iterable[str]) -> dict[str, Look]:
    """Return the look of each series; equal sets of labels give equal looks.

    Beyond len(MARKERS) * len(LINES) = 65 series the looks repeat.
    """
    return looks_in_order(sorted(set(labels)))


def looks_in_order(labels: Iterable[str]) -> dict[str, Look]:
    """Return the look of each label by its place; the labels are distinct."""
    # 13 and 5 have no common factor, so i -> (i mod 13, i mod 5) meets each pair once.
    return {
        label: Look(COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)], LINES[i % len(LINES)])
        for i, label in enumerate(labels)
    }


def time_unit(nanoseconds: Iterable[float]) -> tuple[str, float]:
    """Return the unit that suits the geometric mean of the times, and its length in ns."""
    logarithms = [math.log10(t) for t in nanoseconds]
    middle = 10 ** (sum(logarithms) / len(logarithms))
    return next((name, length) for name, length in _UNITS if middle >= length or length == 1)


def number(value: float) -> str:
    """Return a positive number, without an exponent if that is short: `0.01`, `3`, `2500`."""
    if 1e-3 <= value < 1e5:
        return f"{value:.5g}"
    mantissa, exponent = f"{value:.0e}".split("e")
    times = "" if mantissa == "1" else rf"{mantissa}\times"
    return f"${times}10^{{{int(exponent)}}}$"


def power_of_two_ticks(axes: Axes, values: Iterable[int], inches: float) -> None:
    """Make x logarithmic to base 2 over `values`, with as many ticks `2^i` as fit into `inches`."""
    values = sorted(values)
    most = int(inches / 0.34)
    first = math.floor(math.log2(values[0]))
    last = math.ceil(math.log2(values[-1]))
    step = max(1, math.ceil((last - first + 1) / most))
    ticks = range(first, last + 1, step)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(FixedLocator([2.0**i for i in ticks]))
    axes.xaxis.set_major_formatter(FixedFormatter([f"$2^{{{i}}}$" for i in ticks]))
    axes.xaxis.set_minor_locator(NullLocator())
    margin = 2 ** (math.log2(values[-1] / values[0]) * 0.15 / (inches - 0.3))
    axes.set_xlim(values[0] / margin, values[-1] * margin)


def plain_log_ticks(axes: Axes, low: float, high: float) -> None:
    """Make y logarithmic over [low, high] with a margin, its ticks plain numbers."""
    decades = math.log10(high / low)
    # At least 0.8 decades, so that a tick is visible and noise does not fill the panel.
    margin = 10 ** max(0.04 * decades, 0.06, (0.8 - decades) / 2)
    subs = (1.0,) if decades > 2 else (1.0, 3.0) if decades > 1.2 else (1.0, 2.0, 5.0)
    axes.set_yscale("log")
    axes.set_ylim(low / margin, high * margin)
    axes.yaxis.set_major_locator(LogLocator(base=10, subs=subs, numticks=12))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
    axes.yaxis.set_minor_locator(NullLocator())


def literal(text: str) -> str:
    """Return text whose dollar signs matplotlib shows instead of parsing mathematics."""
    return text.replace("$", r"\$")


_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def exponents(text: str) -> str:
    """Return text with the exponents of powers such as 2^15 set as exponents."""
    return re.sub(r"(?<=\d)\^(-?\d+)", lambda m: m[1].translate(_SUPERSCRIPTS), text)


@functools.cache
def width(text: str, size: float, bold: bool = False) -> float:
    """Return the width of a text in inches."""
    if not text.strip():
        return 0.0
    font = FontProperties(family="DejaVu Sans", weight="bold" if bold else "normal", size=size)
    # Rasterised glyphs start on whole pixels, which makes small text slightly wider.
    return 1.05 * _breadth(TextPath((0, 0), text, prop=font)) / 72


def _breadth(outline: Path) -> float:
    """Return an outline's extent along x; `get_extents` would give the same, but slowly."""
    assert outline.codes is not None
    codes, x = outline.codes, outline.vertices[:, 0]
    if numpy.any(codes == Path.CURVE4):
        return float(outline.get_extents().width)
    place = numpy.arange(len(codes))
    curved = codes == Path.CURVE3
    # A quadratic curve has its control point first and then its end, where the next one begins.
    before = numpy.maximum.accumulate(numpy.where(curved, -1, place))
    control = curved & ((place - before) % 2 == 1)
    on_it = x[~control & (codes != Path.CLOSEPOLY)]
    at = place[control]
    begin, middle, end = x[at - 1], x[at], x[at + 1]
    bend = begin - 2 * middle + end
    with numpy.errstate(divide="ignore", invalid="ignore"):
        t = (begin - middle) / bend
    turns = (t > 0) & (t < 1)
    t, begin, middle, end = t[turns], begin[turns], middle[turns], end[turns]
    extrema = (1 - t) ** 2 * begin + 2 * t * (1 - t) * middle + t**2 * end
    every = numpy.concatenate([on_it, extrema])
    return float(every.max() - every.min())


def wrapped(text: str, size: float, inches: float, indent: str = "") -> list[str]:
    """Break a text at blanks into lines of at most `inches`; a longer word is not broken."""
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        longer = f"{line} {word}" if line else (indent if lines else "") + word
        if line and width(longer, size) > inches:
            lines.append(line)
            longer = indent + word
        line = longer
    return [*lines, line]
