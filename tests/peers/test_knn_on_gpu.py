"""k-NN on a GPU beside rivals: with a stand-in for torch on NumPy, and for kselect."""

import json
import stat
import sys
from types import SimpleNamespace

import jsonschema
import numpy as np
import pytest

from peers import knn_libraries, knn_on_gpu, searched
from peers.knn_on_gpu import Shape, Truth
from plots.journal import read_journal
from test_recorded import META, SCHEMA

PROGRAM = """#!{python}
import json, sys
from pathlib import Path
import numpy as np
asked = dict(zip(sys.argv[2::1], sys.argv[3::1]))
base = np.load(asked["--base"]).astype(np.float64)
query = base if "--self" in sys.argv else np.load(asked["--query"]).astype(np.float64)
distances = ((query[:, None] - base[None]) ** 2).sum(2)
if "--exclude-self" in sys.argv:
    np.fill_diagonal(distances, np.inf)
indices = np.argsort(distances, 1, kind="stable")[:, : int(asked["--k"])]
indices[0, {wrong}] = indices[0, -1]
np.save(asked["--indices"], indices)
run = Path(asked["--record"])
run.mkdir(exist_ok=True)
(run / "meta.json").write_text({meta!r})
with (run / "runs.jsonl").open("a+") as lines:
    lines.seek(0)
    cell = json.loads({cell!r})
    cell["time"]["rounds"] = [2e6, 3e6] * (1 + len(lines.readlines()))
    cell["counts"] = {{"rows_proven": len(query), "share_of_products": 0.25}}
    lines.write(json.dumps(cell | {{"crc32": ""}}) + "\\n")
"""

# What kselect writes of a search.
OWN = "auto+product=float16"
CELL = searched.cell(
    searched.facts_of(OWN, "kselect", "cuda", "peers/searched.py"),
    searched.Asked({"n": 300, "q": 40, "k": 5, "dimension": 8, "queries": "separate"}, {"kind": "dataset"}, 16),
    ("ok", "", [2e6, 3e6]), {"product": "float16"},
) | {"stages": {"prepare": {"median": 1e6}}}  # fmt: skip


class Tensor(np.ndarray):
    """An array with the few members of torch's tensors that are used."""

    def double(self):
        return self.astype(np.float64).view(Tensor)

    def long(self):
        return self.astype(np.int64).view(Tensor)

    def cuda(self):
        return self

    def unique(self):
        return np.unique(self)

    def split(self, size):
        return [self[i : i + size] for i in range(0, len(self), size)]

    def topk(self, k, *, largest):
        return topk(self, k, largest=largest)

    def sort(self):
        return SimpleNamespace(values=np.sort(np.asarray(self)).view(Tensor))

    def abs(self):
        return np.abs(self)


def topk(values, k, *, largest):
    assert not largest
    indices = np.argsort(np.asarray(values), -1, kind="stable")[..., :k]
    return SimpleNamespace(values=np.take_along_axis(values, indices, -1), indices=indices.view(Tensor))


def addmm(squares, some, other, *, alpha, out):
    out[:] = squares + alpha * (some @ other)


