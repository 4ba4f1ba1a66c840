"""Tests claims against the measurements, and names a recorded cause if a claim does not hold.

A cause comes only from records: the share of the read ceiling of both sides, and their counted
work. If the record has no counted work, that of the same kernels in results/counters.json is used,
on the problem nearest in k and n. The list of experiments may add an explanation, which is printed
as such. Without record and explanation, the sentence says that the cause is unknown.
"""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from plots.errors import Failure, PlotError
from plots.records import Record
from plots.reproduce.cells import Missing, Pair
from plots.reproduce.library import Source
from plots.reproduce.manifest import Claim, Experiment
from plots.reproduce.measures import Measured, measure, place
from plots.reproduce.searches import Search, in_words

Verdict = Literal["pass", "differs", "cannot test"]
Work = Mapping[str, Mapping[str, Mapping[str, int]]]  # counters by algorithm, by problem
_WORK = (
    ("bytes_read", "bytes read"),
    ("bytes_written", "bytes written"),
    ("collectives", "warp collectives"),
    ("block_syncs", "barriers"),
    ("queue_updates", "queue updates"),
    ("queue_merges", "queue merges"),
)
_SAME = 0.05  # two counts with a smaller relative difference explain nothing
_RATIOS = ("speed-up", "place", "change", "flatness", "updates-ratio", "updates-growth", "searches")


@dataclass(frozen=True)
class Tested:
    """The outcome of one claim on one machine."""

    experiment: Experiment
    claim: Claim
    machine: str  # "" if there is no record
    verdict: Verdict
    ours: str
    why: str  # the cause if it "differs"; the missing part if "cannot test"


def test(experiment: Experiment, claim: Claim, source: Source, work: Work) -> Tested:
    """Test a claim on one source."""
    if not claim.measure:
        needs = f"needs {experiment.needs}" if experiment.needs else "nothing measures it"
        return Tested(experiment, claim, source.machine, "cannot test", "", needs)
    try:
        found = measure(experiment, claim, source)
    except Missing as missing:
        return Tested(experiment, claim, source.machine, "cannot test", "", str(missing))
    meets = expectation(claim.expect, f"{experiment.id}: claim {claim.says!r}")
    ours = f"{_number(claim, found)} ({found.detail})"
    if all(meets(value) for value in found.values):
        return Tested(experiment, claim, source.machine, "pass", ours, "")
    return Tested(
        experiment, claim, source.machine, "differs", ours, cause(claim, found, source, work)
    )


def untested(experiment: Experiment, claim: Claim, why: str) -> Tested:
    """Return the outcome of a claim without a record."""
    return Tested(experiment, claim, "", "cannot test", "", why)


def expectation(text: str, context: str) -> Callable[[float], bool]:
    """Return the predicate for ">= 350", "< 1", "= 256" or "1 .. 2"."""
    if span := re.fullmatch(r"([\d.]+) \.\. ([\d.]+)", text):
        low, high = float(span[1]), float(span[2])
        return lambda value: low <= value <= high
    if bound := re.fullmatch(r"(>=|<=|>|<|=) ([\d.]+)", text):
        limit = float(bound[2])
        return {
            ">=": lambda value: value >= limit,
            "<=": lambda value: value <= limit,
            ">": lambda value: value > limit,
            "<": lambda value: value < limit,
            "=": lambda value: value == limit,
        }[bound[1]]
    raise PlotError(Failure.INPUT, f'{context}: expect = {text!r} is not like ">= 3" or "1 .. 2"')


def _number(claim: Claim, found: Measured) -> str:
    times = "×" if claim.measure in _RATIOS and claim.measure != "place" else ""
    if claim.ask.get("unit") == "%" or claim.measure in ("fastest", "updates-head", "variation"):
        return " to ".join(f"{value:.3g} %" for value in (100 * v for v in found.values))
    return " to ".join(f"{value:.4g}{times}" for value in found.values)


def cause(claim: Claim, found: Measured, source: Source, work: Work) -> str:
    """Return the recorded cause why a claim differs, in one or two sentences."""
    sentences = []
    limit = re.match(r"(?:>=|>) ([\d.]+)", claim.expect)
    for pair in dict.fromkeys(_deciding(claim, found)):
        wanted = float(limit[1]) if limit and claim.measure == "speed-up" else None
        if claim.measure == "fastest":
            sentences += _times(pair)
        sentences += _shares(pair, wanted)
    for pair in _apart(_deciding(claim, found)):
        sentences += _work_of(pair, work)
    sentences += [_of_search(search) for search in found.searches]
    if not found.pairs:
        sentences += _of_cells(found.cells, rounds=claim.measure == "spread")
    if claim.measure == "flattens" and source.runs[0].multiprocessors:
        sentences.append(f"This GPU has {source.runs[0].multiprocessors} multiprocessors.")
    if claim.explanation:
        sentences.append(f"*Explanation, not measured:* {claim.explanation}")
    if sentences:
        return " ".join(dict.fromkeys(sentences))
    return (
        "The record has neither shares of the read ceiling nor counters of these cells, "
        "so it does not show the cause; record it anew with this version."
    )


def _deciding(claim: Claim, found: Measured) -> list[Pair]:
    """Return the pairs to explain: of a speed-up those that miss the expectation, else all."""
    if claim.measure != "speed-up":
        return list(found.pairs)
    meets = expectation(claim.expect, claim.says)
    return [pair for pair in found.pairs if pair.ratio and not meets(pair.ratio)]


