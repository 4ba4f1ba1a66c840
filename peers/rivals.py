"""Times kselect and the selections of other libraries in one run, problem by problem in turns.

    python -m peers.rivals configs/goal.json --out results/MACHINE/goal_rivals

For each problem of a config first kselect measures its own algorithms, then the rivals take turns: each is proven, then one
sample a round in rotating order, then proven again. A rival that is not installed is named and left out. One that breaks the
GPU's context, or gives no answer within --patience, costs itself the problem, and the rest goes on in a new process. All
records are in one run; meta.json's `rivals` has the versions. After an interruption the same command goes on.
scripts/rivals.sh installs the rivals and calls this.

    --checkout NAME=DIR           compiles a rival from its sources: rtopk, bits-knn, raft
    --filter goal:'*/k=256/*'     a part of a config
    --call NAME=MODULE:FUNCTION   a rival of your own: FUNCTION(rows, k, largest) gives values and indices, Q x k each

`rows` is a torch tensor on the GPU, or a numpy array with --device cpu.
"""

import argparse
import json
import math
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from peers import program, recorded
from peers.callables import Rival, available, named_call
from peers.from_checkout import folders_of
from peers.patience import LATE, Patience
from plots.errors import PlotError

_TITLE = re.compile(
    r"(?P<dtype>\w+)/(?P<direction>smallest|largest)/Q=(?P<q>\d+)/n=(?P<n>\d+)/k=(?P<k>\d+)/"
    r"(?P<payload>\w+)(?P<index>(?::int64)?)/(?P<layout>\w+)(?P<more>\S*?)/(?P<workload>\w+(?:\([^)]*\))?)#"
    r"(?P<seed>\d+)(?:/(?P<lengths>(?!columns|elements)\w+(?:\([^)]*\))?))?(?:/(?P<mask>(?:columns|elements)\([^)]*\)))?"
)
_PLACES = re.compile(r"/lengths:int32|/mask:columns|/mask:elements:pitch=\d+")  # whose values end a title
_PARTS = "parts"  # folder of what a run is made from, until it is complete
_BROKE = "it broke the GPU's context: "
_MOST_BREAKS = 2  # by one rival, each of which costs a new process


class Broken(Exception):  # noqa: N818 - not an error of this program
    """A rival after which the device does no more work for this process."""

    def __init__(self, rival: Rival, reason: str) -> None:
        """Keep who it was, and why."""
        super().__init__(f"{rival.facts.name}: {reason}")
        self.rival, self.reason = rival, reason


@dataclass(frozen=True)
class Scope:
    """What of a config is measured, and how."""

    cells: str = ""  # a glob, as `kselect run --filter` takes it
    own_first: bool = False  # kselect measures all problems in one process, before the rivals
    seconds: float = math.inf  # after which no further problem begins
    patience: float = 300  # seconds for a call of a rival, of which the first may compile


def problems_of(listing: str) -> dict[str, Any]:
    """Return the problems of `kselect run --dry-run` by title, with the members that a record has."""
    found: dict[str, Any] = {}
    for match in _TITLE.finditer(listing):
        if more := match["index"] + _PLACES.sub("", match["more"]):
            raise SystemExit(f"peers.rivals: {match[0]}: {more[1:]} is not asked for here; leave such cells out by --filter")
        sizes = {name: int(match[name]) for name in ("n", "q", "k", "seed")}
        words = {name: match[name] for name in ("dtype", "direction", "payload", "layout", "workload")}
        places = {name: match[name] or "" for name in ("lengths", "mask")}
        found.setdefault(match[0], SimpleNamespace(**words, **sizes, **places))
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
    if problem.lengths and rival.ragged is None:
        return "rows of lengths of their own are not supported"
    if problem.lengths.startswith("file"):
        return f"lengths {problem.lengths} are not asked for here"
    if problem.lengths and problem.workload.startswith("inf_fraction"):
        return "masks stand for lengths here, by infinities, which rows then must not have"
    if problem.mask and rival.masked is None:
        return "masks are not supported"
    if problem.mask and problem.lengths:
        return "masks of rows of lengths of their own are not asked for here"
    if problem.mask and problem.workload.startswith("inf_fraction"):
        return "infinities stand for what a mask leaves out here, so rows must not have them"
    if problem.payload not in rival.payloads(problem):
        return f"payload {problem.payload} is not supported"
    if problem.dtype not in rival.dtypes:
        return f"dtype {problem.dtype} is not supported"
    if problem.direction not in rival.directions:
        return f"it selects the {rival.directions[0]} elements alone"
    return rival.excluded(problem.n, problem.k)


