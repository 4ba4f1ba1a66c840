"""Writes index.html beside figures: what each shows, and which were left out."""

import html
import re
from collections.abc import Mapping, Sequence

from plots.figures import Drawing, FigureKind
from plots.words import amount_of

NAME = "index.html"

_STYLE = """\
:root { color-scheme: light dark; }
body { margin: 0 auto; max-width: 60rem; padding: 1rem; font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin: 2rem 0 0.2rem; }
p { margin: 0.2rem 0; } nav li { margin: 0.1rem 0; overflow-wrap: anywhere; }
img { max-width: 100%; height: auto; background: white; }
"""


def page(
    runs: Sequence[str],
    drawn: Sequence[Drawing],
    left_out: Sequence[Drawing],
    kinds: Mapping[str, FigureKind],
) -> str:
    """Return the page. `runs` are names; `kinds` has the kind of each drawing by its name."""
    title = html.escape(f"Figures of {', '.join(runs)}")
    contents = "\n".join(f'<li><a href="#{_anchor(d)}">{_heading(d)}</a></li>' for d in drawn)
    sections = "\n".join(_section(d, kinds[d.name].description) for d in drawn)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{_STYLE}</style>
</head>
<body>
<h1>{title}</h1>
<nav aria-label="Figures"><ol>
{contents}
</ol></nav>
{sections}
{_rest(left_out)}</body>
</html>
"""


def _section(drawing: Drawing, description: str) -> str:
    name, heading = html.escape(drawing.name, quote=True), _heading(drawing)
    return f"""<section id="{_anchor(drawing)}">
<h2>{heading}</h2>
<p>{html.escape(description[0].upper() + description[1:])}.</p>
<p><a href="{name}.pdf">PDF</a> <a href="{name}.csv">CSV, {amount_of(len(drawing.rows), 'row')}</a></p>
<a href="{name}.png"><img src="{name}.png" loading="lazy" alt="{heading}"></a>
</section>"""


def _rest(left_out: Sequence[Drawing]) -> str:
    if not left_out:
        return ""
    items = "\n".join(f"<li>{_heading(drawing)}</li>" for drawing in left_out)
    return f"""<section id="left-out">
<h2>{len(left_out)} more, which --all draws</h2>
<ul>
{items}
</ul>
</section>
"""


def _anchor(drawing: Drawing) -> str:
    return html.escape(drawing.name, quote=True)


def _heading(drawing: Drawing) -> str:
    """Return title and subtitle of a figure, which are the first texts of its page."""
    title, subtitle = (text.get_text() for text in drawing.figure.texts[:2])
    return html.escape(plain(f"{title}: {subtitle}"), quote=True)


def plain(text: str) -> str:
    """Return text without matplotlib's mathematics: `$2^{10}$` as `2^10`, `\\$` as `$`."""
    text = re.sub(r"(?<!\\)\$(.*?)(?<!\\)\$", lambda found: re.sub(r"[{}]", "", found[1]), text)
    return re.sub(r"\s*\|\s*", ", ", text.replace(r"\$", "$"))