def _apart(found: Sequence[Pair]) -> list[Pair]:
    """Return the first pair, and the next one with another k: work is counted for few problems."""
    return [pair for i, pair in enumerate(found) if i == 0 or pair.at[2] != found[0].at[2]][:2]


def _times(pair: Pair) -> list[str]:
    mine, other = pair.cell.time, pair.over.time
    if mine is None or other is None:
        return []
    return [
        f"At {place(pair.at)} {pair.cell.algorithm} takes {mine.median / 1e6:.3g} ms and "
        f"{pair.over.algorithm} {other.median / 1e6:.3g} ms."
    ]


def _shares(pair: Pair, wanted: float | None) -> list[str]:
    mine, other = pair.cell.floor, pair.over.floor
    if not mine or not other:
        return []
    ceiling = mine.ceiling.replace("_", " ")
    text = (
        f"At {place(pair.at)} {pair.cell.algorithm} moves its least bytes at "
        f"{_percent(mine.share)} of the {ceiling} ceiling and {pair.over.algorithm} at "
        f"{_percent(other.share)}"
    )
    if wanted is None or wanted <= 1 or not pair.ratio:
        return [f"{text}."]
    # The share of the ceiling that the expected ratio over this baseline requires.
    due = mine.share * wanted / pair.ratio
    beyond = ", more than the memory gives" if due > 1 else ""
    return [
        f"{text}; {wanted:g} times this baseline would be {_percent(due)} of the ceiling{beyond}."
    ]


def _work_of(pair: Pair, work: Work) -> list[str]:
    mine, other = pair.cell.counters, pair.over.counters
    if mine and other:
        return _compare(pair, mine, other, f"at {place(pair.at)}")
    here = work.get(pair.cell.algorithm, {})
    there = work.get(pair.over.algorithm, {})
    # Algorithms prefer different layouts; the problem is the same.
    common = sorted(set(here) & set(there), key=lambda p: (_distance(p, pair), p))
    if not common:
        return []
    return _compare(pair, here[common[0]], there[common[0]], _on(common[0]))


def _distance(problem: str, pair: Pair) -> tuple[bool, float]:
    """Return a sort key by likeness to a pair's problem: uniform rows, then n and k (twice)."""
    n, _, k = pair.at
    far = 0.0
    for name, value, weight in (("n", n, 1), ("k", k, 2)):
        if size := _size(problem, name):
            far += weight * abs(math.log2(size / value))
    return "uniform" not in problem, far


def _size(problem: str, name: str) -> int:
    found = re.search(rf"(?:^|/){name}=(\d+)", problem)
    return int(found[1]) if found else 0


def _on(problem: str) -> str:
    """Return a counted problem in words; as it is if n, Q or k is missing."""
    at = _size(problem, "n"), _size(problem, "Q"), _size(problem, "k")
    return f"at {place(at)}" if all(at) else f"on {problem}"


def _compare(
    pair: Pair, mine: Mapping[str, int], other: Mapping[str, int], where: str
) -> list[str]:
    ratios = {
        words: other[name] / mine[name] for name, words in _WORK if mine.get(name) and name in other
    }
    if not ratios:
        return []
    of, by = pair.over.algorithm, pair.cell.algorithm
    telling = {words: ratio for words, ratio in ratios.items() if abs(ratio - 1) > _SAME}
    if not telling:
        same = " and ".join(ratios)
        return [f"Counted {where}, {of} and {by} have equal {same}, so it is not these."]
    parts = [f"{ratio:.3g} times the {words}" for words, ratio in telling.items()]
    return [f"Counted {where}, {of} has {' and '.join(parts)} of {by}."]


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _of_search(search: Search) -> str:
    parts = [f"{value:.4g} {name}" for name, value in search.values.items() if name != "throughput"]
    return f"{in_words(search)}: {', '.join(parts)} (time in ns of all queries, else a query)."


def _of_cells(cells: tuple[Record, ...], *, rounds: bool) -> list[str]:
    sentences = []
    for cell in cells:
        at = f"At {place((cell.n, cell.q, cell.k))} {cell.algorithm}"
        if cell.queue_updates:
            inserts = cell.counters.get("queue_inserts")
            each = f", {sum(cell.queue_updates) / inserts:.3g} an insertion" if inserts else ""
            sentences.append(
                f"{at} makes {sum(cell.queue_updates) / cell.q:.4g} updates a query{each}."
            )
        elif cell.floor and not rounds:
            sentences.append(
                f"{at} moves its least bytes at {_percent(cell.floor.share)} of the "
                f"{cell.floor.ceiling.replace('_', ' ')} ceiling."
            )
        elif cell.time and cell.time.rounds:
            low, high = min(cell.time.rounds), max(cell.time.rounds)
            sentences.append(f"{at} takes {low / 1e3:.5g} to {high / 1e3:.5g} µs a round.")
    return sentences


def read_work(path: Path) -> Work:
    """Read results/counters.json; {} if it does not exist."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
        found: dict[str, dict[str, dict[str, int]]] = {}
        for cell in value["cells"]:
            problem = re.sub(r"/(row|column)_major", "", cell["problem"])
            found.setdefault(cell["algorithm"], {})[problem] = cell["counters"]
        return found
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError) as e:
        raise PlotError(Failure.INPUT, f"{path}: no record of counted work: {e!r}") from e
