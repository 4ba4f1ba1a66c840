"""`configs/templates/scaling.sh` from end to end, small, on fibers, which know --memory as a GPU does."""

import os
import subprocess
import sys

import pytest
from conftest import ROOT, records


@pytest.mark.slow
def test_searches_are_recorded_compared_and_drawn(binary, tmp_path):
    small = {"N": "12000", "Q": "300", "D": "16", "K": "5", "GPUS": "1 2", "REPEATS": "1",
             "MEMORY": "600", "EXECUTOR": "fiber", "PRODUCT": "float16", "TRUTH": "4"}
    (tmp_path / "data").mkdir()
    done = subprocess.run([ROOT / "configs" / "templates" / "scaling.sh", binary, tmp_path / "out",
                           tmp_path / "data", tmp_path], env=os.environ | small, text=True,
                          capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "300 answers of strong1 and strong2: equal" in done.stdout
    assert "4 answers of strong1 and cpu: equal" in done.stdout
    assert not list((tmp_path / "data").iterdir()), "what was made is gone"
    made = {(c["problem"]["n"], c["problem"]["q"], c["algorithm"]["settings"]["ranks"], c["input"]["name"],
             "device_memory" in c["algorithm"]["settings"]) for c in records(tmp_path / "out")}  # fmt: skip
    assert {(n, 300, g, "base.npy", False) for n, g in ((12000, 1), (12000, 2), (6000, 1))} <= made
    for g in (1, 2):
        assert (12000, 30, g, "base.npy", True) in made and (3000, 30, g, "on-disk.npy", True) in made
    drawn = subprocess.run([sys.executable, "-m", "plots.scaling",
                            tmp_path / "out", "--out", tmp_path / "figures"], cwd=ROOT, text=True,
                           capture_output=True, check=False)
    assert drawn.returncode == 0, drawn.stderr
    assert len(list((tmp_path / "figures").iterdir())) == 3
