"""Counts as messages have them, in Python and in the pages' script."""

from pathlib import Path

import pytest
from plots import web
from plots.words import amount_of, digits

import chromium

AMOUNTS = [
    (0, "cell", "0 cells"), (1, "cell", "1 cell"), (2, "cell", "2 cells"), (1, "query", "1 query"),
    (2, "query", "2 queries"), (2, "entry", "2 entries"), (2, "key", "2 keys"), (2, "pass", "2 passes"),
    (2, "more kind", "2 more kinds"),
]  # fmt: skip


@pytest.mark.parametrize(("count", "noun", "text"), AMOUNTS)
def test_one_is_singular_and_every_other_number_is_plural(count: int, noun: str, text: str) -> None:
    assert amount_of(count, noun) == text


def test_the_pages_say_it_as_python_does(tmp_path: Path) -> None:
    if chromium.program() is None:
        pytest.skip(f"none of {', '.join(chromium.PROGRAMS)} is installed")
    (core,) = (script for script in web.SCRIPTS if script.name == "core.js")
    page = tmp_path / "page.html"
    page.write_text(
        f'<!DOCTYPE html><meta charset="utf-8"><link rel="icon" href="data:,">'
        f"<script>const cells = [];\n{core.read_text()}"
        'document.documentElement.dataset.ready = "true";</script>'
    )
    with chromium.browser() as opened:
        opened.open(page)
        assert [opened.run(f"amount({count}, {noun!r})") for count, noun, _ in AMOUNTS] == [
            text for *_, text in AMOUNTS
        ]
        assert opened.errors == []


def test_fragments_stand_in_no_page_of_their_own() -> None:
    """What both pages show is written once: no id of a fragment is in another file of a page."""
    fragments = {name: web.fragment(name) for name in ("finder", "results", "dialog")}
    own = [
        path
        for folder in ("report", "board")
        for path in (Path(web.__file__).parents[1] / folder / "page").glob("*.html")
    ]
    assert len(own) > 10
    for name, text in fragments.items():
        ids = {part.split('"')[0] for part in text.split(' id="')[1:]}
        assert ids
        for path in own:
            page = path.read_text()
            assert not [i for i in ids if f'id="{i}"' in page], f"{path} repeats plots/web/{name}.html"
            assert "<!DOCTYPE" not in page


def test_large_numbers_have_no_exponent() -> None:
    numbers = (0.01858, 2.0345, 1311.7, 16384.0, 77153.4, 2048.0)
    assert [digits(n, 4) for n in numbers] == ["0.01858", "2.034", "1312", "16,384", "77,150", "2048"]
