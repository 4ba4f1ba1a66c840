"""list, doctor, help and version."""

import json

import numpy as np
import pytest
from conftest import one_line


def test_list_shows_every_algorithm_with_its_contract(kselect):
    entries = json.loads(kselect("list", "--json").stdout)
    text = kselect("list", "--long").stdout
    names = [entry["name"] for entry in entries]
    assert {"cpu/nth_element", "cpu/nth_element+omp", "cpu/partial_sort", "cpu/sort",
            "cpu/heap", "cpu/heap+omp"} <= set(names)
    for entry in entries:
        assert entry["name"] in text and entry["source"] in text
        assert set(entry["executors"]) == {"cpu", "fiber", "cuda"}
        for place in entry["executors"].values():
            assert place["here"] == (place["reason"] == "")
        assert entry["contract"]["nan"] in ("total_order", "unsupported")


def test_list_is_short_unless_asked(kselect):
    entries = json.loads(kselect("list", "--json").stdout)
    families = {entry["family"] for entry in entries}
    lines = kselect("list").stdout.splitlines()
    assert len([line for line in lines if not line.startswith("left out")]) == len(families) + 2
    heap = next(line for line in lines if line.startswith("heap  "))
    of_heap = [entry for entry in entries if entry["family"] == "heap"]
    assert f" {len(of_heap)} " in heap and "cpu/heap" in heap and "+omp" not in heap
    where = {kind for entry in of_heap for kind in entry["executors"]
             if entry["executors"][kind]["reason"] != "not written for it"}
    assert all(kind in heap for kind in where)
    assert kselect("list", "--names").stdout.split() == [entry["name"] for entry in entries]


def test_list_of_a_glob_or_a_family(kselect):
    names = kselect("list", "--names").stdout.split()
    for glob, wanted in [("cpu/heap*", [n for n in names if n.startswith("cpu/heap")]),
                         ("cpu/sort", ["cpu/sort"])]:
        assert kselect("list", glob, "--names").stdout.split() == wanted
        assert [e["name"] for e in json.loads(kselect("list", glob, "--json").stdout)] == wanted
        assert all(name in kselect("list", glob, "--long").stdout for name in wanted)
        count = "1 entry;" if len(wanted) == 1 else f"{len(wanted)} entries;"
        assert count in kselect("list", glob).stdout
    of_heap = kselect("list", "heap", "--names").stdout.split()
    assert {"cpu/heap", "cpu/heap+omp"} <= set(of_heap) and "cpu/sort" not in of_heap
    assert "cpu/heap" in one_line(kselect("list", "cpu/haep", check=2).stderr)
    kselect("list", "--json", "--long", check=2)


def test_doctor_describes_the_machine(kselect):
    text = kselect("doctor").stdout
    for subject in ("build", "git", "CPU governor", "other load", "GPU"):
        assert subject in text


def test_doctor_says_the_same_as_json(kselect):
    text, found = kselect("doctor").stdout, json.loads(kselect("doctor", "--json").stdout)
    assert {finding["subject"] for finding in found["findings"]} >= {"build", "git", "other load", "GPU"}
    assert {finding["level"] for finding in found["findings"]} <= {"ok", "note", "warning"}
    assert found["warnings"] == sum(f["level"] == "warning" for f in found["findings"])
    assert found["cpu"] in text and found["version"] in text and found["threads_available"] >= 1


def test_what_was_left_out_says_how_to_build_it(kselect, tmp_path):
    """`--sorted` needs auto+sorted, which -DKSELECT_ALGORITHMS=auto does not list."""
    if "auto+sorted" in kselect("list", "--names").stdout.split():
        pytest.skip("this program was built with auto+sorted; tests/package/subset tests the rest")
    np.save(tmp_path / "rows.npy", np.ones((2, 3), np.float32))
    message = one_line(kselect("select", "rows.npy", "--k", 2, "--sorted", check=2).stderr)
    assert message.startswith("kselect: auto+sorted was left out") and "-DKSELECT_ALGORITHMS=" in message
    assert "name another (`kselect list`), build all with scripts/build.sh" in message


@pytest.mark.parametrize("command", [[], ["list"], ["select"], ["explain"], ["knn"], ["run"],
                                     ["doctor"], ["compare"], ["noise"], ["ab"], ["export"], ["counters"]])
def test_help_everywhere(kselect, command):
    assert "Usage" in kselect(*command, "--help").stdout


def test_version_and_exit_codes_are_documented(kselect):
    assert kselect("--version").stdout.startswith("kselect 0.")
    text = kselect("--help").stdout
    for code in ("0 success", "2 usage", "7 an answer was wrong", "130 interrupted"):
        assert code in text


def test_no_or_unknown_command(kselect):
    kselect(check=2)
    kselect("frobnicate", check=2)
