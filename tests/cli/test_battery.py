"""`kselect test`: the shared battery on one entry, from the program itself."""

import os
import subprocess

from conftest import one_line

CASES = ["ExhaustiveSmallWorlds", "BoundarySizes", "EveryDistribution", "DeterministicWhereItPromisesSo"]


def test_a_right_entry_passes_every_case(kselect):
    done = kselect("test", "cpu/partial_sort", "--shared")
    lines = done.stdout.splitlines()
    assert lines[0] == "cpu/partial_sort on cpu"
    passed = {line.split()[0]: int(line.split()[2]) for line in lines[1:-1] if "nothing to prove" not in line}
    assert set(CASES) <= set(passed)
    assert all(problems > 0 for problems in passed.values())
    # Cases of other executors are not shown.
    assert "EveryLaneSchedule" not in passed
    assert lines[-1] == f"cpu/partial_sort: {len(passed)} cases passed, 0 failed"


def planted(*arguments):
    return subprocess.run(
        [os.environ["KSELECT_PLANTED"], "test", *arguments], capture_output=True, text=True, check=False, timeout=600
    )


def test_a_wrong_entry_fails_with_its_problem_and_how_to_repeat_it():
    done = planted("planted/no-op", "--case", "EveryDistribution")
    assert done.returncode == 7, done.stdout + done.stderr
    text = done.stdout
    assert "EveryDistribution                  FAILED after" in text
    assert "    problem  " in text and "/Q=" in text and "    wrong    " in text and "index_range" in text
    again = next(line for line in text.splitlines() if line.startswith("    again"))
    words = again.split("kselect ", 1)[1].replace("'", "").split()
    assert words == ["test", "planted/no-op", "--executor", "cpu", "--case", "EveryDistribution"]
    repeated = planted(*words[1:])
    assert [line for line in repeated.stdout.splitlines() if line.startswith("    problem")] == [
        line for line in text.splitlines() if line.startswith("    problem")
    ]
    assert text.splitlines()[-1] == "planted/no-op: 0 cases passed, 1 failed"


def test_a_kernel_is_proven_on_fibers(kselect):
    done = kselect("test", "qms-warp", "--executor", "fiber", "--case", "EveryLaneSchedule")
    assert "qms-warp on fiber\n  EveryLaneSchedule" in done.stdout
    assert "10 problems" in done.stdout


def test_what_cannot_be_tested_is_an_error(kselect):
    assert "did you mean" in one_line(kselect("test", "cpu/partial_sor", check=2).stderr)
    assert "there are ExhaustiveSmallWorlds" in one_line(
        kselect("test", "cpu/heap", "--case", "Nothing", check=2).stderr
    )
    assert "does not run on executor fiber" in one_line(
        kselect("test", "cpu/heap", "--executor", "fiber", check=4).stderr
    )
    # An executor that the entry declares, but that this machine or build lacks.
    done = kselect("test", "qms-warp", "--executor", "cuda", "--case", "OneLongRow", check=None)
    assert done.returncode in (0, 4)
    if done.returncode == 4:
        assert "qms-warp on cuda: not run: " in done.stdout
