"""The board of the committed records, opened in a headless Chromium as a user does."""

import json
import re
import shutil
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

import pytest
from plots.board.__main__ import main

import chromium
from board_site import program, show, texts

ROOT = Path(__file__).resolve().parents[2]
MOST_BYTES = 5_000_000
PAGES = ("index", "map", "curves", "leaderboard", "algorithms", "results", "knn", "papers", "runs")
H200 = "device=NVIDIA+H200&what=float32%2C+values+and+indices%2C+smallest&input=uniform"


# Runs that fill each page; drawing and opening all runs takes many times as long.
FEW = {
    "cpu-epyc-2core": ("cpu_goal", "knn_on_host"),
    "nvidia-h200": (
        "barrientos", "goal_orders_rivals", "goal_shapes", "goal_types_rivals", "index_crossover", "robustness", "winner_map",
    ),
    "nvidia-h200-x2": ("goal_libraries",),
    "nvidia-h200-x4": (
        "knn_end_to_end", "komarov_fig4", "scaling", "tang_fig7",
    ),
}  # fmt: skip


@pytest.fixture(scope="module", params=["few", pytest.param("all", marks=pytest.mark.slow)])
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the site of a few runs of results/, or of all."""
    folder = tmp_path_factory.mktemp("board")
    results, out = ROOT / "results", folder / request.param
    if request.param == "few":
        results = folder / "results"
        for machine, runs in FEW.items():
            for run in runs:
                shutil.copytree(ROOT / "results" / machine / run, results / machine / run)
    assert main([str(results), "--out", str(out), "--program", str(program(folder))]) == 0
    return out


@pytest.fixture(scope="module")
def page(site: Path) -> Iterator[chromium.Page]:
    """Return a page without network."""
    if chromium.program() is None:
        pytest.skip(f"none of {', '.join(chromium.PROGRAMS)} is installed")
    with chromium.browser() as opened:
        yield opened
        assert opened.errors == []
        assert opened.requests == []


def text(page: chromium.Page, name: str) -> str:
    """Return the text of an element."""
    return page.run(f"document.getElementById({name!r}).textContent")


def value(page: chromium.Page, name: str) -> str:
    """Return the value of a field."""
    return page.run(f"document.getElementById({name!r}).value")


def change(page: chromium.Page, name: str, to: str) -> None:
    """Choose a value of a select."""
    page.run(
        f"(() => {{ const e = document.getElementById({name!r}); e.value = {to!r};"
        " e.dispatchEvent(new Event('change', {bubbles: true})); })()"
    )


def test_it_is_one_small_folder_whose_links_lead_somewhere(site: Path, page: chromium.Page) -> None:
    files = [path for path in site.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < MOST_BYTES
    for name in PAGES:
        show(page, site, name)
        links = page.run("[...document.querySelectorAll('a[href]')].map(a => a.href)")
        assert links
        for link in set(links):
            address = urllib.parse.urlsplit(link)
            assert address.scheme == "file"
            assert Path(urllib.parse.unquote(address.path)).is_file(), link
            given = dict(urllib.parse.parse_qsl(address.fragment))
            for key, known in (("name", "algorithm_of"), ("run", "run_number")):
                if given.get(key):
                    assert page.run(f"{known}.has({given[key]!r})"), link
        if page.run("document.querySelector('nav a[aria-current]')?.href ?? ''"):
            assert page.run("document.querySelectorAll('nav a[aria-current]').length") == 1
    assert page.errors == [] and page.requests == []


@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (400, "dark")])
def test_every_page_fits_a_wide_and_a_narrow_screen(site: Path, page: chromium.Page, width: int, scheme: str) -> None:
    page.resize(width, 900)
    page.prefer(scheme)
    run = "run=nvidia-h200%2Fwinner_map"
    others = (("algorithm", "name=bms-block"), ("runs", run))
    for name, choice in (*((name, "") for name in PAGES), *others):
        show(page, site, name, choice)
        assert page.run("document.documentElement.scrollWidth") <= width, (name, width)
        assert page.run("document.querySelectorAll('h1').length") == 1
        # No text is left without a word, and every field has a label.
        assert page.run("[...document.querySelectorAll('main input, main select')].every(e => e.labels.length)"), name
    page.resize(1280, 900)
    page.prefer("light")


def test_the_first_screen_is_the_answer(site: Path, page: chromium.Page) -> None:
    show(page, site, "index", f"{H200}&n=1048576&q=16&k=64")
    assert [value(page, f"find-{axis}") for axis in "nqk"] == ["2^20", "16", "64"]
    assert value(page, "find-device") == "NVIDIA H200"
    found = page.run(
        "cells.filter(c => c.time && c.n === 2**20 && c.q === 16 && c.k === 64 && c.input === 'uniform'"
        " && c.device === 'NVIDIA H200' && c.dtype === 'float32' && c.payload === 'values_and_indices'"
        " && c.direction === 'smallest').map(c => [c.time.median, c.algorithm]).sort((a, b) => a[0] - b[0])"
    )
    assert len(found) > 5
    assert text(page, "find-verdict").startswith(f"{found[0][1]} takes ")
    assert page.run("document.querySelectorAll('#find-plot path.point').length") > 5
    # The fields and the verdict are on the first screen, and scores of the device below.
    assert page.run("document.getElementById('find-verdict').getBoundingClientRect().bottom") < 500
    assert len(texts(page, "#leaders tbody tr")) == 5
    # The address keeps what was typed.
    page.run("document.getElementById('find-k').value = ''; document.getElementById('find-k').focus()")
    page.type("8")
    assert "k=8" in page.run("location.hash")
    change(page, "find-device", next(d for d in texts(page, "#find-device option") if "EPYC" in d))
    assert "cpu/" in " ".join(texts(page, "#find-ranking tbody tr")) or "one-pass" in text(page, "find-verdict")


def test_the_map_names_winners_and_turns(site: Path, page: chromium.Page) -> None:
    show(page, site, "map", H200)
    labels = page.run("[...document.querySelectorAll('#winners-maps button')].map(b => b.ariaLabel)")
    assert len(labels) > 20
    for label in labels[::7]:
        name, n, q, k = re.match(r"(\S+), n = (\S+), Q = (\S+), k = (\d+): ", label).groups()
        n, q = (2 ** int(x[2:]) if "^" in x else int(x) for x in (n, q))
        best = page.run(
            "cells.filter(c => c.time && c.device === 'NVIDIA H200' && c.input === 'uniform' && c.dtype === 'float32'"
            f" && c.payload === 'values_and_indices' && c.direction === 'smallest' && c.n === {n} && c.q === {q}"
            f" && c.k === {k}).reduce((a, b) => a.time.median <= b.time.median ? a : b).algorithm"
        )
        assert best == name, label
    # Across Q instead of n; the other axis gives way.
    change(page, "map-x", "q")
    assert text(page, "winners-maps").find("k \\ Q") > 0
    change(page, "map-y", "n")
    assert "n \\ Q" in text(page, "winners-maps")
    assert page.run("document.getElementById('map-at').selectedOptions[0].textContent").startswith("k = ")
    change(page, "map-x", "n")
    change(page, "map-y", "k")
    # By type and by order of the rows.
    change(page, "map-what", "float16, values and indices, smallest")
    assert len(texts(page, "#winners-maps button")) > 3
    change(page, "map-what", "float32, values and indices, smallest")
    change(page, "map-input", "descending")
    assert "descending" in page.run("document.querySelector('#winners-maps caption').textContent")
    for show_ in ("time", "share", "tried"):
        change(page, "map-show", show_)
        assert len(texts(page, "#winners-maps button")) > 3
    assert "show=tried" in page.run("location.hash")


def test_a_problem_opens_its_ranking_and_a_cell_its_samples_and_proof(site: Path, page: chromium.Page) -> None:
    show(page, site, "map", H200)
    page.run("document.querySelectorAll('#winners-maps button')[20].focus()")
    page.press("Enter", "\r")
    assert page.run("document.getElementById('cell').open")
    ranking = texts(page, "#problem tbody tr")
    assert len(ranking) > 3
    page.run("document.querySelector('#problem button').click()")
    page.wait("document.querySelector('#cell-body svg') !== null")
    body = text(page, "cell-body")
    words = ("95 % interval", " rows of ", "before and after it was timed", "kselect run configs/", "--filter '^", "driver")
    for word in (*words, "Commit"):
        assert word in body, word
    samples = page.run("document.querySelector('#cell-body .samples').textContent").split()
    assert len(samples) == page.run("document.querySelectorAll('#cell-body svg circle').length") > 3
    page.run("document.querySelector('#cell-body a').click()")
    page.wait("document.body?.dataset.page === 'cell' && document.documentElement.dataset.ready === 'true'")
    assert text(page, "cell-title") and "Environment" in text(page, "cell-page")
    page.run("void setTimeout(() => history.back())")
    page.wait("document.body?.dataset.page === 'map' && document.documentElement.dataset.ready === 'true'")


def test_a_cell_s_command_repeats_it(site: Path, page: chromium.Page) -> None:
    show(page, site, "map")
    record = page.run("load_run(run_number.get('nvidia-h200/winner_map')).then(run => run.cells[0])")
    show(page, site, "cell", f"run=nvidia-h200%2Fwinner_map&key={record['key']}")
    shown = text(page, "cell-page")
    problem = f"Q={record['q']}/n={record['n']}/k={record['k']}"
    assert problem in shown and record["key"] in shown and record["algorithm"] in text(page, "cell-title")
    show(page, site, "cell", "run=nvidia-h200%2Fwinner_map&key=nonsense")
    assert text(page, "cell-title") == "Run nvidia-h200/winner_map has no cell with the key nonsense"
    show(page, site, "cell", "run=nothing&key=1")
    assert text(page, "cell-title") == "No run here is called nothing"


def test_curves_are_of_what_is_ticked(site: Path, page: chromium.Page) -> None:
    show(page, site, "curves", f"{H200}&x=n&value=share")
    lines = "document.querySelectorAll('#curves-plot svg > path:not(.point)').length"
    assert page.run(lines) == 6
    page.run("document.querySelector('#curves-algorithms input').click()")
    assert page.run(lines) == 5
    page.run("document.getElementById('curves-find').focus()")
    page.type("radix")
    shown = texts(page, "#curves-algorithms label")
    assert shown and all("radix" in name for name in shown)
    change(page, "curves-x", "k")
    assert page.run(lines) > 0 and page.run("document.querySelector('#curves-points table') !== null")


def test_the_leaderboard_sorts_and_tells_coverage(site: Path, page: chromium.Page) -> None:
    show(page, site, "leaderboard", f"{H200}&group=uniform&run=nvidia-h200-x2%2Fgoal_libraries")
    rows = page.run("[...document.querySelectorAll('#board tbody tr')].map(r => [...r.cells].map(c => c.textContent))")
    scores = [float(row[1].rstrip(" %")) for row in rows if row[1] != "–" and float(row[3].split(" %")[0]) >= 50]
    assert len(scores) > 5 and scores == sorted(scores, reverse=True)
    assert "53 problems of run nvidia-h200-x2/goal_libraries" in text(page, "board-note")
    page.run("document.querySelectorAll('#board thead button')[5].click()")
    wins = [int(t) for t in texts(page, "#board tbody td:nth-child(6)")]
    assert wins == sorted(wins, reverse=True) and wins[0] > 0
    assert page.run("document.querySelectorAll('#board th')[5].getAttribute('aria-sort')") == "descending"
    change(page, "board-alone", "alone")
    assert len(texts(page, "#board tbody tr")) < len(rows)


def test_an_algorithm_has_a_page(site: Path, page: chromium.Page) -> None:
    show(page, site, "algorithm", "name=bms-block")
    contract = text(page, "contract")
    assert "n ≤ 2^12, k ≤ 512" in contract and "fiber, cuda" in contract
    link = page.run("document.querySelector('#contract a').href")
    assert "buffered multi-select" in Path(urllib.parse.urlsplit(link).path).read_text().lower()
    assert re.match(r"It wins \d+ of \d+ problems", text(page, "where-note"))
    assert len(texts(page, "#worst tbody tr")) > 5
    assert "runs" in text(page, "past") and page.run("document.querySelector('#past svg circle') !== null")
    show(page, site, "algorithm", "name=nothing")
    assert text(page, "name") == "No algorithm is called nothing"


def test_search_finds_algorithms_and_cells(site: Path, page: chromium.Page) -> None:
    show(page, site, "index")
    for words, to in (("bms-block", "algorithm"), ("radix k=64 n>2^20", "results")):
        page.run(f"document.getElementById('search-text').value = {words!r}; document.getElementById('search-text').focus()")
        page.press("Enter", "\r")
        page.wait(f"document.body?.dataset.page === {to!r} && document.documentElement.dataset.ready === 'true'")
    assert value(page, "table-search") == "radix k=64 n>2^20"
    rows = page.run("[...document.querySelectorAll('#table tbody tr')].map(r => [...r.cells].map(c => c.textContent))")
    assert rows and all(row[3] == "64" and int(row[1].removeprefix("2^") if "^" in row[1] else 0) > 20 for row in rows[:5])
    show(page, site, "results", "search=k%3D63")
    assert text(page, "table-count").startswith("0 of ") and "k is one of" in text(page, "table-count")


def test_searches_and_papers_are_told(site: Path, page: chromium.Page) -> None:
    show(page, site, "knn")
    titles = texts(page, "#searches h2")
    assert titles[0].startswith("Search end to end on one NVIDIA H")
    told = {"Metric indexes", "Growing numbers of NVIDIA H200", "Search beside other libraries, AMD EPYC"}
    assert told | {"Search end to end on one NVIDIA H200"} <= set(titles)
    show(page, site, "papers")
    reproduction = (ROOT / "REPRODUCTION.md").read_text()
    for cite, count in re.findall(r"^\| (Komarov|Tang|Barrientos) \| (\d+) \|", reproduction, re.MULTILINE):
        [section] = [found for found in texts(page, "#papers section") if found.startswith(cite)]
        if site.name == "few":
            assert re.search(r"\d+ claims?: .*reproduced", section)
            continue  # the document is of all runs
        assert f"{count} claims: " in section
        numbers = re.search(rf"^\| {cite} \| \d+ \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|", reproduction, re.MULTILINE)
        assert numbers is not None and f"{numbers[1]} reproduced" in section and f"{numbers[3]} contradicted" in section


def test_everything_is_reached_by_keyboard(site: Path, page: chromium.Page) -> None:
    show(page, site, "map", H200)
    page.run("document.activeElement.blur(); window.scrollTo(0, 0)")
    reached = []
    for _ in range(60):
        page.press("Tab")
        reached.append(json.loads(page.run(
            "(() => { const e = document.activeElement; const s = getComputedStyle(e);"
            "return JSON.stringify([e.id || e.className || e.tagName, s.outlineStyle !== 'none']); })()"
        )))
    names = [name for name, _ in reached]
    assert {"skip", "brand", "search-text", "map-device", "map-x", "map-show"} <= set(names)
    assert all(seen for name, seen in reached if name not in ("BODY", "main"))
