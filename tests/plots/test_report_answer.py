"""The report's first screen, dark mode, narrow screens and the keyboard, in a headless Chromium."""

import io
import re
from pathlib import Path

import pytest
from PIL import Image
from plots.report.__main__ import main

import chromium
from conftest import CONTENDERS, GPU_CONTENDERS, JsonObject, cell, problem, write_run
from test_report import cells, page, report  # noqa: F401 (fixtures)


def test_the_answer_comes_first(page: chromium.Page) -> None:
    title, detail = (
        page.run(f"document.getElementById('{name}').textContent")
        for name in ("answer", "answer-detail")
    )
    # The default baseline is the slowest of the fullest, as of the figures.
    timed = [c for c in cells() if c["time"]]
    by_problem: dict[tuple[int, int], list[JsonObject]] = {}
    for c in timed:
        by_problem.setdefault((c["problem"]["n"], c["problem"]["k"]), []).append(c)
    firsts = [min(found, key=lambda c: c["time"]["median"]) for found in by_problem.values()]
    best = max(f["time"]["ci95"][1] for f in firsts)
    assert best > 0
    winner = title.split(" wins ")[0]
    wins = sum(
        any(
            c["algorithm"]["name"] == winner and c["time"]["ci95"][0] <= first["time"]["ci95"][1]
            for c in found
        )
        for found, first in zip(by_problem.values(), firsts, strict=True)
    )
    assert title.startswith(f"{winner} wins {wins} of 6 problems; the fastest is ")
    assert "times as fast as" in title
    assert "in geometric mean" in detail
    # The page begins with it; the environment is below the results.
    assert page.run(
        "document.querySelector('h1').id === 'answer' && "
        "document.getElementById('environment').offsetTop > "
        "document.getElementById('results').offsetTop"
    )
    key = page.run("[...document.querySelectorAll('#winners-key li')].map(e => e.textContent)")
    assert any(f"{winner} wins {wins} of 6" in text for text in key)


def test_the_winner_map_names_the_fastest_and_opens_it(page: chromium.Page) -> None:
    labels = page.run(
        "[...document.querySelectorAll('#winners-maps button')].map(b => b.ariaLabel)"
    )
    assert len(labels) == 6
    for label in labels:
        name, n, k = re.match(r"(\S+), n = (\S+), Q = 16, k = (\d+): ", label).groups()
        n = 2 ** int(n.removeprefix("2^"))
        here = {
            c["algorithm"]["name"]: c["time"]["median"]
            for c in cells()
            if c["time"] and (c["problem"]["n"], c["problem"]["k"]) == (n, int(k))
        }
        assert name == min(here, key=lambda algorithm: here[algorithm])
    page.run("document.querySelector('#winners-maps button').focus()")
    page.press("Enter", "\r")
    assert page.run("document.getElementById('cell').open")
    page.press("Escape")


def fill(page: chromium.Page, **sizes: str) -> tuple[str, str]:
    """Type sizes into the three fields; return the verdict and the note."""
    for axis, text in sizes.items():
        page.run(f"document.getElementById('find-{axis}').value = ''")
        page.run(f"document.getElementById('find-{axis}').focus()")
        page.type(text)
    verdict, note = (
        page.run(f"document.getElementById('find-{name}').textContent") for name in ("verdict", "note")
    )
    return verdict, note


def test_three_fields_say_which_algorithm(page: chromium.Page) -> None:
    verdict, note = fill(page, n="2^12", q="16", k="1,024")
    here = {
        c["algorithm"]["name"]: c["time"]["median"]
        for c in cells()
        if c["time"] and (c["problem"]["n"], c["problem"]["k"]) == (4096, 1024)
    }
    ranked = sorted(here, key=lambda name: here[name])
    assert verdict.startswith(f"{ranked[0]} takes ")
    assert f"The next, {ranked[1]}, takes {here[ranked[1]] / here[ranked[0]]:.3g} times" in verdict
    assert note == "On record, proven: n = 2^12, Q = 16, k = 2^10."
    rows = page.run(
        "[...document.querySelectorAll('#find-ranking tbody tr')].map(r => r.cells[1].textContent)"
    )
    assert rows == ranked
    # Nothing on record is said, with what is nearest.
    verdict, note = fill(page, n="5000", q="20", k="20")
    assert note == (
        "No record has exactly this problem. The nearest on record is n = 2^12, Q = 16, k = 16."
    )
    assert fill(page, n="12")[0] == "k is larger than n: of 12 elements no 20 can be selected."
    assert fill(page, n="many")[0] == "n is no size: write 4096, 2^12 or 1e6."
    assert page.run("document.getElementById('find-n').hasAttribute('aria-invalid')")
    fill(page, n="4Ki", q="16", k="16")
    assert page.run("find_state.problem.n") == 4096


