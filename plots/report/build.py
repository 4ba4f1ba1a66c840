"""Builds the report's file from template, style sheet, scripts and data."""

from pathlib import Path
from string import Template

from plots import web
from plots.records import Whole
from plots.report.data import page_data, script_text

_PAGE = Path(__file__).parent / "page"
_SCRIPTS = (
    _PAGE / "data.js",
    *web.SCRIPTS,
    *(_PAGE / name for name in ("environment.js", "winners.js", "lines.js", "heatmap.js")),
    *(_PAGE / name for name in ("dialog.js", "main.js")),
)


def build(run: Whole, baseline: str | None = None) -> str:
    """Return the report of a run; equal runs give equal text.

    The headline compares with `baseline`, by default with what `plots.baseline` chooses.
    """
    return Template((_PAGE / "report.html").read_text(encoding="utf-8")).substitute(
        head=web.head(
            f"kselect: {run.run.name}",
            f"<style>\n{web.joined(web.STYLES)}\n</style>",
            style_sources="'unsafe-inline'",
            script_sources="'unsafe-inline'",
        ),
        finder=web.fragment("finder"),
        results=web.fragment("results"),
        dialog=web.fragment("dialog"),
        data=script_text(page_data(run, baseline)),
        script=web.joined(_SCRIPTS),
    )
