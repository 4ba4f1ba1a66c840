"""`kselect tune`: tables from finished runs, regret of runs, and errors."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import one_line
from knn_jobs import sanitized

ROOT = Path(__file__).resolve().parents[2]
H200 = ROOT / "results/nvidia-h200"
GOAL = [H200 / "goal_shapes", H200 / "goal_many_rows"]
# What the program's own table was learned from, in that order.
TUNES = ("tune", "tune_types", "tune_wide_blocks", "tune_types_wide_blocks", "goal_types_rivals")
SOURCES = [H200 / run for run in (*TUNES, "goal_many_rows", "goal_shapes")]

CPU_GOAL = ROOT / "results/cpu-epyc-2core/cpu_goal"
TUNE = ROOT / "configs/tune.json"
TABLE = ROOT / "algorithms/auto_select/nvidia-h200.json"


@pytest.fixture(scope="module")
def learned(binary, tmp_path_factory):
    """A table's file, learned from the records of the program's own, and what was printed."""
    if sanitized(binary):
        pytest.skip("takes minutes; test_learns_a_table_of_a_processor_that_explain_goes_by learns a small table")
    out = tmp_path_factory.mktemp("learned") / "table.json"
    done = subprocess.run([binary, "tune", "--from", *SOURCES, "--out", out], check=True,
                          capture_output=True, text=True, timeout=6000)
    return out, done.stdout


def test_the_h100s_table_is_of_its_own_records(kselect, binary, tmp_path):
    if sanitized(binary):
        pytest.skip("takes half a minute, as the H200's table")
    runs = [ROOT / "results/nvidia-h100" / run for run in TUNES]
    out = tmp_path / "table.json"
    kselect("tune", "--from", *runs, "--out", out)
    table = json.loads(out.read_text())
    own = json.loads((TABLE.parent / "nvidia-h100.json").read_text())
    assert table["device"] == own["device"] and table["device"]["name"] == "NVIDIA H100 80GB HBM3"
    assert table["sources"] == own["sources"] and table["members"] == own["members"]


def judged(kselect, *arguments):
    return json.loads(kselect("tune", "--regret", *arguments, "--json").stdout)


def test_learns_the_programs_table_from_the_records_it_names(learned):
    out, said = learned
    table, own = json.loads(out.read_text()), json.loads(TABLE.read_text())
    assert table["device"]["name"] == "NVIDIA H200" and table["problems"] == own["problems"]
    assert table["sources"] == own["sources"] and len(own["sources"]) == len(SOURCES)
    assert all(s["driver"] and s["version"] and s["plan"] for s in table["sources"])
    assert table["members"] == own["members"] and len(table["costs"]) == len(table["members"])
    assert {"bms-warp", "bms-block", "bms-grid", "radix-select"} <= set(table["members"])
    assert "held out" in said and str(out) in said


def test_choices_of_a_table_are_as_good_as_the_members_allow(kselect, learned):
    out, _ = learned
    table = json.loads(out.read_text())
    fitted, held_out = table["regret"], table["regret_held_out"]
    assert fitted["geometric_mean"] <= 1.006 and fitted["worst"] <= 1.3
    assert held_out["geometric_mean"] <= 1.015 and held_out["worst"] <= 1.7
    shown = judged(kselect, *SOURCES, "--table", out)["table"]
    assert shown["geometric_mean"] == pytest.approx(fitted["geometric_mean"], abs=1e-3)


def test_auto_and_its_table_are_near_the_best_member_over_the_goal(kselect):
    shown = judged(kselect, *GOAL)
    for what in ("auto", "table"):
        assert len(shown[what]["choices"]) == 55
        assert shown[what]["geometric_mean"] <= 1.05 and shown[what]["worst"] <= 1.25
        ratios = [c["ratio"] for c in shown[what]["choices"]]
        assert ratios == sorted(ratios, reverse=True) and ratios[0] == shown[what]["worst"]


def test_the_programs_table_is_near_the_best_member_at_problems_it_was_not_learned_from(kselect):
    shown = judged(kselect, H200 / "regret_random", "--table", TABLE)["table"]
    assert len(shown["choices"]) == 96
    assert shown["geometric_mean"] <= 1.01 and shown["worst"] <= 1.25


def test_auto_goes_by_a_table_of_the_users(kselect, tmp_path):
    table = json.loads(TABLE.read_text())
    table["device"]["name"] = "abacus"
    table["source"] = "beads"
    own = tmp_path / "own.json"
    own.write_text(json.dumps(table))
    ask = ["explain", "--n", 5000, "--q", 100, "--k", 7, "--device"]
    assert "abacus" in kselect(*ask, "abacus", check=2).stderr
    shown = kselect(*ask, "abacus", env={"KSELECT_COST_TABLE": str(own)}).stdout
    assert "abacus: beads" in shown
    assert "beads" not in kselect(*ask, "NVIDIA H200", env={"KSELECT_COST_TABLE": str(own)}).stdout
    run = ["run", ROOT / "configs/smoke.json", "--filter", "cpu/heap ", "--out", "run"]
    kselect(*run, env={"KSELECT_COST_TABLE": str(own)})
    meta = json.loads((tmp_path / "run/meta.json").read_text())
    assert meta["cost_table"] == {"file": str(own), "device": "abacus", "source": "beads"}


@pytest.mark.parametrize("text, said", [(None, "cannot be read"), ("{}", "is no cost table")])
def test_names_a_table_of_the_users_that_is_none(kselect, tmp_path, text, said):
    own = tmp_path / "own.json"
    if text is not None:
        own.write_text(text)
    done = kselect("list", env={"KSELECT_COST_TABLE": str(own)}, check=3)
    line = one_line(done.stderr)
    assert "KSELECT_COST_TABLE" in line and str(own) in line and said in line and "unset" in line


def test_prints_the_worst_choices(kselect):
    lines = kselect("tune", "--regret", *GOAL, "--worst", 2).stdout.splitlines()
    assert lines[0].startswith("auto as it ran") and "55 problems" in lines[0]
    assert len([line for line in lines if " best " in line]) <= 4


def test_judges_auto_on_a_processor_against_all_beside_it(kselect):
    lines = kselect("tune", "--regret", CPU_GOAL, "--worst", 1).stdout.splitlines()
    assert lines[0].startswith("auto as it ran") and "27 problems" in lines[0]
    found = judged(kselect, CPU_GOAL)
    assert found["device"] == "AMD EPYC"
    assert found["auto"]["geometric_mean"] == pytest.approx(1.0885, abs=1e-4)
    assert found["auto"]["worst"] == pytest.approx(1.533, abs=1e-3)
    assert {choice["best"] for choice in found["auto"]["choices"]} == {"one-pass+omp", "cpu/heap+omp"}
    assert found["table"]["choices"] == []


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--from", GOAL[0]], 2, "--out"),
        (["--from", "no/such", "--out", "t.json"], 3, "no/such"),
        (["--regret", GOAL[0], "--table", "missing.json"], 3, "missing.json"),
        (["--regret", CPU_GOAL, "--table", TABLE], 3, "used none"),
        (["--regret", GOAL[0], "--out", "t.json"], 2, "--out"),
        (["--table", "t.json"], 2, "--regret"),
        (["--from", GOAL[0], "--out", "no/such/folder/t.json"], 6, "no/such/folder"),
        (["no_such_config.json", "--out", "t.json"], 3, "no_such_config.json"),
        # Before the sweeps, which a machine without a GPU would refuse with 4.
        ([TUNE, "--out", "no/such/folder/t.json"], 6, "no/such/folder"),
        ([TUNE, "--out", "/dev/null"], 6, "/dev/null"),
        (["t.json", "--out", "t.json"], 2, "are the same file"),
        (["--from", GOAL[0], "--out", f"{GOAL[0]}/meta.json"], 2, "are the same file"),
    ],
)
def test_says_what_is_wrong(kselect, arguments, code, said):
    assert said in kselect("tune", *arguments, check=code).stderr


def test_needs_a_gpu_to_measure(kselect, tmp_path):
    if shutil.which("nvidia-smi") is not None:
        pytest.skip("there is a GPU here")
    config = ROOT / "configs/tune_types.json"
    done = kselect("tune", config, "--run", tmp_path / "run", "--out", tmp_path / "t.json", check=4)
    assert "no cell can run here" in done.stderr and not (tmp_path / "t.json").exists()


def test_learns_a_table_of_a_processor_that_explain_goes_by(kselect, tmp_path):
    said = kselect("tune", "--from", CPU_GOAL, "--out", "t.json").stdout
    assert "`explain`" in said and "harness/tune/processors" in said
    table = json.loads((tmp_path / "t.json").read_text())
    assert table["device"] == {"name": "AMD EPYC", "multiprocessors": 2,
                               "compute_capability": 0}
    assert {"one-pass", "one-pass+omp", "cpu/nth_element"} <= set(table["members"])
    # The user's own table is of this machine if it has this processor's name.
    cpu = next(line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
               if line.startswith("model name"))
    table["device"]["name"] = cpu
    table["source"] = "the user's own"
    (tmp_path / "own.json").write_text(json.dumps(table))
    ask = ["explain", "--n", 16384, "--q", 256, "--k", 64, "--executor", "cpu", "--json"]
    shown = json.loads(kselect(*ask, env={"KSELECT_COST_TABLE": str(tmp_path / "own.json")}).stdout)
    assert shown["table"] == f"{cpu}: the user's own"


def test_the_tables_of_processors_follow_from_the_records_they_name(kselect, tmp_path):
    """Learned again, each is the file that is compiled in."""
    files = sorted((ROOT / "harness/tune/processors").glob("*.json"))
    assert files
    for file in files:
        own = json.loads(file.read_text())
        runs = [CPU_GOAL.parent / source["run"] for source in own["sources"]]
        kselect("tune", "--from", *runs, "--out", "t.json")
        again = json.loads((tmp_path / "t.json").read_text())
        assert again["sources"] == own["sources"] and again["members"] == own["members"]
        assert again["regret"]["geometric_mean"] == pytest.approx(own["regret"]["geometric_mean"],
                                                                  abs=0.01)
