"""Builds the report's file from template, style sheet, scripts and data."""

import html
from collections.abc import Iterable
from pathlib import Path
from string import Template

from plots.records import Whole
from plots.report.data import page_data, script_text

_PAGE = Path(__file__).parent / "page"
_WEB = Path(__file__).parents[1] / "web"  # for every page that shows cells
_SCRIPTS = (
    _PAGE / "data.js",
    *(_WEB / name for name in ("core.js", "chart.js", "search.js", "facts.js", "cell.js", "scope.js")),
    *(_WEB / name for name in ("finder.js", "contests.js", "table.js")),
    *(_PAGE / name for name in ("environment.js", "winners.js", "lines.js", "heatmap.js")),
    *(_PAGE / name for name in ("dialog.js", "main.js")),
)
_STYLES = (_WEB / "colours.css", _WEB / "base.css")


def joined(files: Iterable[Path]) -> str:
    """Return the texts of files, one after the other."""
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


def build(run: Whole, baseline: str | None = None) -> str:
    """Return the report of a run; equal runs give equal text.

    The headline compares with `baseline`, by default with what `plots.baseline` chooses.
    """
    return Template((_PAGE / "report.html").read_text(encoding="utf-8")).substitute(
        title=html.escape(f"kselect: {run.run.name}"),
        style=joined(_STYLES),
        finder=(_WEB / "finder.html").read_text(encoding="utf-8").rstrip(),
        data=script_text(page_data(run, baseline)),
        script=joined(_SCRIPTS),
    )
