"""The HTML report: its command and its file, and in a headless Chromium that it works offline."""

import dataclasses
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image
from plots.report.__main__ import main
from plots.report.data import script_text

import chromium
from conftest import CONTENDERS, GPU_CONTENDERS, JsonObject, cell, problem, write_run

NASTY = "</script><script>alert(1)</script> & <b> ' \" \u2028"


def cells() -> list[JsonObject]:
    """Return cells of five algorithms, one of which has a limit of k, and one odd failure."""
    found = [
        cell(c, problem(1 << e, 16, k))
        for c in GPU_CONTENDERS[:5]
        for k in (16, 1024)
        for e in (11, 12, 13)
    ]
    odd = dataclasses.replace(CONTENDERS[2], name="odd/one")
    return [*found, cell(odd, problem(2048, 16, 16), "error", NASTY)]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the report of the cells above."""
    folder = tmp_path_factory.mktemp("report")
    config = {"name": "odd", "description": NASTY, "axes": {"n": [2048]}}
    run = write_run(folder / "run", cells(), config=config)
    assert main([str(run), "--out", str(folder / "report.html")]) == 0
    return folder / "report.html"


@pytest.mark.parametrize(
    ("name", "text", "command"),
    [
        ("runs.jsonl", '{"schema":1,"what":"index_search"', "python -m plots.index_searches"),
        ("knn_end_to_end.jsonl", "{}", "python -m plots.knn_end_to_end"),
        ("scaling.jsonl", "{}", "python -m plots.scaling"),
        ("whole.json", '{\n  "schema": 1,\n  "what": "knn",', "scripts/reproduce.sh --from"),
        ("runs.jsonl", '{"schema":1,"key":"0"', "meta.json: cannot be read"),
    ],
)
def test_another_kind_of_record_is_told_with_what_draws_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, command: str
) -> None:
    (tmp_path / name).write_text(text)
    assert main([str(tmp_path)]) == 3
    assert command in capsys.readouterr().err


@pytest.fixture(scope="module")
def page(report: Path) -> Iterator[chromium.Page]:
    """Return the report open in a browser without network."""
    if chromium.program() is None:
        pytest.skip(f"none of {', '.join(chromium.PROGRAMS)} is installed")
    with chromium.browser() as opened:
        opened.open(report)
        yield opened
        assert opened.errors == []
        assert opened.requests == []


def rows(page: chromium.Page) -> list[list[str]]:
    """Return the texts of the table's rows."""
    return page.run(
        "[...document.querySelectorAll('#table tbody tr')].map("
        "row => [...row.cells].map(cell => cell.textContent))"
    )


def choose(page: chromium.Page, name: str, value: str) -> None:
    """Choose an option as a user does: the value changes, and input and change are told."""
    page.run(
        f"(() => {{ const s = document.getElementById({name!r}); s.value = {value!r};"
        "for (const e of ['input', 'change']) s.dispatchEvent(new Event(e, {bubbles: true})); })()"
    )


def test_equal_runs_give_equal_files_that_name_no_other(report: Path, tmp_path: Path) -> None:
    text = report.read_text()
    assert main([str(report.parent / "run"), "--out", str(tmp_path / "again.html")]) == 0
    assert (tmp_path / "again.html").read_text() == text
    assert "default-src 'none'" in text
    for reference in ("http://", "https://", "src=", "@import", "url("):
        found = text.replace("http://www.w3.org/2000/svg", "").replace("url(#hatch)", "")
        assert reference not in found, reference


def test_strings_of_records_cannot_end_the_script(report: Path) -> None:
    assert report.read_text().count("</script>") == 2
    text = script_text({"a": NASTY})
    assert json.loads(text) == {"a": NASTY}
    assert "<" not in text


def test_a_run_that_cannot_be_reported_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path / "none")]) == 3
    assert capsys.readouterr().err == f"report: {tmp_path}/none: no such run directory\n"
    assert main([str(write_run(tmp_path / "empty", []))]) == 3
    assert "no finished cell" in capsys.readouterr().err
    assert main(["--colour"]) == 2
    unknown = write_run(tmp_path / "new", [cells()[0] | {"schema": 9}])
    assert main([str(unknown)]) == 3
    assert "runs.jsonl:1: schema 9 is not known" in capsys.readouterr().err


