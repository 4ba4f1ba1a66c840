"""`kselect compare`: verdicts and exit codes on copies of a real run with planted changes."""

import copy
import json
import random
import shutil

import pytest
from conftest import one_line, records, write_records

CONFIG = {
    "schema": "kselect-config/1",
    "name": "small",
    "axes": {"n": [256, 1024], "q": [8], "k": [4, 16]},
    "algorithms": ["cpu/heap", "cpu/sort"],
    "measure": {"warmup": 0, "min_samples": 2, "max_samples": 3, "max_seconds": 1},
}
ROUNDS = 11


@pytest.fixture
def run_directory(kselect, tmp_path):
    """A real run of eight cells whose times were replaced by eleven steady rounds.

    It says that it took turns, and so do its copies (`changed`).
    """
    (tmp_path / "small.json").write_text(json.dumps(CONFIG))
    kselect("run", "small.json", "--out", "base")
    found = records(tmp_path / "base")
    for i, record in enumerate(found):
        set_rounds(record, 1e5 * (i + 1), seed=i)
    write_records(tmp_path / "base", found)
    change_meta(tmp_path / "base", lambda meta: meta.update(alternated={"id": "one"}))
    return tmp_path / "base"


def change_meta(directory, change):
    """Changes the meta data of a run in place."""
    meta = json.loads((directory / "meta.json").read_text())
    change(meta)
    (directory / "meta.json").write_text(json.dumps(meta))


def measured_apart(*directories):
    """Makes runs that took no turns, on an idle machine, of those that did."""

    def apart(meta):
        del meta["alternated"]
        meta["host"]["load_1min"] = 0.0

    for directory in directories:
        change_meta(directory, apart)


