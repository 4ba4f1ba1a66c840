"""The turns of k-NN on the host, with programs that only claim to search."""

import os
import stat
import sys
from pathlib import Path

import jsonschema
import pytest

from peers import knn_on_host
from plots.records import load_whole
from test_recorded import SCHEMA

TURN = """#!{python}
import json, os, sys
assert not any(key == "OPENBLAS_CORETYPE" for key in os.environ)
with open({log!r}, "a") as log:
    print(sys.argv[1], file=log)
arm = sys.argv[1]
print(json.dumps({{"seconds": [9.0, {{"blocks": 1.0, "products": 4.0}}.get(arm, 2.0)],
                  "processor_seconds": [9.0, 0.5], "sum_of_indices": {sums}.get(arm), "wrong_of_checked": 3, "version": "0"}}))
"""


@pytest.fixture
def search(tmp_path, monkeypatch):
    """Run the module with stand-ins for the program and for the interpreter that has FAISS."""

    def run(sums):
        log = tmp_path / "turns"
        for name in ("program", "python"):
            path = tmp_path / name
            path.write_text(TURN.format(python=sys.executable, log=str(log), sums=sums))
            path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
        monkeypatch.setattr(sys, "argv", [
            "knn_on_host", str(tmp_path / "program"), "--out", str(tmp_path / "record"), "--rounds", "3",
            "--faiss-python", str(tmp_path / "python"),
        ])  # fmt: skip
        knn_on_host.main()
        return load_whole(tmp_path / "record"), log.read_text().split()

    return run


def test_arms_take_turns_and_the_second_run_counts(search):
    run, turns = search("{'blocks': 5, 'products': 5}")
    for cell in run.cells:
        jsonschema.Draft202012Validator(SCHEMA).validate(cell)
    assert len({cell["key"] for cell in run.cells}) == 12
    assert [(c["threads"], c["problem"]["k"]) for c in run.cells[::3]] == [(1, 10), (1, 100), (2, 10), (2, 100)]
    own, products, faiss = run.cells[:3]
    assert [c["algorithm"]["name"] for c in run.cells[:3]] == ["auto", "auto+by=products", "faiss-cpu"]
    assert own["time"]["rounds"] == [1e9] * 3 and products["time"]["rounds"] == [4e9] * 3
    assert faiss["status"] == "wrong" and faiss["reason"] == "97 of 100 checked rows are exact"
    assert faiss["stages"]["search"]["rounds"] == [2e9] * 3
    assert faiss["stages"]["processors"]["rounds"] == [5e8] * 3 and not faiss["stages"]["processors"]["of_time"]
    assert faiss["algorithm"]["source"] == "faiss 0, IndexFlatL2"
    assert faiss["counts"] == {"rows_checked": 100, "rows_exact": 97} and not faiss["verify"]["after"]
    assert own["verify"]["after"] and own["verify"]["rows"] == 1000
    assert len(turns) == 4 * 3 * 3 and turns[:6] == ["blocks", "products", "-m", "products", "-m", "blocks"]
    assert set(run.meta["git"]) == {"commit", "dirty"} and len(run.meta["host"]["load_after"]) == 3


def test_arms_that_disagree_are_no_record(search, tmp_path):
    with pytest.raises(SystemExit, match="disagree"):
        search("{'blocks': 5, 'products': 6}")
    assert not Path(tmp_path / "record").exists() and os.path.exists(tmp_path / "turns")