def test_a_torn_line_is_told_on_the_page(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", cells())
    with (run / "runs.jsonl").open("ab") as file:
        file.write(b'{"schema":1')
    assert main([str(run)]) == 0
    assert "ignored an unfinished line (11 bytes)" in (run / "report.html").read_text()


def test_the_page_says_what_was_measured_on_what(page: chromium.Page) -> None:
    facts = page.run("document.getElementById('facts').textContent")
    assert "NVIDIA H200" in facts
    assert "Intel(R) Xeon(R) Platinum 8480+" in facts
    assert "0123456789abcdef" in facts
    # The failure's reason, with its markup, is text.
    assert page.run("document.querySelector('td.reason b')") is None
    assert json.loads(page.run("document.getElementById('config-text').textContent")) == {
        "name": "odd",
        "description": NASTY,
        "axes": {"n": [2048]},
    }


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
    assert {"winners", "results", "lines", "heatmap", "config"} <= reached


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


def test_the_table_sorts_and_filters_by_keyboard(page: chromium.Page) -> None:
    assert len(rows(page)) == 25  # a page of them
    # At first the fastest of each problem comes first.
    fastest = page.run("chosen_rows().map(over_fastest)")
    assert fastest[: 2 * 3 + 1] == [1.0] * 6 + [min(r for r in fastest[6:] if r)]
    button = "document.querySelectorAll('#table thead button')"
    median = f"[...{button}].find(b => b.textContent === 'Median')"
    page.run(f"{median}.focus()")
    page.press("Enter", "\r")
    times = page.run("chosen_rows().filter(c => c.time).map(c => c.time.median)")
    assert times == sorted(times)
    assert page.run(f"{median}.parentElement.getAttribute('aria-sort')") == "ascending"
    page.press("Enter", "\r")
    falling = page.run("chosen_rows().filter(c => c.time).map(c => c.time.median)")
    assert falling == times[::-1]
    assert page.run("chosen_rows().at(-1).time") is None  # without a value last, either way

    page.run("document.getElementById('table-search').focus()")
    page.type("tang k=16 n>2^11")
    found = rows(page)
    assert {row[0] for row in found} == {c.name for c in GPU_CONTENDERS[:5] if "tang" in c.name}
    assert len(found) == 4
    assert page.run("document.getElementById('table-count').textContent") == "4 of 31 cells"
    choose(page, "table-search", "")
    choose(page, "table-search", "n=16384")
    assert rows(page) == []
    count = "document.getElementById('table-count').textContent"
    assert page.run(count) == "0 of 31 cells. No cell has n=16384; n is one of 2048, 4096, 8192."
    choose(page, "table-search", "q>16")
    assert page.run(count) == "0 of 31 cells. No cell has Q>16; Q is one of 16."
    choose(page, "table-search", "warp-drive")
    assert page.run(count) == "0 of 31 cells. No cell has the word “warp-drive”."
    choose(page, "table-search", "odd k=1024")
    assert page.run(count) == "0 of 31 cells. No cell has all of these together."
    choose(page, "table-search", "")
    choose(page, "table-status", "unsupported")
    assert {row[0] for row in rows(page)} == {"sismanis/truncated_bitonic"}
    choose(page, "table-status", "")


def test_lines_follow_the_controls_and_failures_are_hatched(page: chromium.Page) -> None:
    def points() -> int:
        return page.run("document.querySelectorAll('#lines-plot path.point').length")

    choose(page, "lines-fixed-k", "16")
    assert points() == 5 * 3
    hatched = "[...document.querySelectorAll('#lines-plot rect.point')].map(p => p.textContent)"
    (reason,) = page.run(hatched)
    assert reason.startswith("odd/one, n = 2^11, Q = 16, k = 16: error, </script>")
    choose(page, "lines-fixed-k", "1024")
    assert points() == 4 * 3
    assert all("unsupported, k > 512" in text for text in page.run(hatched))
    page.run("document.getElementById('lines-none').click()")
    assert points() == 0
    assert "Nothing to draw" in page.run("document.getElementById('lines-note').textContent")
    page.run("document.querySelector('#lines-algorithms input').focus()")
    page.press(" ", " ")
    assert points() == 3
    page.run("document.getElementById('lines-all').click()")
    choose(page, "lines-x", "k")
    assert page.run("document.querySelectorAll('#lines-fixed select').length") == 2
    choose(page, "lines-x", "n")


def test_points_are_reached_by_arrows_and_open_their_cell(page: chromium.Page) -> None:
    choose(page, "lines-fixed-k", "16")
    page.run("document.querySelector('#lines-plot .point[tabindex=\"0\"]').focus()")
    page.press("ArrowRight")
    label = page.run("document.activeElement.getAttribute('aria-label')")
    assert "n = 2^12" in label
    page.press("Enter", "\r")
    assert page.run("document.getElementById('cell').open")
    heading = page.run("document.getElementById('cell-heading').textContent")
    assert label.startswith(heading)
    assert page.run("document.querySelectorAll('#cell-body circle').length") == 15
    samples = page.run("document.querySelector('#cell-body .samples').textContent").split()
    name, n = heading.split(", ")[0], 4096
    (recorded,) = (
        c["time"]["samples"]
        for c in cells()
        if c["algorithm"]["name"] == name and (c["problem"]["n"], c["problem"]["k"]) == (n, 16)
    )
    assert [float(s) for s in samples] == pytest.approx(recorded, rel=1e-5)
    page.press("Escape")
    assert not page.run("document.getElementById('cell').open")


def test_the_heat_map_follows_the_controls(page: chromium.Page) -> None:
    def texts() -> list[str]:
        return page.run(
            "[...document.querySelectorAll('#heatmap-plot td')].map(cell => cell.textContent)"
        )

    choose(page, "heatmap-algorithm", "sismanis/truncated_bitonic")
    assert texts()[:3] == ["unsupported"] * 3
    assert page.run("document.querySelectorAll('#heatmap-plot td.hatched').length") == 3
    label = page.run("document.querySelector('#heatmap-plot button').getAttribute('aria-label')")
    assert label.endswith("unsupported: k > 512")
    choose(page, "heatmap-value", "speedup")
    choose(page, "heatmap-over", "sismanis/truncated_bitonic")
    assert texts()[3:] == ["1×"] * 3
    choose(page, "heatmap-algorithm", "komarov/qms_block")
    medians = {
        (c["algorithm"]["name"], c["problem"]["n"]): c["time"]["median"]
        for c in cells()
        if c["time"] and c["problem"]["k"] == 16
    }
    expected = [
        medians["sismanis/truncated_bitonic", n] / medians["komarov/qms_block", n]
        for n in (2048, 4096, 8192)
    ]
    shown = [float(text.removesuffix("×")) for text in texts()[3:]]
    assert shown == pytest.approx(expected, rel=6e-3)


def test_the_config_is_copied_or_selected(page: chromium.Page) -> None:
    page.run("document.getElementById('config-copy').focus()")
    page.press("Enter", "\r")
    said = ""
    for _ in range(100):
        said = page.run("document.getElementById('config-copied').textContent")
        if said:
            break
    assert said.startswith(("Copied", "Selected"))


def test_every_control_has_a_name(page: chromium.Page) -> None:
    nameless = page.run(
        "[...document.querySelectorAll('input, select, button')].filter(c => !("
        "c.getAttribute('aria-label') || c.textContent.trim() || (c.labels && c.labels.length)"
        ")).map(c => c.outerHTML)"
    )
    assert nameless == []


def test_the_page_is_drawn(page: chromium.Page) -> None:
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    assert picture.height > 1500
    colours = picture.getcolors(1 << 24) or []
    for colour in ((0x00, 0x72, 0xB2), (0xD5, 0x5E, 0x00)):  # the first two series
        assert any(found == colour and count > 20 for count, found in colours), colour
