"""scripts/rivals.sh: its plan, what cannot be installed, and a run on a CPU with an environment that is there."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "rivals.sh"
CONFIG = {
    "schema": "kselect-config/1", "name": "tiny", "axes": {"n": [64], "q": [4], "k": [8]},
    "algorithms": ["cpu/heap"], "executor": "cpu",
    "measure": {"warmup": 0, "rounds": 1, "min_samples": 1, "max_samples": 2, "max_seconds": 0.05},
}  # fmt: skip
PIP = """#!/bin/sh
case "$*" in
  *broken*) echo "ERROR: No matching distribution found for broken" >&2; exit 1 ;;
  freeze) echo "fake==1.0" ;;
esac
"""


def script(*arguments: object, code: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the script."""
    done = subprocess.run(
        ["bash", str(SCRIPT), *map(str, arguments)], capture_output=True, text=True, check=False,
        env=os.environ | environment, timeout=300,
    )  # fmt: skip
    assert done.returncode == code, done.stdout + done.stderr
    return done


def test_the_plan_writes_nothing(tmp_path: Path) -> None:
    told = script("--device", "cuda", "--plan", "--with", tmp_path, tmp_path / "out").stdout
    for word in ("torch", "libraft", "flashinfer", "cupy", f"from a checkout: {tmp_path}", "goal_orders_rivals", "k-NN"):
        assert word in told
    assert not (tmp_path / "out").exists()
    told = script("--device", "cuda", "--plan", "--checkout", f"rtopk={tmp_path}/R", tmp_path / "out").stdout
    assert f"compiled from a checkout: rtopk={tmp_path}/R" in told
    told = script("--device", "cpu", "--no-knn", "--plan", tmp_path / "out", ROOT / "configs" / "smoke.json").stdout
    assert f"configs/smoke.json -> {tmp_path}/out/smoke_rivals" in told and "k-NN" not in told
    told = script("--device", "cuda", "--no-install", "--plan", tmp_path / "out", PYTHON="/opt/p/bin/python3").stdout
    assert "nothing is installed; rivals are those that /opt/p/bin/python3 can import" in told and "packages" not in told


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["--fast", "out"], "--fast is no option"), ([], "Usage: scripts/rivals.sh"),
     (["--checkout", "rtopk", "out"], "--checkout rtopk is not NAME=DIR"),
     (["--device", "tpu", "out"], "--device is cuda or cpu, not tpu")],
)  # fmt: skip
def test_a_wrong_call_is_told(arguments: list[str], said: str) -> None:
    assert said in script(*arguments, code=2).stderr


def test_what_cannot_be_installed_is_left_out_and_the_rest_is_measured(tmp_path: Path) -> None:
    if not os.environ.get("KSELECT_BINARY"):
        pytest.skip("needs a kselect program")
    (tmp_path / "tiny.json").write_text(json.dumps(CONFIG))
    (tmp_path / "mine.py").write_text(
        "import numpy\ndef best(rows, k, largest):\n"
        "    i = numpy.argsort(-rows if largest else rows, axis=1)[:, :k]\n"
        "    return numpy.take_along_axis(rows, i, 1), i\n"
    )
    (tmp_path / "venv" / "bin").mkdir(parents=True)
    for name, text in (("pip", PIP), ("python", f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')):
        (tmp_path / "venv" / "bin" / name).write_text(text)
        (tmp_path / "venv" / "bin" / name).chmod(0o755)
    arguments = ("--device", "cpu", "--no-knn", "--call", "my-kernel=mine:best", tmp_path / "out", tmp_path / "tiny.json")
    given = {"RIVALS_VENV": str(tmp_path / "venv"), "PACKAGES": "broken", "PYTHONPATH": str(tmp_path)}
    done = script(*arguments, **given)
    assert "left out broken: ERROR: No matching distribution found for broken" in done.stderr
    run = tmp_path / "out" / "tiny_rivals"
    names = [json.loads(line)["algorithm"]["name"] for line in (run / "runs.jsonl").read_text().splitlines()]
    assert {"cpu/heap", "numpy-argpartition", "my-kernel"} <= set(names)
    assert (tmp_path / "out" / "rivals.txt").read_text() == "fake==1.0\n"
    # What is complete stays.
    before = (run / "runs.jsonl").read_bytes()
    assert f"{run} is complete" in script(*arguments, **given).stderr
    assert (run / "runs.jsonl").read_bytes() == before


def test_where_nothing_can_be_installed_what_is_there_is_measured(tmp_path: Path) -> None:
    if not os.environ.get("KSELECT_BINARY"):
        pytest.skip("needs a kselect program")
    config = CONFIG | {"axes": {"n": [64, 128], "q": [4], "k": [8]}}
    (tmp_path / "tiny.json").write_text(json.dumps(config))
    arguments = ("--device", "cpu", "--no-knn", "--no-install", "--filter", "*/n=128/*", "--own-first", "--rivals",
                 "numpy-argpartition", tmp_path / "out", tmp_path / "tiny.json")  # fmt: skip
    script(*arguments, PYTHON=sys.executable)
    lines = (tmp_path / "out" / "tiny_rivals" / "runs.jsonl").read_text().splitlines()
    cells = [(value["algorithm"]["name"], value["problem"]["n"]) for value in map(json.loads, lines)]
    assert cells == [("cpu/heap", 128), ("numpy-argpartition", 128)]
    assert not (tmp_path / "out" / "venv").exists()
    bare = tmp_path / "python"
    bare.write_text("#!/bin/sh\nexit 1\n")
    bare.chmod(0o755)
    assert "has no numpy" in script(*arguments, code=3, PYTHON=str(bare)).stderr
