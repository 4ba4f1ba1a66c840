"""What all pages that show cells have in common: their head, fragments of HTML, styles and scripts."""

import html
from collections.abc import Iterable
from pathlib import Path
from string import Template

_HERE = Path(__file__).parent
SCRIPTS = tuple(
    _HERE / f"{name}.js"
    for name in ("core", "chart", "search", "facts", "cell", "scope", "finder", "contests", "table")
)
STYLES = (_HERE / "colours.css", _HERE / "base.css")


def joined(files: Iterable[Path]) -> str:
    """Return the texts of files, one after the other."""
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


def fragment(name: str) -> str:
    """Return the HTML of "finder", of "results" (the table of all cells) or of "dialog" (one cell)."""
    return (_HERE / f"{name}.html").read_text(encoding="utf-8").rstrip()


def head(title: str, style: str, *, style_sources: str, script_sources: str) -> str:
    """Return a page from its doctype to the end of its head.

    `style` is an element; the sources are those of its Content-Security-Policy. Nothing else may be loaded.
    """
    return Template(fragment("head")).substitute(
        title=html.escape(title), style=style, style_sources=style_sources, script_sources=script_sources
    )
