"""Times kselect and the selections of other libraries in one run, problem by problem in turns.

    python -m peers.rivals configs/goal.json --out results/MACHINE/goal_rivals

For each problem of a config first kselect measures its own algorithms, then the rivals take turns: each is proven, then one
sample a round in rotating order, then proven again. A rival that is not installed is named and left out. All records are in
one run; meta.json's `rivals` has the versions. After an interruption the same command goes on. scripts/rivals.sh installs the
rivals and calls this.

    --checkout NAME=DIR           compiles a rival that no registry has from its sources: rtopk, bits-knn
    --call NAME=MODULE:FUNCTION   a rival of your own: FUNCTION(rows, k, largest) gives values and indices, Q x k each

`rows` is a torch tensor on the GPU, or a numpy array with --device cpu.
"""

import argparse
import json
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from peers import program, recorded
from peers.callables import Rival, available, named_call
from peers.from_checkout import folders_of
from plots.errors import PlotError

_TITLE = re.compile(
    r"(?P<dtype>\w+)/(?P<direction>smallest|largest)/Q=(?P<q>\d+)/n=(?P<n>\d+)/k=(?P<k>\d+)/"
    r"(?P<payload>\w+)/(?P<layout>\w+)/(?P<workload>\S+)#(?P<seed>\d+)"
)
_PARTS = "parts"  # folder of what a run is made from, until it is complete


def problems_of(listing: str) -> dict[str, Any]:
    """Return the problems of `kselect run --dry-run` by title, with the members that a record has."""
    found: dict[str, Any] = {}
    for match in _TITLE.finditer(listing):
        sizes = {name: int(match[name]) for name in ("n", "q", "k", "seed")}
        words = {name: match[name] for name in ("dtype", "direction", "payload", "layout", "workload")}
        found.setdefault(match[0], SimpleNamespace(**words, **sizes))
    return found


def filter_of(title: str) -> str:
    """Return the filter that matches the cells of one problem alone."""
    return " " + re.sub(r"([.*+?^${}()|\[\]\\])", r"\\\1", title) + "$"


def why_not(rival: Rival, problem: Any) -> str:
    """Return why a rival is not given a problem; empty if it is."""
    if problem.layout != "row_major":
        return f"layout {problem.layout} is not asked for here"
    if problem.workload.startswith(("nan_fraction", "external")):
        return f"distribution {problem.workload} is not asked for here"
    if problem.payload != "values_and_indices":
        return f"payload {problem.payload} is not supported"
    if problem.dtype not in rival.dtypes:
        return f"dtype {problem.dtype} is not supported"
    if problem.direction not in rival.directions:
        return f"it selects the {rival.directions[0]} elements alone"
    return rival.excluded(problem.n, problem.k)


def turns(rivals: Sequence[Rival], problem: Any) -> list[str]:
    """Prove and time the rivals on one problem in turns; return their lines for runs.jsonl."""
    started, clock = datetime.now(UTC), time.monotonic()
    outcomes: dict[str, tuple[str, str, list[float]]] = {}
    taking = []
    for rival in rivals:
        reason = why_not(rival, problem)
        if reason:
            outcomes[rival.facts.name] = ("unsupported", reason, [])
        else:
            taking.append(rival)
    if taking:
        with tempfile.TemporaryDirectory() as folder:
            outcomes |= _measured(taking, problem, Path(folder))
    elapsed = (time.monotonic() - clock) / max(1, len(rivals))
    return [recorded.line(r, problem, started, elapsed, *outcomes[r.facts.name]) for r in rivals]


def _measured(
    taking: Sequence[Rival], problem: Any, folder: Path
) -> dict[str, tuple[str, str, list[float]]]:
    file = program.generate_rows(problem, folder)
    rows = taking[0].rows(np.load(file))  # all have the same memory
    outcomes: dict[str, tuple[str, str, list[float]]] = {}

    def proven(rival: Rival, answer: Any) -> bool:
        largest = problem.direction == "largest"
        try:
            wrong = program.disprove(file, *rival.on_host(answer), largest=largest)
        except (ValueError, TypeError, AttributeError) as e:
            wrong = f"its answer cannot be read: {e}"
        if wrong:
            outcomes[rival.facts.name] = ("wrong", wrong, [])
        return wrong is None

    left = []
    for rival in taking:
        answer = _tried(rival, lambda r=rival: r.select(rows, problem), outcomes)
        if answer is not None and proven(rival, answer):
            left.append(rival)
    samples: dict[str, list[float]] = {rival.facts.name: [] for rival in left}
    for number in range(recorded.ROUNDS):
        at = number % max(1, len(left))
        for rival in [*left[at:], *left[:at]]:
            if rival.facts.name in outcomes:
                continue
            timed = _tried(rival, lambda r=rival: r.timed(rows, problem), outcomes)
            if timed is None:
                continue
            samples[rival.facts.name].append(timed[1])
            if number == recorded.ROUNDS - 1:
                proven(rival, timed[0])
    for rival in left:
        outcomes.setdefault(rival.facts.name, ("ok", "", samples[rival.facts.name]))
    return outcomes


