"""README.md: a page, whose table and figure follow from records."""

import gzip
import json
import shutil
from pathlib import Path

import pytest
from conftest import write_run
from plots import readme
from plots.__main__ import main as plots
from plots.errors import PlotError
from plots.rivals_figure import sheet

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "README.md").read_text()


def test_the_committed_table_is_of_the_committed_records():
    assert readme.renewed(TEXT) == TEXT, "run python -m plots.readme"


def test_a_number_that_was_changed_by_hand_is_found():
    row = next(line for line in TEXT.splitlines() if line.startswith("| `torch.topk`"))
    problems = row.split("|")[3]
    spoilt = TEXT.replace(row, row.replace(problems, f" {int(problems) + 1} ", 1))
    assert spoilt != TEXT and readme.renewed(spoilt) == TEXT


def test_a_readme_without_a_place_for_the_table_is_refused():
    with pytest.raises(PlotError, match="has no lines"):
        readme.renewed("# kselect\n")


def test_it_is_a_page():
    assert len(TEXT.splitlines()) <= 150


@pytest.fixture
def results(tmp_path):
    """Return records among which is a run of rivals, in which `torch.topk` has the times of radix select."""
    for rival in readme.RIVALS:
        if not (tmp_path / rival.record).exists():
            shutil.copytree(ROOT / "results" / rival.record, tmp_path / rival.record)
    of_gpu = ROOT / "results" / readme.GPU
    measured = [json.loads(line) for line in gzip.decompress((of_gpu / "runs.jsonl.gz").read_bytes()).splitlines()]
    selections = [record for record in measured if record["algorithm"]["name"] in ("auto", "radix-select")]
    torch = [record | {"key": record["key"][::-1], "algorithm": record["algorithm"] | {"name": "torch-topk"}}
             for record in selections if record["algorithm"]["name"] == "radix-select"]  # fmt: skip
    meta = json.loads((of_gpu / "meta.json").read_text())
    write_run(tmp_path / "nvidia-h100" / "serving_ragged_rivals", selections + torch,
              **meta | {"run": "serving_ragged_rivals"})  # fmt: skip
    return tmp_path


def test_both_cards_have_a_row_of_all_libraries_and_the_larger_has_each_library(results):
    lines = (results / "nvidia-h100" / "serving_ragged_rivals" / "runs.jsonl").read_text().splitlines()
    measured = [json.loads(line) for line in lines]
    cub = [r | {"key": "c" + r["key"][1:], "algorithm": r["algorithm"] | {"name": "cub-topk"},
                "time": r["time"] | {"median": r["time"]["median"] / 2, "ci95": [x / 2 for x in r["time"]["ci95"]]}}
           for r in measured if r["algorithm"]["name"] == "torch-topk"]  # fmt: skip
    meta = json.loads((results / "nvidia-h100" / "serving_ragged_rivals" / "meta.json").read_text())
    for machine, gpu in (("nvidia-h100", "NVIDIA H100 80GB HBM3"), ("nvidia-h200", readme.CARD)):
        on = {"run": "goal_rivals", "gpu": [meta["gpu"][0] | {"name": gpu}]}
        write_run(results / machine / "goal_rivals", measured + cub, **meta | on)
    rows = [line.split("|") for line in readme.table(results).splitlines()]
    of = {(row[1].strip(), row[2].strip()): float(row[4]) for row in rows[2:] if len(row) > 5}
    together = readme.TOGETHER["goal_rivals"]
    of_cub = readme.TITLES["cub-*"]
    assert of[together, readme.CARD] == of[together, "NVIDIA H100 80GB HBM3"] == of[of_cub, readme.CARD]
    assert (of_cub, "NVIDIA H100 80GB HBM3") not in of
    assert of[readme.TITLES["torch-topk"], readme.CARD] == pytest.approx(2 * of[of_cub, readme.CARD], abs=0.15)


def test_a_run_of_rivals_gives_rows_and_the_figure(results):
    run = results / "nvidia-h100"
    aside = shutil.move(run, results.parent / f"{results.name}-aside")
    older = readme.renewed(TEXT, results)
    shutil.move(aside, run)
    text = readme.renewed(TEXT, results)
    record = "[serving_ragged_rivals](results/nvidia-h100/serving_ragged_rivals)"
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    of_radix = next(row for row in older.splitlines() if row.startswith("| batched radix select, our baseline |"))
    of_torch = of_radix.replace("batched radix select, our baseline", "`torch.topk`")
    assert [row for row in rows if row.startswith("| `torch.topk`")] == [
        of_torch.replace("[goal_libraries](results/nvidia-h200-x2/goal_libraries)", record)
    ]
    assert sum("radix select" in row for row in rows) == 1 and sum("CUB's" in row for row in rows) == 1
    assert "![Share of the read ceiling over n: auto beside batched radix select, our baseline, torch.topk](docs/figures/" in text
    assert "goal_many_rows" not in text.partition(readme.END)[0] and record in text
    assert readme.renewed(text, results) == text
    assert readme.renewed(text) == readme.renewed(TEXT)  # without the run it is as before


def test_the_figure_has_lent_shares(results):
    found = readme.figure_of(["nvidia-h100/serving_ragged_rivals"], results)
    assert found is not None and sorted(found[1]) == ["rivals-nvidia-h100.csv", "rivals-nvidia-h100.png"]
    assert found[1]["rivals-nvidia-h100.png"].startswith(b"\x89PNG")
    records = readme.load(results / "nvidia-h100" / "serving_ragged_rivals").records
    lines = sheet(records, readme.TITLES).panels["k = 32"]
    ours, theirs = lines[readme.TITLES["auto"]], lines["`torch.topk`"]
    assert [point.x for point in ours] == [point.x for point in theirs] == sorted(point.x for point in ours)
    for a, b in zip(ours, theirs, strict=True):
        assert a.y * a.records[0].time.median == pytest.approx(b.y * b.records[0].time.median)
        assert b.low <= b.y <= b.high
    assert readme.figure_of([], results) is None


def test_the_figure_of_kernels_from_outside_follows_from_its_record(tmp_path):
    folder = ROOT / "results" / "nvidia-h200-x4" / "foreign_kernels"
    assert plots([str(folder), "--figure", "time", "--out", str(tmp_path)]) == 0
    (drawn,) = tmp_path.glob("*.csv")
    committed = ROOT / "docs" / "figures" / "foreign_kernels-nvidia-h200-x4.csv"
    assert committed.read_text() == drawn.read_text()
    assert committed.with_suffix(".png").exists()
    assert all(name in committed.read_text() for name in ("triton-least", "warp-list", "auto", "torch.topk"))
