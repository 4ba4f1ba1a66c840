"""list, doctor, help and version."""

import json

import pytest


def test_list_shows_every_algorithm_with_its_contract(kselect):
    entries = json.loads(kselect("list", "--json").stdout)
    text = kselect("list").stdout
    names = [entry["name"] for entry in entries]
    assert {"cpu/nth_element", "cpu/nth_element+omp", "cpu/partial_sort", "cpu/sort",
            "cpu/heap", "cpu/heap+omp"} <= set(names)
    for entry in entries:
        assert entry["name"] in text and entry["source"] in text
        assert set(entry["executors"]) == {"cpu", "fiber", "cuda"}
        for place in entry["executors"].values():
            assert place["here"] == (place["reason"] == "")
        assert entry["contract"]["nan"] in ("total_order", "unsupported")


def test_doctor_describes_the_machine(kselect):
    text = kselect("doctor").stdout
    for subject in ("build", "git", "CPU governor", "other load", "GPU"):
        assert subject in text


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
