"""What Nsight Compute says of kernels: its table, the row it becomes, and the command around it."""

import csv
import json
import stat
import sys
from pathlib import Path

import pytest
from plots import stalls
from plots.errors import Failure, PlotError
from plots.ncu import launches, main_kernel, row_of, short_name

from conftest import CONTENDERS, cell, problem, write_run

ROOT = Path(__file__).resolve().parents[2]
STATE = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"

SELECTING = (
    "void kselect::simt::detail::run_on_cuda<kselect::(anonymous namespace)::"
    "select_rows<(kselect::dtype)0, int, 256>>(T1::args)"
)
FINISHING = "void kselect::simt::detail::run_on_cuda<kselect::qms::finish<float>>(T1::args)"
PROVING = "void kselect::simt::detail::run_on_cuda<kselect::harness::<unnamed>::check>(T1::args)"

# name, unit and a value for each of three launches: proving, selecting, finishing
TABLE: tuple[tuple[str, str, tuple[str, str, str]], ...] = (
    ("ID", "", ("0", "1", "2")),
    ("Process Name", "", ("kselect",) * 3),
    ("Kernel Name", "", (PROVING, SELECTING, FINISHING)),
    ("Block Size", "", ("(256, 1, 1)",) * 3),
    ("gpu__time_duration.sum", "ns", ("9,000,000", "1,234,560", "1000")),
    ("launch__grid_size", "", ("64", "8,192", "1")),
    ("launch__block_size", "", ("256",) * 3),
    ("launch__registers_per_thread", "register/thread", ("40",) * 3),
    ("sm__warps_active.avg.per_cycle_active", "warp/cycle", ("1", "15.987", "1")),
    ("sm__warps_active.avg.pct_of_peak_sustained_active", "%", ("2", "24.98", "2")),
    ("smsp__issue_active.avg.per_cycle_active", "inst/cycle", ("0.1", "0.4567", "0.1")),
    ("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", "%", ("1", "61.25", "1")),
    ("sm__cycles_active.sum", "cycle", ("1", "13,200", "1")),
    ("sm__cycles_active.max", "cycle", ("1", "200", "1")),
    (STATE.format("long_scoreboard"), "inst", ("1", "4", "1")),
    (STATE.format("barrier"), "inst", ("1", "2", "1")),
    (STATE.format("selected"), "inst", ("1", "1", "1")),
    (STATE.format("wait"), "inst", ("1", "1", "1")),
    (STATE.format("lg_throttle"), "inst", ("1", "n/a", "1")),
    (STATE.format("wait_not_issued"), "inst", ("1", "50", "1")),
)


def text_of(table: tuple[tuple[str, str, tuple[str, ...]], ...] = TABLE) -> str:
    """Return a table as ncu prints it, with its own lines around it."""
    lines = [[name for name, _, _ in table], [unit for _, unit, _ in table]]
    lines += [[values[i] for _, _, values in table] for i in range(3)]
    quoted = "\n".join(",".join(f'"{cell}"' for cell in line) for line in lines)
    return (
        "==PROF== Connected to process 77 (/x/kselect)\n"
        '==PROF== Profiling "run_on_cuda": 0%....100% - 11 passes\n'
        f"{quoted}\n==PROF== Disconnected from process 77\n"
    )


def without(name: str) -> tuple[tuple[str, str, tuple[str, str, str]], ...]:
    """Return the table without a column."""
    return tuple(column for column in TABLE if column[0] != name)


def refused(text: str) -> str:
    """Return why the text is refused."""
    with pytest.raises(PlotError) as caught:
        launches(text, "here")
    assert caught.value.failure is Failure.INPUT
    return str(caught.value)


def test_the_row_is_of_the_kernel_that_takes_most_time_and_selects() -> None:
    main = main_kernel(launches(text_of(), "here"), "here")
    assert row_of(main) == {
        "kernel": "select_rows",
        "launches": "1",
        "share_of_time": "0.999",
        "duration_us": "1234.56",
        "grid": "8192",
        "block": "256",
        "registers": "40",
        "warps_per_multiprocessor": "15.99",
        "occupancy_percent": "25.0",
        "issues_per_cycle": "0.457",
        "multiprocessors_busy": "66.0",
        "dram_percent": "61.2",
        "stall_1": "long_scoreboard",
        "share_1": "0.500",
        "stall_2": "barrier",
        "share_2": "0.250",
        "stall_3": "wait",
        "share_3": "0.125",
        "stall_4": "",
        "share_4": "",
        "stall_5": "",
        "share_5": "",
    }


def test_launches_of_one_kernel_count_together() -> None:
    many = tuple(
        (name, unit, (SELECTING, FINISHING, FINISHING))
        if name == "Kernel Name"
        else (name, unit, ("700", "400", "500"))
        if name == "gpu__time_duration.sum"
        else (name, unit, values)
        for name, unit, values in TABLE
    )
    main = main_kernel(launches(text_of(many), "here"), "here")
    assert short_name(main.launch.kernel) == "finish"
    assert (main.launches, main.launch.nanoseconds) == (2, 500)
    assert main.share == pytest.approx(900 / 1600)


def test_units_of_time_are_converted() -> None:
    def took(unit: str) -> float:
        table = tuple(
            (name, unit if name.startswith("gpu__time") else was, values)
            for name, was, values in TABLE
        )
        return launches(text_of(table), "here")[2].nanoseconds

    assert [took(unit) for unit in ("ns", "us", "nsecond", "msecond")] == [1e3, 1e6, 1e3, 1e9]


