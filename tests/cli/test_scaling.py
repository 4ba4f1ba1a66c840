"""`configs/templates/scaling.sh` from end to end, small and on the processor."""

import json
import os
import subprocess
import sys

import pytest
from conftest import ROOT


@pytest.mark.slow
def test_searches_are_recorded_compared_and_drawn(binary, tmp_path):
    small = {"N": "12000", "Q": "300", "D": "16", "K": "5", "GPUS": "1 2", "REPEATS": "1",
             "MEMORY": "600", "ALGORITHM": "cpu/heap", "EXECUTOR": "cpu", "TRUTH": "4"}
    (tmp_path / "data").mkdir()
    done = subprocess.run([ROOT / "configs" / "templates" / "scaling.sh", binary, tmp_path / "out",
                           tmp_path / "data", tmp_path], env=os.environ | small, text=True,
                          capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "300 answers of strong1 and strong2: equal" in done.stdout
    assert "4 answers of strong1 and cpu: equal" in done.stdout
    assert not list((tmp_path / "data").iterdir()), "what was made is gone"
    lines = (tmp_path / "out" / "scaling.jsonl").read_text().splitlines()
    searches = [json.loads(line) for line in lines]
    made = [(s["experiment"], len(s["record"]["ranks"])) for s in searches if "record" in s]
    for experiment in ("strong", "weak", "out-of-core", "disk"):
        assert {(experiment, 1), (experiment, 2)} <= set(made)
    weak = {len(s["record"]["ranks"]): s["record"]["request"]["n"] for s in searches
            if s["experiment"] == "weak"}
    assert weak == {1: 6000, 2: 12000}
    drawn = subprocess.run([sys.executable, "-m", "plots.scaling",
                            tmp_path / "out", "--out", tmp_path / "figures"], cwd=ROOT, text=True,
                           capture_output=True, check=False)
    assert drawn.returncode == 0, drawn.stderr
    assert len(list((tmp_path / "figures").iterdir())) == 3
