"""`kselect run` on rows with masks: each cell is proven, counts the bytes that it moves, and is told apart by its mask."""

import json

import jsonschema
import numpy as np
import pytest
from conftest import RECORD_SCHEMA, one_line, records

MASKS = ["none", "columns(0.25)", "elements(0.1)", "elements(0.9)"]
SIZES = {"n": 2000, "q": 40, "k": 16}


def run_masks(kselect, config, out="o", *options, algorithms=("auto", "cpu/sort"), **axes):
    written = config(axes=SIZES | {"masks": MASKS} | axes, algorithms=list(algorithms))
    return kselect("run", written, "--executor", "cpu", "--out", out, *options, check=None)


def test_masks_are_an_axis(kselect, config, tmp_path):
    done = run_masks(kselect, config)
    assert "8 cells run, 5 ok" in done.stdout, done.stdout + done.stderr
    moved, keys = {}, set()
    for record in records(tmp_path / "o"):
        jsonschema.validate(record, RECORD_SCHEMA)
        keys.add(record["key"])
        mask, name = record["problem"].get("mask", "none"), record["algorithm"]["name"]
        if name == "cpu/sort" and mask != "none":
            assert (record["status"], record["reason"]) == ("unsupported", "masks are not supported")
            continue
        assert record["status"] == "ok" and record["verify"]["before"] and record["verify"]["after"], record["reason"]
        assert "lengths" not in record["problem"]
        moved[mask] = record["floor"]["bytes"]
    assert len(keys) == 8
    answers, words = 2 * 40 * 16 * 4, (2000 + 31) // 32 * 4
    assert moved["none"] == 4 * 40 * 2000 + answers
    for mask, share, bits in (("columns(0.25)", 0.25, words), ("elements(0.1)", 0.1, 40 * words), ("elements(0.9)", 0.9, 40 * words)):
        admitted = (moved[mask] - answers - bits) / 4
        assert admitted == int(admitted)
        assert abs(admitted / (40 * 2000) - share) < 0.06
    assert json.loads((tmp_path / "o" / "meta.json").read_text())["config"]["axes"]["masks"] == MASKS


def test_a_run_goes_on_and_agrees_with_itself(kselect, config, tmp_path):
    run_masks(kselect, config, algorithms=["auto"])
    before = (tmp_path / "o" / "runs.jsonl").read_text()
    (tmp_path / "o" / "runs.jsonl").write_text("".join(before.splitlines(True)[:2]))
    again = run_masks(kselect, config, "o", "--resume", algorithms=["auto"])
    assert "2 cells run, 2 ok" in again.stdout, again.stdout + again.stderr
    found = records(tmp_path / "o")
    assert [r["key"] for r in found] == [json.loads(line)["key"] for line in before.splitlines()]
    assert [r["problem"].get("mask", "none") for r in found] == MASKS
    told = kselect("compare", "o", "o", check=3).stdout  # of so few rounds it decides nothing
    assert all(told.count(mask) == 1 for mask in MASKS[1:]) and "4 inconclusive" in told, told


def test_a_filter_takes_a_mask(kselect, config):
    listed = run_masks(kselect, config, "o", "--dry-run", "--filter", "*mask elements*", algorithms=["auto"]).stdout
    assert "/mask:elements:pitch=63/uniform#1/elements(0.1)" in listed and "columns" not in listed


def test_shards_make_the_same_run(kselect, config, tmp_path):
    for shard in ("1/2", "2/2"):
        run_masks(kselect, config, shard[0], "--shard", shard, algorithms=["auto"])
    kselect("merge", "1", "2", "--out", "whole")
    (whole,) = (tmp_path / "whole").iterdir()
    assert sorted(r["problem"].get("mask", "none") for r in records(whole)) == sorted(MASKS)


def test_exports_tell_masks_apart(kselect, config, tmp_path):
    run_masks(kselect, config, algorithms=["auto"])
    names = {row["run_name"] for row in json.loads(kselect("export", "o", "--format", "gbench").stdout)["benchmarks"]}
    assert len(names) == 4 and sum("/mask=elements(0.9)" in name for name in names) == 1, names