def test_a_missing_metric_leaves_its_column_empty() -> None:
    row = row_of(main_kernel(launches(text_of(without("sm__cycles_active.max")), "x"), "x"))
    assert row["multiprocessors_busy"] == "" and row["dram_percent"] == "61.2"


def test_text_without_a_table_is_refused_with_the_reason() -> None:
    assert refused("==PROF== Connected\n") == "here: no kernel was profiled"
    said = "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission"
    assert "ERR_NVGPUCTRPERM" in refused(said)
    assert "no column 'gpu__time_duration.sum'" in refused(text_of(without("gpu__time_duration.sum")))
    assert "launch 2 has 19 columns, not 20" in refused(text_of().replace('"2","kselect",', '"2",'))
    assert "which is no time" in refused(text_of().replace('"ns"', '"furlong"'))
    with pytest.raises(PlotError, match="no kernel of the algorithm"):
        main_kernel(launches(text_of(), "here")[:1], "here")


def test_names_are_shortened() -> None:
    assert short_name(SELECTING) == "select_rows"
    assert short_name("void cub::DeviceRadixSortKernel<int, 4>(int *)") == "DeviceRadixSortKernel"
    assert short_name("plain(int)") == "plain"


FAKE_KSELECT = """
import json, pathlib, shutil, sys
if "--dry-run" in sys.argv:
    name = "float32/smallest/Q=16/n=8388608/k=512/values_and_indices/row_major/uniform#42"
    print(f"0123456789abcdef  qms-block+t512         cuda   {name}")
    print(f"0123456789abcdee  garcia                 cuda   {name}  [unsupported: k > 3]")
    print("2 cells")
else:
    assert "--in-process" in sys.argv
    wanted = sys.argv[sys.argv.index("--filter") + 1]
    assert wanted.startswith("^qms-block\\\\+t512 float32/smallest/Q=16"), wanted
    out = pathlib.Path(sys.argv[sys.argv.index("--out") + 1])
    shutil.copytree(HERE / "run", out)
"""
FAKE_NCU = """
import pathlib, subprocess, sys
if "--version" in sys.argv:
    print("NVIDIA (R) Nsight Compute\\nVersion 2025.3")
    sys.exit()
own, program = sys.argv[1:], sys.argv[sys.argv.index(str(HERE / "kselect")):]
log = pathlib.Path(own[own.index("--log-file") + 1])
filtered = "--kernel-name" in own
subprocess.run(program, check=True)
if filtered and (HERE / "knows_no_regex").exists():
    log.write_text("==ERROR== invalid regular expression")
else:
    log.write_text((HERE / "table").read_text())
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with stand-ins for kselect and ncu, and what they give."""
    for name, code in (("kselect", FAKE_KSELECT), ("ncu", FAKE_NCU)):
        head = f"#!{sys.executable}\nimport pathlib\nHERE = pathlib.Path({str(tmp_path)!r})\n"
        (tmp_path / name).write_text(head + code)
        (tmp_path / name).chmod(stat.S_IRWXU)
    write_run(tmp_path / "run", [cell(CONTENDERS[2], problem(8388608, 16, 512))])
    (tmp_path / "table").write_text(text_of())
    return tmp_path


def ran(folder: Path, *more: str) -> int:
    """Run the command with the stand-ins; return its exit code."""
    tools = ["--binary", str(folder / "kselect"), "--ncu", str(folder / "ncu")]
    config = str(ROOT / "configs" / "causes_stalls.json")
    return stalls.main([config, "--out", str(folder / "out"), *tools, *more])


@pytest.mark.parametrize("knows_regex", [True, False])
def test_the_command_writes_a_row_a_cell_and_its_circumstances(
    folder: Path, capsys: pytest.CaptureFixture[str], knows_regex: bool
) -> None:
    if not knows_regex:
        (folder / "knows_no_regex").touch()
    assert ran(folder) == 0
    assert "left out: garcia" in capsys.readouterr().out
    rows = list(csv.DictReader((folder / "out" / "stalls.csv").open()))
    assert len(rows) == 1
    named = {name: rows[0][name] for name in stalls.CELL}
    assert named == {
        "algorithm": "qms-block+t512",
        "n": "8388608",
        "q": "16",
        "k": "512",
        "payload": "values_and_indices",
    }
    assert rows[0]["kernel"] == "select_rows" and rows[0]["stall_1"] == "long_scoreboard"
    said = json.loads((folder / "out" / "stalls.json").read_text())
    assert said["gpu"][0]["name"] == "NVIDIA H200"
    assert said["ncu"] == "Version 2025.3"
    assert said["git"]["commit"] and said["config"]["name"] == "causes_stalls"


def test_an_answer_that_was_not_proven_gets_no_row(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in (folder / "run").iterdir():
        path.unlink()
    write_run(folder / "run", [cell(CONTENDERS[2], problem(8, 1, 1), "wrong", "row 3")])
    assert ran(folder) == Failure.INPUT
    assert "was not proven under ncu: wrong: row 3" in capsys.readouterr().err
    assert not (folder / "out" / "stalls.csv").exists()


def test_a_config_that_times_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = str(ROOT / "configs" / "smoke.json")
    assert stalls.main([config, "--out", str(folder / "out")]) == Failure.USAGE
    assert "/measure/rounds must be 0" in capsys.readouterr().err
    assert ran(folder, "--filter", "nothing has this name") == Failure.USAGE