def set_rounds(record, nanoseconds, *, seed, noise=0.004):
    """Replaces the times of a record by rounds around a value."""
    rng = random.Random(seed)
    rounds = [nanoseconds * (1 + rng.gauss(0, noise)) for _ in range(ROUNDS)]
    median = sorted(rounds)[ROUNDS // 2]
    record["time"] |= {"rounds": rounds, "samples": rounds, "median": median,
                       "ci95": [sorted(rounds)[1], sorted(rounds)[-2]]}


@pytest.fixture
def changed(run_directory):
    """Writes a copy of the run with its records and meta data changed; returns its directory."""

    def write(change=None, meta=None, name="new"):
        directory = run_directory.parent / name
        shutil.copytree(run_directory, directory)
        found = records(directory)
        for i, record in enumerate(found):  # measured anew
            set_rounds(record, 1e5 * (i + 1), seed=100 + i)
        found = change(copy.deepcopy(found)) if change else found
        write_records(directory, found)
        if meta:
            change_meta(directory, meta)
        return directory

    return write


def scaled(indices, factor):
    """Makes the given cells slower by a factor."""

    def change(found):
        for i in indices:
            set_rounds(found[i], 1e5 * (i + 1) * factor, seed=200 + i)
        return found

    return change


def title(record):
    """What names a record's cell in a report."""
    problem = record["problem"]
    return f'n={problem["n"]} k={problem["k"]}'


def test_the_same_run_exits_0(kselect, run_directory, changed):
    assert kselect("compare", run_directory, run_directory).stdout.startswith("8 same\n")
    assert kselect("compare", run_directory, changed()).stdout.startswith("8 same\n")


def test_planted_slow_down_exits_1_and_names_the_cells(kselect, run_directory, changed):
    new = changed(scaled([2, 5], 1.08))
    done = kselect("compare", run_directory, new, check=1)
    assert done.stdout.startswith("2 regressions, 6 same\n")
    lines = [line for line in done.stdout.splitlines() if line.startswith("regression ")]
    found = records(new)
    named = {tuple(line.split()[-3:]) for line in lines}
    assert named == {(found[i]["algorithm"]["name"], *title(found[i]).split()) for i in [2, 5]}
    kselect("compare", run_directory, new, "--threshold", "0.2")
    kselect("compare", run_directory, new, "--fail-on", "missing,inconclusive")
    kselect("compare", new, run_directory)  # an improvement


def test_runs_made_apart_are_inconclusive_and_told_what_decides(kselect, run_directory, changed):
    new = changed(scaled([2, 5], 1.4))
    measured_apart(run_directory, new)
    done = kselect("compare", run_directory, new, check=3)
    assert done.stdout.startswith("2 inconclusive, 6 same\n")
    assert done.stdout.count("two runs of one program may differ as much") == 2
    decides = done.stdout.splitlines()[-1]
    ours = str(records(new)[2]["algorithm"]["name"]) == str(records(new)[5]["algorithm"]["name"])
    program = json.loads((new / "meta.json").read_text())["arguments"][0]
    assert decides.startswith(
        f"Measured in turns, this decides: kselect ab {program} {program} small.json")
    assert ("--filter" in decides) == ours
    # Every format says it.
    for form in ("markdown", "html", "json"):
        told = kselect("compare", run_directory, new, "--format", form, check=3).stdout
        assert f"kselect ab {program} {program} small.json" in told, form
    # Not where it would change nothing, and not where the user asks for the old rule.
    assert "decides" not in kselect("compare", new, new).stdout
    strict = kselect("compare", run_directory, new, "--strict", check=1)
    assert strict.stdout.startswith("2 regressions, 6 same\n") and "decides" not in strict.stdout


def test_a_clear_slow_down_of_runs_made_apart_exits_1(kselect, run_directory, changed):
    new = changed(scaled([3], 20))
    measured_apart(run_directory, new)
    done = kselect("compare", run_directory, new, check=1)
    assert done.stdout.startswith("1 regression, 7 same\n")
    assert "takes more than 8 times (on a GPU 1.5 times) the other's median" in done.stdout


def test_every_format_tells_the_same_verdicts(kselect, run_directory, changed):
    new = changed(scaled([3], 1.08))
    run = records(new)[3]
    told = json.loads(kselect("compare", run_directory, new, "--format", "json", check=1).stdout)
    assert told["schema"] == "kselect-comparison/1" and told["verdicts"]["regression"] == 1
    (cell,) = [c for c in told["cells"] if c["verdict"] == "regression"]
    assert cell["algorithm"] == run["algorithm"]["name"]
    assert 1.07 < cell["interval"][0] < cell["ratio"] < cell["interval"][1] < 1.09
    assert cell["rounds"] == [ROUNDS, ROUNDS] and cell["p_corrected"] < 0.05
    assert len(told["cells"]) == 8
    markdown = kselect("compare", run_directory, new, "--format", "markdown", check=1).stdout
    assert markdown.startswith("### kselect: 1 regression, 7 same\n")
    assert markdown.count("| regression |") == 1
    html = kselect("compare", run_directory, new, "--format", "html", check=1).stdout
    assert html.count('<tr class="regression">') == 1 and html.count('<tr class="same">') == 7


def test_missing_cells_exit_4(kselect, run_directory, changed):
    def fail_one_and_drop_one(found):
        found[1] |= {"status": "wrong", "reason": "row 3 is wrong", "time": None}
        return found[:-1]

    new = changed(fail_one_and_drop_one)
    done = kselect("compare", run_directory, new, check=4)
    assert "2 missing" in done.stdout and "wrong in the new run: row 3 is wrong" in done.stdout
    kselect("compare", run_directory, new, "--fail-on", "regression")
    assert "2 added" in kselect("compare", new, run_directory).stdout


def test_noise_is_inconclusive_and_exits_3(kselect, run_directory, changed):
    def shaken(found):
        for i, record in enumerate(found):
            set_rounds(record, 1e5 * (i + 1), seed=i, noise=0.3)
        return found

    new = changed(shaken)
    assert "inconclusive" in kselect("compare", run_directory, new, check=3).stdout
    kselect("compare", run_directory, new, "--fail-on", "regression,missing")


def test_other_machines_and_policies_are_not_comparable(kselect, run_directory, changed):
    def other_machine(meta):
        meta["host"]["cpu"] = "another processor"

    def other_policy(meta):
        meta["config"]["measure"]["warmup"] = 9

    for name, change, said in [("machine", other_machine, "host cpu is"),
                               ("policy", other_policy, "policy warmup is")]:
        new = changed(meta=change, name=name)
        done = kselect("compare", run_directory, new, check=2)
        assert "runs not comparable: 8 not comparable" in done.stdout and said in done.stdout
        done = kselect("compare", run_directory, new, "--force")
        assert "8 same" in done.stdout and "forced: " in done.stdout
        kselect("compare", run_directory, new, "--fail-on", "regression")


def test_regression_outweighs_missing(kselect, run_directory, changed):
    new = changed(lambda found: scaled([2], 1.08)(found)[:-1])
    kselect("compare", run_directory, new, check=1)


def test_wrong_usage_exits_2(kselect, run_directory, tmp_path):
    done = kselect("compare", run_directory, "nowhere", check=2)
    assert "nowhere" in one_line(done.stderr)
    done = kselect("compare", run_directory, run_directory, "--threshold", "much", check=2)
    assert "--threshold" in one_line(done.stderr)
    # 5 could be meant as 5 or as 500 %.
    done = kselect("compare", run_directory, run_directory, "--threshold", "5", check=2)
    assert "neither a share such as 0.05 nor a percentage such as 5%" in one_line(done.stderr)
    kselect("compare", run_directory, run_directory, "--fail-on", "bad-weather", check=2)
    kselect("compare", run_directory, check=2)
    path = run_directory / "runs.jsonl"
    path.write_text(path.read_text().replace('"median"', '"medium"', 1))
    assert "runs.jsonl" in one_line(kselect("compare", run_directory, run_directory, check=2).stderr)


def test_records_without_rounds_are_split_and_it_is_said(kselect, run_directory, changed):
    def without_rounds(found):
        for record in found:
            del record["time"]["rounds"]
        return found

    done = kselect("compare", run_directory, changed(without_rounds))
    assert "no rounds in 8 records" in done.stdout and "8 same" in done.stdout


def test_a_killed_run_is_read_up_to_its_torn_tail(kselect, run_directory, changed):
    new = changed()
    path = new / "runs.jsonl"
    path.write_bytes(path.read_bytes()[:-30])
    done = kselect("compare", run_directory, new, check=4)
    assert "unfinished record" in done.stdout and "1 missing, 7 same" in done.stdout