def turns(rivals: Sequence[Rival], problem: Any, patience: Patience | None = None) -> list[str]:
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
            outcomes |= _measured(taking, problem, Path(folder), patience)
    elapsed = (time.monotonic() - clock) / max(1, len(rivals))
    return [recorded.line(r, problem, started, elapsed, *outcomes[r.facts.name]) for r in rivals]


def _measured(
    taking: Sequence[Rival], problem: Any, folder: Path, patience: Patience | None
) -> dict[str, tuple[str, str, list[float]]]:
    file = program.generate_rows(problem, folder)
    rows = taking[0].rows(np.load(file), problem.dtype)  # all have the same memory
    given = (rows, problem)
    if problem.lengths:
        given = (rows, problem, taking[0].rows(np.load(program.lengths_beside(file)), "int32"))
    if problem.mask:
        given = (rows, problem, None, taking[0].rows(np.load(program.mask_beside(file)) == 0, "bool"))
    outcomes: dict[str, tuple[str, str, list[float]]] = {}

    def tried(rival: Rival, work: Any) -> Any:
        with patience.limit(rival.facts.name, folder) if patience else nullcontext():
            return _tried(rival, lambda: work(*given), outcomes)

    _prove_all(file, problem, {r: tried(r, r.select) for r in taking}, outcomes)
    left = [rival for rival in taking if rival.facts.name not in outcomes]
    samples: dict[str, list[float]] = {rival.facts.name: [] for rival in left}
    last: dict[Rival, Any] = {}
    for number in range(recorded.ROUNDS):
        at = number % max(1, len(left))
        for rival in [*left[at:], *left[:at]]:
            if rival.facts.name in outcomes:
                continue
            timed = tried(rival, rival.timed)
            if timed is not None:
                samples[rival.facts.name].append(timed[1])
                last[rival] = timed[0] if number == recorded.ROUNDS - 1 else None
    _prove_all(file, problem, {r: a for r, a in last.items() if r.facts.name not in outcomes}, outcomes)
    for rival in left:
        outcomes.setdefault(rival.facts.name, ("ok", "", samples[rival.facts.name]))
    return outcomes


