"""k-NN on a GPU beside rivals: with a stand-in for torch on NumPy, and for kselect."""

import json
import stat
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from peers import knn_on_gpu
from peers.knn_on_gpu import Shape, Truth

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
(run / "meta.json").write_text(json.dumps({{"git": {{"commit": "c"}}, "gpu": [{{"name": "Test GPU"}}]}}))
with (run / "runs.jsonl").open("a+") as lines:
    lines.seek(0)
    rounds = [2e6, 3e6] * (1 + len(lines.readlines()))
    cell = {{"time": {{"rounds": rounds}}, "stages": {{"prepare": {{"median": 1e6}}}},
            "counts": {{"rows_proven": len(query), "share_of_products": 0.25}},
            "algorithm": {{"settings": {{"product": "float16"}}}}}}
    lines.write(json.dumps(cell) + "\\n")
"""


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
    """Run the module; return the lines of its record and what it prints."""

    def all_of(*shapes, wrong=-1, options=()):
        program = tmp_path / "kselect"
        program.write_text(PROGRAM.format(python=sys.executable, wrong=wrong))
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setitem(sys.modules, "torch", TORCH)
        monkeypatch.setattr(knn_on_gpu, "SHAPES", shapes)
        monkeypatch.setattr(knn_on_gpu, "data_folder", lambda: str(tmp_path))
        knn_on_gpu.main([str(program), "--out", str(tmp_path / "out"), *options])
        text = (tmp_path / "out" / knn_on_gpu.FILE).read_text()
        return [json.loads(line) for line in text.splitlines()], capsys.readouterr()

    return all_of


def test_every_arm_takes_turns_and_its_rows_are_checked(run):
    lines, said = run(Shape(300, 40, 8, 5), Shape(120, 120, 6, 4, whole=True, graph=True))
    first, graph = lines
    assert first["shape"]["n"] == 300 and first["checked"] == graph["checked"] == 32
    assert set(first["arms"]) == {"kselect float16", "torch float32", "torch TF32"}
    assert list(graph["arms"])[:2] == ["kselect float16", "kselect int8"], "whole numbers have both"
    own = first["arms"]["kselect float16"]
    assert own["samples_ms"] == [2, 3] * 2 and own["ms"] == 2.5, "all turns are rounds of one cell"
    assert own["stages_ms"] == {"prepare": 1} and own["proven"] == 40
    for line in lines:
        assert {arm["exact"] for arm in line["arms"].values()} == {32}
        assert all(len(arm["samples_ms"]) == 2 * knn_on_gpu.SAMPLES
                   for name, arm in line["arms"].items() if not name.startswith("kselect"))  # fmt: skip
    assert set(first["missing"]) == {"cuVS", "FAISS", "FlashLib float32", "FlashLib float16"}
    assert "25 % of the products' ceiling" in said.out and "32 of 32 rows exact" in said.out


def test_a_wrong_row_is_counted(run):
    (line,), _ = run(Shape(300, 40, 8, 5), wrong=1)
    assert line["arms"]["kselect float16"]["exact"] == 31
    assert line["arms"]["torch float32"]["exact"] == 32


def test_rivals_are_spared_long_searches_and_a_late_search_is_left_out(run, monkeypatch):
    monkeypatch.setattr(knn_on_gpu, "MOST_PAIRS", 100)
    (line,), _ = run(Shape(300, 40, 8, 5))
    assert list(line["arms"]) == ["kselect float16"] and set(line["left_out"]) == {"torch float32", "torch TF32"}
    lines, said = run(Shape(300, 40, 8, 5), options=["--seconds", "-1"])
    assert lines == [] and "no time is left" in said.err


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
