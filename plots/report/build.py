"""Builds the report's file from template, style sheet, scripts and data."""

import html
from pathlib import Path
from string import Template

from plots.records import Whole
from plots.report.data import page_data, script_text

_PAGE = Path(__file__).parent / "page"
_SCRIPTS = (
    *("core.js", "environment.js", "winners.js", "table.js"),
    *("lines.js", "heatmap.js", "cell.js", "main.js"),
)


def build(run: Whole, baseline: str | None = None) -> str:
    """Return the report of a run; equal runs give equal text.

    The headline compares with `baseline`, by default with what `plots.baseline` chooses.
    """
    scripts = [(_PAGE / name).read_text(encoding="utf-8") for name in _SCRIPTS]
    return Template((_PAGE / "report.html").read_text(encoding="utf-8")).substitute(
        title=html.escape(f"kselect: {run.run.name}"),
        style=(_PAGE / "report.css").read_text(encoding="utf-8"),
        data=script_text(page_data(run, baseline)),
        script="\n".join(scripts),
    )
