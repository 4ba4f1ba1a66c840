"""The board's command and its files: what they hold, what is refused, and that damage costs one run."""

import base64
import json
import re
import zlib
from pathlib import Path
from typing import Any

import pytest
from plots.board import contracts, sources
from plots.board.__main__ import main
from plots.board.pack import pack
from plots.board.papers import papers
from plots.errors import PlotError

from board_site import ENTRY, program
from conftest import CONTENDERS, GPU_CONTENDERS, JsonObject, cell, problem, write_run

ROOT = Path(__file__).resolve().parents[2]
NASTY = "</script><script>alert(1)</script>"


def some_cells(k: int = 16) -> list[JsonObject]:
    """Return cells of three algorithms on two problems."""
    return [cell(c, problem(1 << e, 16, k)) for c in GPU_CONTENDERS[:3] for e in (11, 12)]


def unpacked(packed: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of columns, as page/data.js makes them."""
    rows: list[dict[str, Any]] = [{} for _ in range(packed["rows"])]
    for name, column in packed["columns"].items():
        if steps := column.get("steps"):
            runs = zip(steps[::3], steps[1::3], steps[2::3], strict=True)
            column = {"is": [first + step * i for first, step, length in runs for i in range(length)]}
        for i, row in enumerate(rows):
            row[name] = column["of"][column["at"][i]] if "at" in column else column.get("is", {i: column.get("same")})[i]
    return rows


def board_of(site: Path) -> dict[str, Any]:
    """Return the data that all pages read."""
    text = (site / "data" / "board.js").read_text()
    return json.loads(text.removeprefix("const board = ").removesuffix(";\n"))


def run_of(site: Path, number: int) -> dict[str, Any]:
    """Return the data of a run."""
    text = (site / "data" / f"run-{number:03}.js").read_text()
    found = re.fullmatch(r'run_arrived\((\d+), "(.*)"\);\n', text)
    assert found and int(found[1]) == number
    return json.loads(zlib.decompress(base64.b64decode(found[2])))


def make(tmp_path: Path, *more: str, code: int = 0) -> Path:
    """Make the site of tmp_path/runs."""
    site = tmp_path / "site"
    assert main([str(tmp_path / "runs"), "--out", str(site), "--program", str(program(tmp_path)), *more]) == code
    return site


def test_columns_are_short_and_come_back() -> None:
    rows = [{"a": i % 3 and "long text", "b": 7, "c": i * 1.5, "d": [i], "e": i // 20, "f": i % 25} for i in range(50)]
    packed = pack(rows)
    assert unpacked(packed) == rows
    assert {name: next(iter(column)) for name, column in packed["columns"].items()} == {
        "a": "of", "b": "same", "c": "is", "d": "is", "e": "steps", "f": "steps",
    }  # fmt: skip
    assert pack([]) == {"rows": 0, "columns": {}}


def test_the_site_holds_every_record_and_its_samples(tmp_path: Path) -> None:
    odd = cell(CONTENDERS[5], problem(2048, 16, 16), "error", NASTY)
    write_run(tmp_path / "runs" / "gpu" / "one", [*some_cells(), odd])
    site = make(tmp_path)
    board = board_of(site)
    assert [run["name"] for run in board["runs"]] == ["gpu/one"]
    assert len(unpacked(board["cells"])) == 7
    assert NASTY not in (site / "data" / "board.js").read_text()
    run = run_of(site, 0)
    cells = unpacked(run["cells"])
    for value, stored in zip([*some_cells(), odd], cells, strict=True):
        assert (stored["key"], stored["status"], stored["verify"]) == (value["key"], value["status"], value["verify"])
        if value["time"]:
            samples = [stored["time_median"] * (1 + part / 1e4) for part in stored["time_samples"]]
            assert samples == pytest.approx(value["time"]["samples"], rel=2e-4)
    assert run["meta"]["git"]["commit"] == "0123456789abcdef"
    # No address outside the folder is in any page.
    for page in site.glob("*.html"):
        assert not re.search(r'(?:src|href)="(?!data:|[\w./#-]+")', page.read_text())
        assert "http" not in page.read_text().replace('http-equiv="', "")


def test_equal_records_give_equal_sites_and_what_is_left_over_goes(tmp_path: Path) -> None:
    write_run(tmp_path / "runs" / "a" / "one", some_cells(), started="2026-11-20T10:00:00Z")
    write_run(tmp_path / "runs" / "a" / "two", some_cells(64), started="2026-11-21T10:00:00Z")
    site = make(tmp_path)
    before = {path: path.read_bytes() for path in site.rglob("*") if path.is_file()}
    make(tmp_path)
    assert before == {path: path.read_bytes() for path in site.rglob("*") if path.is_file()}
    (tmp_path / "runs" / "a" / "two" / "meta.json").unlink()
    make(tmp_path)
    assert not (site / "data" / "run-001.js").exists()
    assert len(board_of(site)["runs"]) == 1


def test_a_damaged_run_costs_only_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(tmp_path / "runs" / "a" / "good", some_cells())
    broken = write_run(tmp_path / "runs" / "a" / "bad", some_cells(64))
    data = bytearray((broken / "runs.jsonl").read_bytes())
    data[10] ^= 1
    (broken / "runs.jsonl").write_bytes(data)
    site = make(tmp_path, code=3)
    assert "bad/runs.jsonl:1: the checksum does not match" in capsys.readouterr().err
    assert [run["name"] for run in board_of(site)["runs"]] == ["a/good"]
    assert "bad/runs.jsonl:1" in board_of(site)["warnings"][0]


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(tmp_path / "runs" / "one", some_cells())
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "thesis.tex").write_text("mine")
    make(tmp_path, code=6)
    assert "site: has files and is no board; name an empty or a new folder" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "site").iterdir()] == ["thesis.tex"]
    (tmp_path / "site" / "thesis.tex").unlink()
    make(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nowhere"], 3, "board: nowhere: no such folder of runs"),
        ([], 2, "the following arguments are required: RUNS; see python -m plots.board --help"),
        (["runs", "--program", "none"], 3, "board: none: No such file or directory; name a kselect program"),
    ],
)
def test_bad_input_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    arguments: list[str], code: int, message: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    write_run(tmp_path / "runs" / "one", some_cells())
    assert main(arguments) == code
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_contracts_are_the_program_s(tmp_path: Path) -> None:
    found = contracts.contracts(program(tmp_path))[ENTRY["name"]]
    assert found["executors"] == ["fiber", "cuda"]
    assert found["limits"]["k"] == 512
    with pytest.raises(PlotError, match="this is no list of entries"):
        contracts.contracts(program(tmp_path, [{"name": "x"}]))
    failing = tmp_path / "failing"
    failing.write_text("#!/bin/sh\necho bad >&2\nexit 3\n")
    failing.chmod(0o755)
    with pytest.raises(PlotError, match="failing list --json: bad"):
        contracts.contracts(failing)


def test_sources_are_copied_from_the_tree_alone(tmp_path: Path) -> None:
    (tmp_path / "tree" / "algorithms").mkdir(parents=True)
    (tmp_path / "tree" / "algorithms" / "a.cu").write_text("code")
    (tmp_path / "secret").write_text("no")
    files = ["algorithms/a.cu", "../secret", str(tmp_path / "secret"), "algorithms/gone.cu", ""]
    links, copies = sources.copied(files, (tmp_path / "tree").resolve())
    assert links == {"algorithms/a.cu": "source/algorithms/a.cu.txt"}
    assert copies == {"source/algorithms/a.cu.txt": b"code"}
    assert sources.linked(["x.cu", ""], "https://host/blob/1/") == {"x.cu": "https://host/blob/1/x.cu"}


def test_an_algorithm_s_history_has_its_level_at_each_run(tmp_path: Path) -> None:
    for day, factor in ((20, 1.0), (21, 1.0), (22, 2.0)):
        cells = some_cells()
        for record in cells[:2]:
            time = record["time"]
            for name in ("median", "q1", "q3", "min", "max"):
                time[name] *= factor
            for name in ("ci95", "samples", "rounds"):
                time[name] = [value * factor for value in time[name]]
            record["algorithm"]["source_hash"] = f"{day:016}"
        write_run(tmp_path / "runs" / str(day), cells, started=f"2026-11-{day}T10:00:00Z")
    by_name = {a["name"]: a["past"] for a in board_of(make(tmp_path))["algorithms"]}
    [past] = by_name[GPU_CONTENDERS[0].name]
    assert (past["runs"], past["cells"], past["device"]) == ([0, 1, 2], 2, "NVIDIA H200")
    assert past["logs"] == pytest.approx([-0.6931, -0.6931, 0])
    [steady] = by_name[GPU_CONTENDERS[1].name]
    assert steady["logs"] == [0, 0, 0]


def test_pages_without_data_are_left_out(tmp_path: Path) -> None:
    write_run(tmp_path / "runs" / "a" / "one", some_cells())
    site = make(tmp_path)
    assert not (site / "knn.html").exists() and not (site / "papers.html").exists()
    assert "knn.html" not in (site / "index.html").read_text()
    assert {"index.html", "map.html", "curves.html", "leaderboard.html", "cell.html"} <= {p.name for p in site.iterdir()}


def test_a_claim_that_several_machines_test_counts_once() -> None:
    told, failures = papers([ROOT / "results"])
    assert failures == []
    reproduction = (ROOT / "REPRODUCTION.md").read_text()
    counts = dict(re.findall(r"^\| (Komarov|Tang|Barrientos) \| (\d+) \|", reproduction, re.MULTILINE))
    found = {paper["cite"].split(",")[0]: paper["claims"] for paper in told if paper["hardware"]}
    assert len(found) == len(counts) == 3
    for name, claims in found.items():
        assert len({(claim["id"], claim["number"]) for claim in claims}) == int(counts[name])
