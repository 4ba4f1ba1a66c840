"""`scripts/knn_end_to_end.sh`: what it asks of kselect, and what it makes of the answers.

Without a GPU `kselect knn --executor cuda` is played: answers by the processor, a record that says
what was asked.
"""

import json
import os
import subprocess

import pytest
from conftest import ROOT

PLAYED = """#!/usr/bin/env bash
arguments=("$@")
if [ "$1" = knn ] && [[ " $* " == *" cuda "* ]]; then
  plain=()
  while [ $# -gt 0 ]; do
    case $1 in
      --executor | --timing) shift ;;
      --record) record=$2; shift ;;
      --sum-by-warp | --tf32) ;;
      *) plain+=("$1") ;;
    esac
    shift
  done
  [ -z "$FAIL" ] || { echo no memory >&2; exit 4; }
  printf '{\\n  "asked": "%s"\\n}\\n' "${arguments[*]}" >"$record"
  echo "medians of 2: 1 ms" >&2
  exec "$REAL" "${plain[@]}"
fi
exec "$REAL" "${arguments[@]}"
"""


@pytest.fixture
def run(binary, tmp_path):
    played = tmp_path / "kselect"
    played.write_text(PLAYED)
    played.chmod(0o755)
    (tmp_path / "data").mkdir()

    def run(**settings):
        small = {"ROWS": "500:40:16:5 300:4:8:9", "REPEATS": "3", "ALGORITHM": "cpu/heap",
                 "REAL": binary, "FAIL": ""}  # fmt: skip
        return subprocess.run(
            [ROOT / "scripts" / "knn_end_to_end.sh", played, tmp_path / "out", tmp_path / "data"],
            env=os.environ | small | settings, text=True, capture_output=True, timeout=120,
            check=False,
        )  # fmt: skip

    return run


@pytest.mark.slow
def test_every_row_is_searched_both_ways_recorded_and_checked(run, tmp_path):
    done = run()
    assert done.returncode == 0, done.stdout + done.stderr
    lines = (tmp_path / "out" / "knn_end_to_end.jsonl").read_text().splitlines()
    asked = [json.loads(line)["asked"] for line in lines]
    assert ["--tf32" in a for a in asked] == [False, True, False, True]
    assert all("--timing 3" in a and "--prove" not in a for a in asked)
    assert "--k 5" in asked[0] and "1-500-16.npy" in asked[0] and "2-40-16.npy" in asked[0]
    assert "n = 500, Q = 40, d = 16, k = 5: 8 answers equal the processor's" in done.stdout
    assert "n = 300, Q = 4, d = 8, k = 9: 4 answers equal the processor's" in done.stdout
    assert not list((tmp_path / "data").iterdir()), "what was made is gone"


def test_a_failed_search_is_told_and_the_others_are_made(run, tmp_path):
    done = run(FAIL="yes", TRUTH="0")
    assert done.returncode == 1
    assert done.stdout.count("FAILED") == 4 and "no memory" in done.stdout
    assert (tmp_path / "out" / "knn_end_to_end.jsonl").read_text() == ""
