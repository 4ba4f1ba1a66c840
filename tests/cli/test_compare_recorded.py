"""`kselect compare` on recorded pairs of runs of one program, which took no turns."""

import csv
import gzip
import json
from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path

import pytest
from conftest import ROOT

TRIALS = sorted(ROOT.glob("results/*/trials_apart"))


def pairs(record: Path) -> list[tuple[Path, Path]]:
    """The two runs of each trial, in order."""
    with (record / "trials.csv").open() as lines:
        numbers = [line["trial"] for line in csv.DictReader(lines)]
    return [(record / f"base-{number}", record / f"new-{number}") for number in numbers]


@pytest.fixture(params=TRIALS, ids=lambda path: path.parent.name)
def trials(request):
    """A record of trials."""
    return request.param


def test_there_are_twenty_trials_of_one_committed_program_some_on_a_loaded_machine(trials):
    with (trials / "trials.csv").open() as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) >= 20
    assert Counter(row["busy_programs"] == "0" for row in rows)[False] >= 5
    made = set()
    for pair in pairs(trials):
        for run in pair:
            meta = json.loads((run / "meta.json").read_text())
            made.add((meta["git"]["commit"], meta["git"]["dirty"], meta["build"]["flags"]))
    assert len(made) == 1 and not made.pop()[1]


@pytest.mark.slow
def test_no_pair_of_one_program_is_a_regression(kselect, trials):
    codes = Counter()
    for base, new in pairs(trials):
        for one, other in ((base, new), (new, base)):
            done = kselect("compare", one, other, check=None)
            codes[done.returncode] += 1
            assert ("this decides: kselect ab" in done.stdout) == (done.returncode == 3)
    assert set(codes) <= {0, 3}, codes


@pytest.mark.slow
def test_by_the_threshold_alone_some_would_be(kselect, trials):
    codes = [kselect("compare", *pair, "--strict", check=None).returncode for pair in pairs(trials)]
    assert f"{codes.count(1)} of {len(codes)}\nexit with 1" in (trials / "README.md").read_text()
    assert codes.count(1) >= 5


def times(run):
    """The times of a recorded run by what was measured: algorithm, sources, problem, input, how."""
    packed, meta = run / "runs.jsonl.gz", json.loads((run / "meta.json").read_text())
    found = {}
    for line in gzip.decompress(packed.read_bytes()).splitlines():
        record = json.loads(line)
        if time := record["time"]:
            what = [record["algorithm"]["name"], record["algorithm"]["source_hash"], record["problem"],
                    record["input"], record["executor"], record["threads"], time["clock"],
                    time.get("cache"), record.get("multiprocessors"),
                    meta["gpu"][0]["name"] if meta["gpu"] else meta["host"]["cpu"]]
            found[json.dumps(what)] = time
    return found


def test_the_limits_are_beyond_what_is_recorded_and_the_documents_say_it(trials):
    medians, fastest = [], []
    for runs in pairs(trials):
        base, new = map(times, runs)
        for one, other in ((base, new), (new, base)):
            for cell in one.keys() & other.keys():
                medians.append(one[cell]["median"] / other[cell]["median"])
                fastest.append(min(one[cell]["samples"]) / other[cell]["median"])
    told = (trials / "README.md").read_text()
    assert f"| median over median | {max(medians):,.0f} |" in told
    assert f"| fastest sample over median | {max(fastest):.1f} |" in told
    assert max(fastest) < 8


def test_cells_of_two_runs_on_one_gpu_differ_by_less_than_the_limit():
    by_cell = defaultdict(list)
    for journal in sorted(ROOT.glob("results/nvidia-*/*/runs.jsonl.gz")):
        if (journal.parent / "meta.json").exists():
            for cell, time in times(journal.parent).items():
                if time["clock"] == "cuda_event":
                    by_cell[cell].append(time["median"])
    changes = [max(a / b, b / a) for found in by_cell.values() for a, b in combinations(found, 2)]
    told = (ROOT / "docs" / "decisions" / "comparing.md").read_text()
    assert len(changes) > 900
    assert f"under results/ (more than 900 pairs) | {max(changes):.2f} of medians | 1.5 |" in told
    assert max(changes) < 1.5


@pytest.mark.parametrize("runs", [("goal_rivals", "goal_shapes")], ids=lambda runs: runs[0])
def test_recorded_runs_on_one_gpu_are_no_regression(kselect, runs):
    """Commits differ, but the sources of almost all their entries are equal."""
    first, second = (ROOT / "results" / "nvidia-h200" / name for name in runs)
    for one, other in ((first, second), (second, first)):
        told = kselect("compare", one, other, "--force", "--format", "json", check=None).stdout
        cells = json.loads(told)["cells"]
        assert sum(cell["ratio"] is not None for cell in cells) > 20
        assert not [cell for cell in cells if cell["verdict"] == "regression"]