def test_rows_may_have_lengths_and_a_mask(kselect, config, tmp_path):
    done = run_masks(kselect, config, algorithms=["auto"], lengths=["equal", "two_sizes(0.1)"], masks=MASKS[1:3])
    assert "4 cells run, 4 ok" in done.stdout, done.stdout + done.stderr
    found = records(tmp_path / "o")
    assert {(r["problem"].get("lengths"), r["problem"]["mask"]) for r in found} == {
        (lengths, mask) for lengths in (None, "two_sizes(0.1)") for mask in MASKS[1:3]
    }
    bytes_of = {(r["problem"].get("lengths"), r["problem"]["mask"]): r["floor"]["bytes"] for r in found}
    assert all(bytes_of["two_sizes(0.1)", mask] < bytes_of[None, mask] / 2 for mask in MASKS[1:3])


def test_a_row_that_admits_less_than_k_is_filled(kselect, config, tmp_path):
    done = run_masks(kselect, config, algorithms=["auto", "auto+stable"], n=100, k=90, masks=["columns(0.1)", "elements(0.5)"])
    assert "4 cells run, 4 ok" in done.stdout, done.stdout + done.stderr


def test_no_mask_is_not_recorded(kselect, config, tmp_path):
    kselect("run", config(axes={"n": 256, "q": 8, "k": 4}, algorithms=["cpu/sort"]), "--out", "o")
    meta = json.loads((tmp_path / "o" / "meta.json").read_text())
    assert "masks" not in meta["config"]["axes"]
    assert all("mask" not in record["problem"] for record in records(tmp_path / "o"))


@pytest.mark.parametrize("mask, message", [
    ("colums(0.5)", '/axes/masks: unknown mask "colums"; did you mean "columns"?'),
    ("elements(2)", '"elements(2)": elements takes the share of elements that are admitted, more than 0 and at most 1'),
    ("none(1)", '"none(1)": none takes no share'),
    (0.5, "/axes/masks: must be a string, is 0.5"),
])  # fmt: skip
def test_what_is_no_mask_is_named(kselect, config, mask, message):
    done = kselect("run", config(axes=SIZES | {"masks": mask}), "--out", "o", check=2)
    assert message in one_line(done.stderr)


def test_the_key_is_near_another(kselect, config):
    done = kselect("run", config(axes=SIZES | {"mask": "columns"}), "--out", "o", check=2)
    assert 'did you mean "masks"?' in one_line(done.stderr)


def test_generated_masks_are_those_of_a_sweep(kselect, config, tmp_path):
    usual = ["generate", "rows", "--n", 2000, "--q", 40, "--seed", 1, "--output", "rows.npy"]
    run_masks(kselect, config, algorithms=["auto"])
    answers, words = 2 * 40 * 16 * 4, (2000 + 31) // 32 * 4
    moved = {r["problem"].get("mask", "none"): r["floor"]["bytes"] for r in records(tmp_path / "o")}
    for mask, shape, bits in (("columns(0.25)", (2000,), words), ("elements(0.1)", (40, 2000), 40 * words)):
        kselect(*usual, "--mask", mask, "--mask-output", "m.npy")
        made = np.load(tmp_path / "m.npy")
        assert made.dtype == np.uint8 and made.shape == shape
        assert 4 * np.broadcast_to(made, (40, 2000)).sum() + bits + answers == moved[mask]


def test_generated_masks_that_make_no_sense(kselect, tmp_path):
    usual = ["generate", "rows", "--n", 9, "--q", 2, "--output", "rows.npy"]
    for options, why in (
        (["--mask", "colums", "--mask-output", "m.npy"], "'colums' is not columns(SHARE) or elements(SHARE)"),
        (["--mask", "none", "--mask-output", "m.npy"], "'none' is not columns(SHARE) or elements(SHARE)"),
        (["--mask", "columns"], "--mask and --mask-output go together"),
        (["--mask-output", "m.npy"], "--mask and --mask-output go together"),
        (["--mask", "columns", "--mask-output", "m.npy", "--first", 1], "leave --first out"),
    ):
        assert why in one_line(kselect(*usual, *options, check=2).stderr)
        assert not (tmp_path / "m.npy").exists() and not (tmp_path / "rows.npy").exists()
