"""Makes the files of the site: pages, style, script, and data."""

import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

from plots import web
from plots.board.data import Judged, board_data
from plots.board.details import run_data
from plots.board.pack import packed_script, script
from plots.report.data import script_text

_PAGE = Path(__file__).parent / "page"
_SCRIPTS = (
    _PAGE / "data.js",
    *web.SCRIPTS,
    *(_PAGE / name for name in ("site.js", "answer.js", "leaders.js", "map.js", "curves.js")),
    *(_PAGE / name for name in ("algorithm.js", "pages.js")),
)
_STYLES = (*web.STYLES, _PAGE / "site.css")

# File, title, and the text of its link; "" for a page that only others link to.
_PAGES = (
    ("index", "Which top-k algorithm?", "Answer"),
    ("map", "Who wins where", "Winners"),
    ("curves", "Curves", "Curves"),
    ("leaderboard", "Leaderboard", "Leaderboard"),
    ("algorithms", "Algorithms", "Algorithms"),
    ("results", "Results", "Results"),
    ("knn", "k-NN searches", "k-NN"),
    ("papers", "Papers", "Papers"),
    ("runs", "Runs", "Runs"),
    ("algorithm", "Algorithm", ""),
    ("cell", "Cell", ""),
)
_OF_DATA = {"knn": "searches", "papers": "papers"}  # pages that are left out without their data


def site(
    judged: Judged,
    contracts: Mapping[str, Any],
    sources: Mapping[str, str],
    pasts: Mapping[str, Any],
    more: Mapping[str, Any],
) -> dict[str, bytes]:
    """Return the files of the site by path; `more` has the data of "searches" and of "papers"."""
    files = {
        "site.css": web.joined(_STYLES).encode(),
        "site.js": f'"use strict";\n{web.joined(_SCRIPTS)}'.encode(),
        "data/board.js": script("board", board_data(judged, contracts, sources, pasts)),
    }
    for number, run in enumerate(judged.gathered.runs):
        data = run_data(run, judged.gathered.names[number])
        files[f"data/run-{number:03}.js"] = packed_script("run_arrived", number, data)
    for name, data in more.items():
        if data:
            text = script_text(data)  # type: ignore[arg-type]  # JSON of a list
            files[f"data/{name}.js"] = f"const {name} = {text};\n".encode()
    pages = [page for page in _PAGES if page[0] not in _OF_DATA or more.get(_OF_DATA[page[0]])]
    for name, title, _ in pages:
        files[f"{name}.html"] = _page(name, title, pages).encode()
    return files


def _page(name: str, title: str, pages: Sequence[tuple[str, str, str]]) -> str:
    nav = [f'      <a href="{file}.html">{html.escape(text)}</a>' for file, _, text in pages if text]
    scripts = f'<script src="data/{_OF_DATA[name]}.js"></script>' if name in _OF_DATA else ""
    body = Template(_read(_PAGE / f"{name}.html")).substitute(
        finder=web.fragment("finder"), scope=_read(_PAGE / "scope.html"), results=web.fragment("results")
    )
    head = web.head(
        f"{title}: top-k board",
        '<link rel="stylesheet" href="site.css">',
        style_sources="'self' 'unsafe-inline'",
        script_sources="'self'",
    )
    return Template(_read(_PAGE / "layout.html")).substitute(
        head=head, page=name, nav="\n".join(nav), body=body, scripts=scripts, dialog=web.fragment("dialog")
    )


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8").rstrip()
