"""Rivals on rows with a mask."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from peers import callables, masked_calls, program, rivals
from plots.records import load
from stand_ins import config_file, own, partition, problem

MASKED = masked_calls.numpy_masked(np)


def told_of(call: Any, **changes: Any) -> tuple[str, str]:
    """The status and the reason of a rival that selects under masks by this call."""
    value = json.loads(rivals.turns([own("x", partition, masked=call)], problem(**changes))[0])
    return value["status"], value["reason"]


def test_the_plan_s_titles_with_masks_are_read() -> None:
    row = "390f  auto  cuda  float32/smallest/Q=8/n=250/k=4/values_and_indices/row_major"
    listing = (
        f"{row}/mask:columns/uniform#42/columns(0.01)\n{row}/mask:elements:pitch=8/few_distinct(16)#42/elements(0.5)\n"
        f"{row}/lengths:int32/mask:columns/uniform#42/zipf(1)/columns(1)\n{row}/uniform#42\n"
    )
    found = rivals.problems_of(listing)
    assert [(p.lengths, p.mask, p.workload) for p in found.values()] == [
        ("", "columns(0.01)", "uniform"), ("", "elements(0.5)", "few_distinct(16)"), ("zipf(1)", "columns(1)", "uniform"),
        ("", "", "uniform"),
    ]  # fmt: skip
    for title, p in found.items():
        named = vars(p) | {"distribution": p.workload}
        assert rivals._title_of({name: value for name, value in named.items() if value != ""}) == title


@pytest.mark.parametrize("direction", ["largest", "smallest"])
@pytest.mark.parametrize("mask", ["columns(0.05)", "columns(1)", "elements(0.1)", "elements(0.9)"])
def test_masked_rows_are_measured_and_proven(mask: str, direction: str) -> None:
    assert told_of(MASKED, mask=mask, direction=direction) == ("ok", "")
    assert told_of(MASKED, mask=mask, direction=direction, payload="indices") == ("ok", "")


def test_what_rivals_are_not_given_is_said() -> None:
    assert told_of(None, mask="columns(0.5)") == ("unsupported", "masks are not supported")
    for changes, part in (({"lengths": "uniform"}, "lengths"), ({"workload": "inf_fraction(0.1)"}, "infinities")):
        status, reason = told_of(MASKED, mask="columns(0.5)", **changes)
        assert status == "unsupported" and part in reason


def test_an_answer_that_the_mask_leaves_out_is_wrong() -> None:
    def careless(rows: np.ndarray, left_out: np.ndarray, k: int, largest: bool) -> Any:
        return partition(rows, k, largest)

    def unfilled(rows: np.ndarray, left_out: np.ndarray, k: int, largest: bool) -> Any:
        values, indices = MASKED(rows, left_out, k, largest)
        return values, np.where(indices < 0, 0, indices)

    def second_best(rows: np.ndarray, left_out: np.ndarray, k: int, largest: bool) -> Any:
        values, indices = MASKED(rows, left_out, k + 1, largest)
        return values[:, 1:], indices[:, 1:]

    for call in (careless, unfilled):
        assert told_of(call, mask="elements(0.1)")[0] == "wrong"
    assert told_of(second_best, mask="columns(0.5)")[0] == "wrong"


def test_kselect_and_rivals_take_the_same_masks(tmp_path: Path) -> None:
    config = config_file(
        tmp_path, n=[100], dtype="float32", direction="largest", distribution="uniform", masks=["columns(0.5)", "elements"],
    )  # fmt: skip
    value = json.loads(config.read_text())
    config.write_text(json.dumps(value | {"algorithms": ["auto"]}))
    rivals.run(config, tmp_path / "out", [own("masked", partition, masked=MASKED)])
    found = load(tmp_path / "out").records
    assert {(r.algorithm, r.mask, r.status) for r in found} == {
        (name, mask, "ok") for name in ("auto", "masked") for mask in ("columns(0.5)", "elements(0.1)")
    }
    assert len({r.workload for r in found}) == 2  # what figures tell problems apart by


def test_a_mask_is_that_of_the_sweep(tmp_path: Path) -> None:
    file = program.generate_rows(problem(mask="elements(0.5)", n=5000, q=40), tmp_path)
    mask = np.load(program.mask_beside(file))
    assert mask.dtype == np.uint8 and mask.shape == (40, 5000) and set(np.unique(mask)) == {0, 1}
    assert 0.49 < mask.mean() < 0.51
    rows = np.load(file)
    assert (np.load(tmp_path / "counts.npy") == mask.sum(axis=1)).all()
    assert (np.load(tmp_path / "admitted.npy")[3, :9] == rows[3][mask[3] == 1][:9]).all()


def test_torch_s_filled_rows_are_in_order() -> None:
    """With numpy for torch: what a mask leaves out is the worst infinity, and its index -1."""

    class Array(np.ndarray):
        def masked_fill(self, left_out: Any, value: float) -> Any:
            return np.where(left_out, value, self).view(Array)

        def gather(self, axis: int, places: Any) -> Any:
            return np.take_along_axis(self, places, axis)

    def topk(rows: Any, k: int, dim: int, largest: bool, sorted: bool) -> Any:  # noqa: A002
        assert dim == 1 and sorted
        order = np.argsort(-rows if largest else rows, axis=1, kind="stable")[:, :k]
        return np.take_along_axis(rows, order, 1), order.view(Array)

    torch = SimpleNamespace(topk=topk, from_numpy=lambda array: array.view(Array))
    rows = np.array([[3.0, 1, 2, 9], [5, 6, 7, 8]])
    each = np.array([[False, True, False, False], [True, True, True, False]])
    values, indices = masked_calls.torch_masked_on_host(torch)(rows, each, 2, True)
    assert values.tolist() == [[9, 3], [8, -np.inf]] and indices.tolist() == [[3, 0], [3, -1]]
    values, indices = masked_calls.torch_masked(torch)(rows.view(Array), each[0].view(Array), 3, False)
    assert values.tolist() == [[2, 3, 9], [5, 7, 8]] and indices.tolist() == [[2, 0, 3], [0, 2, 3]]


def test_those_of_numpy_and_torch_take_masks() -> None:
    assert {k.name for k in callables.KNOWN if k.masked} == {"numpy-argpartition", "torch-cpu-topk", "torch-topk"}