TORCH = SimpleNamespace(
    from_numpy=lambda array: array.view(Tensor),
    as_tensor=lambda array, device: np.asarray(array).view(Tensor),  # noqa: ARG005
    empty=lambda size, device: np.empty(size).view(Tensor),  # noqa: ARG005
    cat=lambda parts: np.concatenate(parts).view(Tensor),
    addmm=addmm,
    topk=topk,
    cuda=SimpleNamespace(is_available=lambda: True, synchronize=lambda: None, empty_cache=lambda: None),
    backends=SimpleNamespace(cuda=SimpleNamespace(matmul=SimpleNamespace(allow_tf32=None))),
)


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run the module; return its cells by algorithm, meta.json and what it prints."""

    def all_of(*shapes, wrong=-1, options=()):
        program = tmp_path / "kselect"
        program.write_text(PROGRAM.format(python=sys.executable, wrong=wrong, meta=json.dumps(META), cell=json.dumps(CELL)))
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setitem(sys.modules, "torch", TORCH)
        monkeypatch.setattr(knn_on_gpu, "SHAPES", shapes)
        monkeypatch.setattr(knn_on_gpu, "data_folder", lambda: str(tmp_path))
        out = tmp_path / f"out{len(list(tmp_path.glob('out*')))}"
        knn_on_gpu.main([str(program), "--out", str(out), *options])
        found = {}
        for cell in read_journal(out / "runs.jsonl")[0]:
            found.setdefault(cell["algorithm"]["name"], []).append(cell)
        meta = json.loads((out / "meta.json").read_text()) if (out / "meta.json").exists() else {}
        return found, meta, capsys.readouterr()

    return all_of


def test_every_arm_takes_turns_and_its_rows_are_checked(run):
    first, meta, said = run(Shape(300, 40, 8, 5))
    assert list(first) == [OWN, "torch", "torch+product=tf32"]
    (own,), (torch,), (tf32,) = first.values()
    assert own["time"]["rounds"] == [2e6, 3e6] * 2, "all turns are rounds of one cell"
    assert own["stages"] == {"prepare": {"median": 1e6}} and own["counts"]["rows_proven"] == 40
    assert torch["problem"] == own["problem"] and torch["input"] == own["input"] and torch["key"] != tf32["key"]
    assert len(torch["time"]["samples"]) == 2 * knn_on_gpu.SAMPLES
    assert torch["verify"]["after"] and torch["verify"]["rows"] == 32
    for cell in (own, torch, tf32):
        assert cell["counts"]["rows_checked"] == cell["counts"]["rows_exact"] == 32
    assert meta["state"] == "complete" and [r["name"] for r in meta["rivals"]] == ["torch", "torch+product=tf32"]
    for name in ("cuvs", "faiss-gpu", "flashlib", "flashlib+product=float16"):
        assert f"left out {name}: " in said.err
    assert "25 % of the products' ceiling" in said.out and "32 of 32 rows exact" in said.out


def test_whole_numbers_have_both_products_and_a_rivals_cell_is_as_the_schema_says(run):
    found, _, _ = run(Shape(120, 120, 6, 4, whole=True, graph=True))
    assert len(found[OWN]) == 2, "the stand-in has one name for both"
    full = {"dtype": "float32", "index": "int32", "direction": "smallest", "payload": "values_and_indices",
            "layout": "row_major", "pitch": 0, "distribution": "external", "seed": 0}  # fmt: skip
    (torch,) = found["torch"]
    assert torch["counts"]["rows_exact"] == 32
    jsonschema.Draft202012Validator(SCHEMA).validate(torch | {"problem": torch["problem"] | full})


def test_a_wrong_row_is_counted_and_its_answer_has_no_time(run):
    found, _, said = run(Shape(300, 40, 8, 5), wrong=1)
    (own,) = found[OWN]
    assert own["counts"]["rows_exact"] == 31 and own["time"] is None
    assert (own["status"], own["reason"]) == ("wrong", "31 of 32 checked rows are exact")
    assert own["stages"]["search"]["rounds"] == [2e6, 3e6] * 2 and "31 of 32 rows exact" in said.out
    assert found["torch"][0]["counts"]["rows_exact"] == 32


def test_rivals_are_spared_long_searches_and_a_late_search_is_left_out(run, monkeypatch):
    monkeypatch.setattr(knn_on_gpu, "MOST_PAIRS", 100)
    found, _, _ = run(Shape(300, 40, 8, 5))
    for name in ("torch", "torch+product=tf32"):
        (cell,) = found[name]
        assert cell["status"] == "unsupported" and "too long" in cell["reason"] and cell["time"] is None
    found, meta, said = run(Shape(300, 40, 8, 5), options=["--seconds", "-1"])
    assert found == {} and meta == {} and "no time is left" in said.err


def test_a_rival_that_fails_in_a_search_has_a_status(run, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("CUDA out of memory. Tried to allocate 3 GiB\nmore")

    monkeypatch.setattr(knn_libraries, "torch_in", lambda torch, tf32: broken)
    found, _, _ = run(Shape(300, 40, 8, 5))
    (cell,) = found["torch"]
    assert (cell["status"], cell["reason"]) == ("out_of_memory", "RuntimeError: CUDA out of memory. Tried to allocate 3 GiB")


def test_rows_are_exact_by_distance_not_by_name():
    """Either of two vectors at the same distance will do, but not one of them twice."""
    corpus = np.array([[0.0], [1], [-1], [3], [7]], np.float32).view(Tensor)
    truth = Truth(TORCH, Shape(5, 1, 1, 2), corpus, np.zeros((1, 1), np.float32).view(Tensor))
    for row, right in [([0, 1], 1), ([2, 0], 1), ([0, 3], 0), ([0, 0], 0), ([0, -1], 0)]:
        assert truth.exact({0: row}) == right, row


def test_a_program_that_fails_is_named(run, tmp_path):
    with pytest.raises(SystemExit, match=r"knn --base .*"):
        run(Shape(3, 2, 1, 1), wrong=9)
    assert tmp_path.exists()