def _tried(rival: Rival, work: Any, outcomes: dict[str, tuple[str, str, list[float]]]) -> Any:
    """Return what `work` gives; None, with an outcome, if the rival raises."""
    try:
        return work()
    except Exception as e:  # noqa: BLE001 - what a rival raises costs that rival this problem alone
        first = (str(e).strip().splitlines() or [""])[0]
        status = "out_of_memory" if "out of memory" in str(e).lower() else "error"
        outcomes[rival.facts.name] = (status, f"{type(e).__name__}: {first}"[:300], [])
        return None


def run(config: Path, out: Path, rivals: Sequence[Rival]) -> None:
    """Measure a config; write the run directory `out`."""
    parts = out / _PARTS
    if (out / "meta.json").exists():
        raise SystemExit(f"peers.rivals: {out}: already has a run; name another folder")
    parts.mkdir(parents=True, exist_ok=True)
    titles = problems_of(program.kselect("run", config, "--dry-run").stdout)
    if not titles:
        raise SystemExit(f"peers.rivals: {config}: plans no cell here")
    journal = parts / "rivals.jsonl"
    done = _done(journal)
    for number, (title, problem) in enumerate(titles.items(), 1):
        print(f"problem {number} of {len(titles)}: {title}", file=sys.stderr)
        arguments = ("run", config, "--filter", filter_of(title), "--out", parts / "own", "--resume")
        program.kselect(*arguments, fine=(program.FAILED_CELLS,))
        waiting = [rival for rival in rivals if (title, rival.facts.name) not in done]
        lines = turns(waiting, problem)
        with journal.open("a") as file:
            file.write("".join(lines))
    _join(parts, out, rivals)


def _done(journal: Path) -> set[tuple[str, str]]:
    """Return problems and rivals that an interrupted run has already; a torn last line is cut off."""
    if not journal.exists():
        return set()
    text = journal.read_text()
    whole = text[: text.rfind("\n") + 1]
    journal.write_text(whole)
    found = set()
    for line in whole.splitlines():
        value = json.loads(line)
        p = value["problem"]
        title = (
            f"{p['dtype']}/{p['direction']}/Q={p['q']}/n={p['n']}/k={p['k']}/{p['payload']}/"
            f"{p['layout']}/{p['distribution']}#{p['seed']}"
        )
        found.add((title, value["algorithm"]["name"]))
    return found


def _join(parts: Path, out: Path, rivals: Sequence[Rival]) -> None:
    """Make one run of kselect's records and the rivals'."""
    meta = json.loads((parts / "own" / "meta.json").read_text())
    meta |= {"run": out.name, "arguments": sys.argv, "state": "complete"}
    meta["rivals"] = [{"name": r.facts.name, "source": r.facts.source} for r in rivals]
    own = (parts / "own" / "runs.jsonl").read_bytes()
    (out / "runs.jsonl").write_bytes(own + (parts / "rivals.jsonl").read_bytes())
    (out / "meta.json").write_text(json.dumps(meta, indent=2) + "\n")
    shutil.rmtree(parts)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add = parser.add_argument
    add("config", type=Path)
    add("--out", type=Path, required=True, help="run directory to write")
    add("--device", choices=("cuda", "cpu"), default="cuda", help="(%(default)s)")
    add("--rivals", default="", metavar="NAMES", help="only these, by commas (default: all that can be had)")
    add("--call", action="append", default=[], metavar="NAME=MODULE:FUNCTION", help="one more rival")
    add("--checkout", action="append", default=[], metavar="NAME=DIR", help="a rival's sources (peers/from_checkout.py)")
    options = parser.parse_args(arguments)
    wanted = [name for name in options.rivals.split(",") if name]
    if options.checkout and options.device != "cuda":
        raise SystemExit("peers.rivals: rivals of --checkout run on a GPU; use --device cuda")
    built = options.out.resolve().parent / "built"
    rivals, missing = available(options.device, wanted, folders_of(options.checkout), built)
    rivals += [named_call(text, options.device) for text in options.call]
    for name, why in missing.items():
        print(f"peers.rivals: left out {name}: {why}", file=sys.stderr)
    if not rivals:
        raise SystemExit("peers.rivals: no rival can be had here; scripts/rivals.sh installs them")
    try:
        run(options.config, options.out, rivals)
    except PlotError as problem:
        raise SystemExit(f"peers.rivals: {problem}") from None


if __name__ == "__main__":
    main()