def _prove_all(
    file: Path, problem: Any, answers: dict[Rival, Any], outcomes: dict[str, tuple[str, str, list[float]]]
) -> None:
    """Prove the answers at the same time; what is wrong with one is its rival's outcome. None: it has an outcome."""
    facts = {
        "largest": problem.direction == "largest", "bfloat16": problem.dtype == "bfloat16",
        "ragged": bool(problem.lengths), "masked": bool(problem.mask),
    }  # fmt: skip
    with ThreadPoolExecutor(max_workers=max(1, (os.cpu_count() or 1) // 2)) as pool:
        proofs: dict[str, Future[str | None]] = {}
        for rival, answer in answers.items():
            if answer is None:
                continue
            try:
                proofs[rival.facts.name] = pool.submit(program.disprove, file, *rival.on_host(answer, problem.payload), **facts)
            except (ValueError, TypeError, AttributeError) as e:
                outcomes[rival.facts.name] = ("wrong", f"its answer cannot be read: {e}", [])
        for name, proof in proofs.items():
            wrong = proof.result()
            if wrong:
                outcomes[name] = ("wrong", wrong, [])


def _tried(rival: Rival, work: Any, outcomes: dict[str, tuple[str, str, list[float]]]) -> Any:
    """Return what `work` gives; None, with an outcome, if the rival raises. Raises Broken if no other can go on."""
    try:
        given = work()
        rival.wait()
    except Exception as e:  # noqa: BLE001 - what a rival raises costs that rival this problem alone
        outcomes[rival.facts.name] = recorded.failed(e)
        try:
            rival.wait()
        except Exception:  # noqa: BLE001 - whatever it is, the device works no more
            raise Broken(rival, _BROKE + outcomes[rival.facts.name][1]) from None
        return None
    return given


def run(config: Path, out: Path, rivals: Sequence[Rival], scope: Scope | None = None) -> None:
    """Measure a config; write the run directory `out`. Raises Broken if it must go on in a new process."""
    scope = scope or Scope()
    parts, began = out / _PARTS, time.monotonic()
    if (out / "meta.json").exists():
        raise SystemExit(f"peers.rivals: {out}: already has a run; name another folder")
    parts.mkdir(parents=True, exist_ok=True)
    only = ("--filter", scope.cells) if scope.cells else ()
    titles = problems_of(program.kselect("run", config, "--dry-run", *only).stdout)
    if not titles:
        raise SystemExit(f"peers.rivals: {config}: plans no cell here")
    if scope.own_first:
        _own(config, parts, only)
    for number, (title, problem) in enumerate(titles.items(), 1):
        if time.monotonic() - began > scope.seconds:
            print(f"peers.rivals: {scope.seconds:g} s are over before problem {number}; the rest is left out", file=sys.stderr)
            break
        print(f"problem {number} of {len(titles)}: {title}", file=sys.stderr)
        if not scope.own_first:
            _own(config, parts, ("--filter", filter_of(title)))
        _take(parts / "rivals.jsonl", rivals, title, problem, scope.patience)
    _join(parts, out, rivals)


def _own(config: Path, parts: Path, only: Sequence[str]) -> None:
    """Let kselect measure its own cells."""
    program.kselect("run", config, *only, "--out", parts / "own", "--resume", fine=(program.FAILED_CELLS,))


def _take(journal: Path, rivals: Sequence[Rival], title: str, problem: Any, patience: float) -> None:
    """Let the rivals that an interrupted run has not measured on a problem take their turns; add their lines."""
    done, breaks = _done(journal)
    waiting = [rival for rival in rivals if (title, rival.facts.name) not in done]
    lines = [
        recorded.line(r, problem, datetime.now(UTC), 0.0, "error", f"not called: {_BROKE}or gave no answer, {_MOST_BREAKS} times", [])
        for r in waiting
        if breaks.get(r.facts.name, 0) >= _MOST_BREAKS
    ]
    waiting = [rival for rival in waiting if breaks.get(rival.facts.name, 0) < _MOST_BREAKS]
    broken = None

    def give_up(name: str, reason: str) -> None:
        late = next(rival for rival in waiting if rival.facts.name == name)
        with journal.open("a") as file:
            file.write(recorded.line(late, problem, datetime.now(UTC), 0.0, "error", reason, []))

    try:
        lines += turns(waiting, problem, Patience(patience, give_up))
    except Broken as e:
        broken = e
        lines.append(recorded.line(e.rival, problem, datetime.now(UTC), 0.0, "error", e.reason, []))
    with journal.open("a") as file:
        file.write("".join(lines))
    if broken is not None:
        raise broken


def _done(journal: Path) -> tuple[set[tuple[str, str]], dict[str, int]]:
    """Return problems and rivals that an interrupted run has already, and how often each rival broke the device.

    A torn last line is cut off.
    """
    found: set[tuple[str, str]] = set()
    breaks: dict[str, int] = {}
    if not journal.exists():
        return found, breaks
    text = journal.read_text()
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        journal.write_text(whole)
    for line in whole.splitlines():
        value = json.loads(line)
        p, name = value["problem"], value["algorithm"]["name"]
        found.add((_title_of(p), name))
        breaks[name] = breaks.get(name, 0) + value["reason"].startswith((_BROKE, LATE))
    return found, breaks


def _title_of(p: dict[str, Any]) -> str:
    """Return the title that a plan gives the problem of a record."""
    mask = p.get("mask", "")
    bits = f"/mask:elements:pitch={(p['n'] + 31) // 32}" if mask.startswith("elements") else "/mask:columns" if mask else ""
    return (
        f"{p['dtype']}/{p['direction']}/Q={p['q']}/n={p['n']}/k={p['k']}/{p['payload']}/{p['layout']}"
        f"{'/lengths:int32' if 'lengths' in p else ''}{bits}/{p['distribution']}#{p['seed']}"
        f"{'/' + p['lengths'] if 'lengths' in p else ''}{'/' + mask if mask else ''}"
    )


def _join(parts: Path, out: Path, rivals: Sequence[Rival]) -> None:
    """Make one run of kselect's records and the rivals'."""
    meta = json.loads((parts / "own" / "meta.json").read_text())
    meta |= {"run": out.name, "arguments": recorded.command_line(), "state": "complete"}
    meta["rivals"] = [{"name": r.facts.name, "source": r.facts.source} for r in rivals]
    own = (parts / "own" / "runs.jsonl").read_bytes()
    theirs = parts / "rivals.jsonl"
    (out / "runs.jsonl").write_bytes(own + (theirs.read_bytes() if theirs.exists() else b""))
    recorded.write_meta(out, meta)
    shutil.rmtree(parts)


def _seconds(text: str) -> float:
    """Return a number of seconds; argparse names a wrong one."""
    if not 0 < (seconds := float(text)) < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is no number of seconds above 0")
    return seconds


def options_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    add = parser.add_argument
    add("configs", type=Path, nargs="+", metavar="config")
    add("--out", type=Path, required=True, help="run directory to write; of several configs, a folder for their NAME_rivals")
    add("--device", choices=("cuda", "cpu"), default="cuda", help="(%(default)s)")
    add("--rivals", default="", metavar="NAMES", help="only these, by commas (default: all that can be had)")
    add("--call", action="append", default=[], metavar="NAME=MODULE:FUNCTION", help="one more rival")
    add("--checkout", action="append", default=[], metavar="NAME=DIR", help="a rival's sources (peers/from_checkout.py)")
    add("--filter", action="append", default=[], metavar="[CONFIG:]GLOB",
        help="only cells that match, as `kselect run --filter` takes it; of all configs, or of that name")  # fmt: skip
    add("--own-first", action="store_true", help="kselect measures all of a config in one process, before the rivals")
    add("--seconds", type=float, default=math.inf, help="begin no further problem after so long, and end the runs")
    add("--patience", type=_seconds, default=Scope.patience, metavar="SECONDS",
        help="a call of a rival may take so long, its first with what it compiles (%(default)g)")  # fmt: skip
    return parser.parse_args(arguments)


def rivals_of(options: argparse.Namespace) -> list[Rival]:
    """Return the rivals that are asked for; say which are left out. Ends the program if none can be had."""
    wanted = [name for name in options.rivals.split(",") if name]
    if options.checkout and options.device != "cuda":
        raise SystemExit("peers.rivals: rivals of --checkout run on a GPU; use --device cuda")
    out = options.out.resolve()
    built = (out if len(options.configs) > 1 else out.parent) / "built"
    rivals, missing = available(options.device, wanted, folders_of(options.checkout), built)
    rivals += [named_call(text, options.device) for text in options.call]
    for name, why in missing.items():
        print(f"peers.rivals: left out {name}: {why}", file=sys.stderr)
    if not rivals:
        raise SystemExit("peers.rivals: no rival can be had here; scripts/rivals.sh installs them")
    return rivals


def filters_of(options: Sequence[str], configs: Sequence[Path]) -> dict[str, str]:
    """Return the globs of --filter by the configs' names; the last of a name counts."""
    names = [config.stem for config in configs]
    found: dict[str, str] = {}
    for option in options:
        name, colon, glob = option.partition(":")
        if not colon:
            found |= dict.fromkeys(names, option)
        elif name in names:
            found[name] = glob
        else:
            raise SystemExit(f"peers.rivals: --filter {option}: no config is called {name!r}; there are {', '.join(names)}")
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line and run."""
    options = options_of(arguments)
    globs = filters_of(options.filter, options.configs)
    rivals, began = rivals_of(options), time.monotonic()
    several = len(options.configs) > 1
    try:
        for config in options.configs:
            out = options.out / f"{config.stem}_rivals" if several else options.out
            if several and (out / "meta.json").exists():
                continue
            left = options.seconds - (time.monotonic() - began)
            if several and left < 0 and not (out / _PARTS / "rivals.jsonl").exists():  # what was begun is ended
                print(f"peers.rivals: no time is left for {config}", file=sys.stderr)
                continue
            run(config, out, rivals, Scope(globs.get(config.stem, ""), options.own_first, left, options.patience))
    except Broken as e:
        print(f"peers.rivals: {e}; going on in a new process", file=sys.stderr, flush=True)
        os.execv(sys.executable, sys.orig_argv)
    except PlotError as problem:
        raise SystemExit(f"peers.rivals: {problem}") from None


if __name__ == "__main__":
    main()
