"""The rivals: parts of a config, types that NumPy lacks, and a rival that breaks the device."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from peers import callables, program, recorded, rivals
from peers.rivals import Broken, Scope
from plots.errors import PlotError
from stand_ins import config_file, own, partition, problem

pytestmark = pytest.mark.skipif(not os.environ.get("KSELECT_BINARY"), reason="needs a kselect program")


def recorded_by(out: Path) -> dict[str, list[tuple[int, str, str]]]:
    """Return n, status and reason of each record of a run, by algorithm."""
    found: dict[str, list[tuple[int, str, str]]] = {}
    for line in (out / "runs.jsonl").read_text().splitlines():
        value = json.loads(line)
        found.setdefault(value["algorithm"]["name"], []).append((value["problem"]["n"], value["status"], value["reason"]))
    return found


def small(folder: Path) -> Path:
    """Write a config of two problems, n = 64 and n = 256."""
    return config_file(folder, dtype="float32", direction="smallest", distribution="uniform")


def test_a_part_of_a_config_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[object, ...]] = []
    whole = program.kselect
    monkeypatch.setattr(program, "kselect", lambda *a, **k: asked.append(a) or whole(*a, **k))
    rivals.run(small(tmp_path), tmp_path / "out", [own("a", partition)], Scope("*/n=256/*", own_first=True))
    told = recorded_by(tmp_path / "out")
    assert {name: [n for n, *_ in records] for name, records in told.items()} == {
        "cpu/heap": [256], "cpu/sort": [256], "a": [256],
    }  # fmt: skip
    assert [a[0] for a in asked].count("run") == 2  # the plan, and kselect's own cells at once
    with pytest.raises(PlotError, match="no cell is left"):
        rivals.run(small(tmp_path), tmp_path / "none", [own("a", partition)], Scope("*/n=7/*"))


def test_no_problem_begins_after_the_time_is_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rivals.run(small(tmp_path), tmp_path / "out", [own("a", partition)], Scope(own_first=True, seconds=-1))
    assert sorted(recorded_by(tmp_path / "out")) == ["cpu/heap", "cpu/sort"]
    assert "s are over before problem 1" in capsys.readouterr().err


def test_several_configs_share_the_rivals_and_the_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = small(tmp_path)
    second = tmp_path / "other.json"
    second.write_text(first.read_text())
    arguments = [str(first), str(second), "--out", str(tmp_path / "out"), "--device", "cpu", "--own-first",
                 "--rivals", "numpy-argpartition", "--filter", "*/n=64/*", "--filter", "other:*/n=256/*"]  # fmt: skip
    rivals.main(arguments)
    for name, n in (("small", 64), ("other", 256)):
        told = recorded_by(tmp_path / "out" / f"{name}_rivals")
        assert {size for records in told.values() for size, *_ in records} == {n} and "numpy-argpartition" in told
    before = (tmp_path / "out" / "small_rivals" / "runs.jsonl").read_bytes()
    rivals.main(arguments)  # what is complete stays
    assert (tmp_path / "out" / "small_rivals" / "runs.jsonl").read_bytes() == before
    rivals.main([*arguments[:2], "--out", str(tmp_path / "none"), *arguments[4:], "--seconds", "-1"])
    assert "no time is left for" in capsys.readouterr().err and not (tmp_path / "none").exists()
    with pytest.raises(SystemExit, match="no config is called 'third'; there are small, other"):
        rivals.main([*arguments, "--filter", "third:*"])


def test_a_run_that_was_killed_is_ended_with_what_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def counted(rows: np.ndarray, k: int, largest: bool) -> Any:
        calls.append(1)
        if len(calls) == recorded.ROUNDS + 2:  # of the second problem
            raise KeyboardInterrupt
        return partition(rows, k, largest)

    config = small(tmp_path)
    (tmp_path / "other.json").write_text(config.read_text())
    monkeypatch.setattr(rivals, "available", lambda *_: ([own("a", counted)], {}))
    arguments = [str(config), str(tmp_path / "other.json"), "--out", str(tmp_path / "out"), "--device", "cpu", "--own-first"]
    with pytest.raises(KeyboardInterrupt):
        rivals.main(arguments)
    rivals.main([*arguments, "--seconds", "-1"])
    told = recorded_by(tmp_path / "out" / "small_rivals")
    assert len(told["a"]) == 1 and len(told["cpu/heap"]) == 2
    assert not (tmp_path / "out" / "other_rivals").exists()


class Breakable(callables.Host):
    """A device that one call breaks."""

    def __init__(self) -> None:
        """Begin whole."""
        self.broken = False

    def wait(self) -> None:
        """Fail for ever after it broke."""
        if self.broken:
            raise RuntimeError("CUDA error: an illegal memory access was encountered")


def test_a_rival_that_breaks_the_device_costs_itself_alone(tmp_path: Path) -> None:
    devices: list[Breakable] = []

    def both() -> list[callables.Rival]:
        """Return a good rival and one that breaks its device, as a new process has them."""
        devices.append(Breakable())

        def careless(rows: np.ndarray, k: int, largest: bool) -> Any:
            devices[-1].broken = True
            return partition(rows, k, largest)

        made = [own("careless", careless), own("good", partition)]
        for rival in made:
            rival.memory = devices[-1]
        return made

    config = config_file(tmp_path, n=[32, 64, 256], dtype="float32", direction="smallest", distribution="uniform")
    for _ in range(rivals._MOST_BREAKS):
        with pytest.raises(Broken, match="careless: it broke the GPU's context: RuntimeError: CUDA error"):
            rivals.run(config, tmp_path / "out", both())
    rivals.run(config, tmp_path / "out", both())
    told = recorded_by(tmp_path / "out")
    assert [status for _, status, _ in told["good"]] == ["ok"] * 3
    assert [status for _, status, _ in told["careless"]] == ["error"] * 3
    assert told["careless"][2][2].startswith("not called: it broke the GPU's context")


def test_a_rival_that_hangs_costs_itself_a_problem(tmp_path: Path) -> None:
    config = config_file(tmp_path, n=[64], dtype="float32", direction="smallest", distribution="uniform")
    (tmp_path / "hanging.py").write_text("import time\ndef select(rows, k, largest):\n    time.sleep(1000)\n")
    command = [sys.executable, "-m", "peers.rivals", config, "--out", tmp_path / "out", "--device", "cpu", "--own-first",
               "--rivals", "numpy-argpartition", "--call", "hanging=hanging:select", "--patience", "2"]  # fmt: skip
    (rows := tmp_path / "rows").mkdir()
    path = os.pathsep.join([str(tmp_path), str(program.ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": path, "TMPDIR": str(rows)}, capture_output=True, text=True, timeout=100, check=True
    )
    assert "hanging: it gave no answer within 2 s; going on in a new process" in done.stderr
    assert not list(rows.iterdir())  # what the first process wrote is gone
    told = recorded_by(tmp_path / "out")
    assert told["hanging"] == [(64, "error", "it gave no answer within 2 s")]
    assert [status for _, status, _ in told["numpy-argpartition"]] == ["ok"]


def test_it_goes_on_in_a_new_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Any] = []
    rival = own("a", partition)

    def broken(*_: Any) -> None:
        raise Broken(rival, "it broke")

    monkeypatch.setattr(rivals, "run", broken)
    monkeypatch.setattr(rivals, "available", lambda *_: ([rival], {}))
    monkeypatch.setattr(os, "execv", lambda *a: started.append(a))
    rivals.main([str(small(tmp_path)), "--out", str(tmp_path / "out"), "--device", "cpu"])
    assert started == [(sys.executable, sys.orig_argv)]


def test_rows_of_bfloat16_are_rounded_as_the_harness_does(tmp_path: Path) -> None:
    given = np.array([[1.0, 1.00390625, 1.01171875, -1.0039064, 3.0e38, 1e-40]], np.float32)
    bits = program._bits_of_bfloat16(given)
    # Ties go to the even one: 1 + 2^-8 lies between 1 and 1 + 2^-7, 1 + 3 * 2^-8 between 1 + 2^-7 and 1 + 2^-6.
    assert (bits.astype(np.int32) << 16).view(np.float32)[0, :4].tolist() == [1.0, 1.0, 1.015625, -1.0078125]
    file = program.generate_rows(problem(dtype="bfloat16"), tmp_path)
    rows = np.load(file)
    assert rows.dtype == np.int16 and rows.shape == (4, 64)
    numbers = (rows.astype(np.int32) << 16).view(np.float32)
    order = np.argsort(-numbers, axis=1, kind="stable")[:, :8]
    best = np.take_along_axis(rows, order, 1)
    assert program.disprove(file, best, order.astype(np.int32), largest=True, bfloat16=True) is None
    order[0, 0] = np.argsort(numbers[0])[0]
    best = np.take_along_axis(rows, order, 1)
    assert "wrong" in str(program.disprove(file, best, order, largest=True, bfloat16=True))


def test_a_tensor_of_bfloat16_is_proven_by_its_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    class Half(np.ndarray):
        """An array that stands for a tensor of bfloat16: its bits."""

        dtype_name = "torch.bfloat16"

    bits = np.array([[1, 2]], np.int16)
    tensor = SimpleNamespace(dtype="torch.bfloat16", view=lambda kind: bits.view(kind))
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(int16=np.int16))
    assert callables._host(tensor).tolist() == [[1, 2]] and callables._host(tensor).dtype == np.int16
    assert recorded.ROUNDS == 11