def test_the_curve_has_the_algorithms_that_are_ticked(page: chromium.Page) -> None:
    fill(page, n="4096", q="16", k="16")
    points = "document.querySelectorAll('#find-plot path.point').length"
    assert page.run("document.getElementById('find-axis').selectedOptions[0].textContent") == (
        "n, Q = 16, k = 16"
    )
    assert page.run(points) == 5 * 3
    page.run("document.querySelector('#find-ranking tbody input').focus()")
    page.press(" ", " ")
    assert page.run(points) == 4 * 3
    page.run("document.querySelector('#find-plot .point').focus()")
    page.press("Enter", "\r")
    assert page.run("document.getElementById('cell').open")
    page.press("Escape")


@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_suits_narrow_screens_and_dark_rooms(
    page: chromium.Page, report: Path, width: int, scheme: str
) -> None:
    page.resize(width, 900)
    page.prefer(scheme)
    page.open(report)
    try:
        assert page.run("document.documentElement.scrollWidth") <= width
        # Times are within the screen without scrolling, the table's and the page's.
        rights = page.run(
            "[...document.querySelectorAll('#table tbody tr')].map(row => "
            "[...row.cells][COLUMNS.findIndex(([name]) => name === 'Median')]"
            ".getBoundingClientRect().right)"
        )
        assert len(rights) == 25
        assert 0 < max(rights) <= width
        # Text is legible on what lies behind it (WCAG AA: 4.5, large shapes 3).
        for names, least in ((("ink", "muted", "link"), 4.5), ([f"s{i}" for i in range(12)], 1.9)):
            for name in names:
                assert contrast(page, name, "paper") >= least, (name, scheme)
        assert contrast(page, "ink", "soft") >= 4.5
        picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
        red, green, blue = picture.getpixel((2, 2))
        assert (red + green + blue > 700) == (scheme == "light")
        assert page.errors == []
    finally:
        page.resize(1280, 900)
        page.prefer("light")
        page.open(report)


def contrast(page: chromium.Page, front: str, back: str) -> float:
    """Return the contrast ratio of two colours of the style sheet (WCAG 2)."""

    def luminance(name: str) -> float:
        text = page.run(
            f"getComputedStyle(document.documentElement).getPropertyValue('--{name}').trim()"
        )
        parts = [int(text[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(front), luminance(back)))
    return (high + 0.05) / (low + 0.05)


def test_everything_is_reached_and_seen_by_keyboard(page: chromium.Page) -> None:
    page.run("document.activeElement.blur(); window.scrollTo(0, 0)")
    reached = set()
    for _ in range(200):
        page.press("Tab")
        focused = page.run(
            "(() => { const e = document.activeElement, s = getComputedStyle(e);"
            "return e === document.body ? null : [e.closest('section, header, a.skip')?.id ||"
            " e.className || e.tagName, s.outlineStyle !== 'none' || s.strokeWidth === '4px']; })()"
        )
        if focused is None:
            break
        section, seen = focused
        assert seen, section
        reached.add(section)
    assert {"find", "winners", "results", "lines", "heatmap", "config"} <= reached


def test_a_search_of_lines_begins_with_uniform_rows_and_the_most_of_them(tmp_path: Path) -> None:
    if chromium.program() is None:
        pytest.skip(f"none of {', '.join(chromium.PROGRAMS)} is installed")
    sweep = [
        cell(c, problem(n, q, k, distribution=d))
        for c in GPU_CONTENDERS[:2]
        for d in ("descending", "uniform")
        for n in (1024, 2048)
        for q in (1, 16, 256)
        for k in (8, 64, 512)
    ]
    run = write_run(tmp_path / "run", sweep)
    assert main([str(run)]) == 0
    with chromium.browser() as opened:
        opened.open(run / "report.html")
        chosen = [
            opened.run(f"document.getElementById({name!r}).value")
            for name in ("lines-kind", "lines-fixed-q", "lines-fixed-k", "winners-kind")
        ]
        assert chosen == [
            "uniform, float32, values and indices, smallest",
            "256",
            "64",
            "uniform, float32, values and indices, smallest",
        ]
        ats = opened.run("[...line_points().series.values()].map(ps => ps.map(p => p.at))")
        assert ats == [[1024, 2048]] * 2
        assert opened.errors == []


def test_a_run_without_times_says_so(tmp_path: Path) -> None:
    failing = [cell(CONTENDERS[2], problem(2048, 16, 16), "error", "it failed")]
    run = write_run(tmp_path / "run", failing)
    assert main([str(run)]) == 0
    if chromium.program() is None:
        pytest.skip(f"none of {', '.join(chromium.PROGRAMS)} is installed")
    with chromium.browser() as opened:
        opened.open(run / "report.html")
        assert opened.run("document.querySelector('h1').textContent") == "No cell has a time"
        assert opened.run("document.getElementById('winners').hidden")
        assert opened.errors == []


def test_the_headline_compares_with_the_baseline_asked_for(
    report: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "r.html"
    run = str(report.parent / "run")
    assert main([run, "--out", str(out), "--baseline", "tang/insertion"]) == 0
    assert "times as fast as tang/insertion" in out.read_text()
    assert main([run, "--baseline", "komarov/qms_wrap"]) == 2
    assert "the nearest is 'komarov/qms_warp'" in capsys.readouterr().err
