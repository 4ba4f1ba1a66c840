"""The HTML report: its command and its file, and in a headless Chromium that it works offline."""

import dataclasses
import io
import json
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
        ("runs.jsonl", '{"schema":1,"what":"index_search"', "python -m plots.older_searches"),
        ("knn_end_to_end.jsonl", "{}", "python -m plots.older_searches"),
        ("scaling.jsonl", "{}", "python -m plots.older_searches"),
        ("whole.json", '{\n  "schema": 1,\n  "what": "knn",', "python -m plots.older_searches"),
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
    said = page.wait("document.getElementById('config-copied').textContent")
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
