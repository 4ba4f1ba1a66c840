"""The turns of k-NN on the host, with programs that only claim to search."""

import json
import os
import stat
import sys
from pathlib import Path

import pytest

from peers import knn_on_host

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
        record = json.loads((tmp_path / "record" / "knn_on_host.json").read_text())
        return record, log.read_text().split()

    return run


def test_arms_take_turns_and_the_second_run_counts(search):
    record, turns = search("{'blocks': 5, 'products': 5}")
    assert [(of["threads"], of["k"]) for of in record["shapes"]] == [(1, 10), (1, 100), (2, 10), (2, 100)]
    first = record["shapes"][0]
    assert first["clock"]["median"] == {"blocks": 1, "products": 4, "faiss": 2}
    assert first["clock"]["over_blocks"] == {"blocks": 1, "products": 4, "faiss": 2}
    assert first["processors"]["samples"]["faiss"] == [0.5] * 3
    assert first["faiss"] == {"version": "0", "checked_queries": 100, "wrong_queries": 3}
    assert len(turns) == 4 * 3 * 3 and turns[:6] == ["blocks", "products", "-m", "products", "-m", "blocks"]
    assert set(record["git"]) == {"commit", "dirty"}


def test_arms_that_disagree_are_no_record(search, tmp_path):
    with pytest.raises(SystemExit, match="disagree"):
        search("{'blocks': 5, 'products': 6}")
    assert not Path(tmp_path / "record").exists() and os.path.exists(tmp_path / "turns")
