"""Says why a claim differs, from records alone.

Each claim may name experiments as causes (`[[experiment.claim.cause]]`), of these kinds:

    work             the counted work of both sides, from a run on fibers or results/counters.json
    multiprocessors  the same measure with the GPU confined to fewer multiprocessors
    again            the same measure on other cells, such as more rows
    step             the same problem with and without one step of an algorithm: `of` and `over`
    ceiling          both sides' shares of the read ceiling, and what the paper's number would need
    rounds           how the rounds of the deciding cell scatter
    stalls           what warps wait for, from results/MACHINE/RECORD/stalls.csv (`plots.stalls`)
    distances        the same measure with distances as slow as a card's memory: each query reads all n vectors of
                     `bytes` bytes at `bandwidth` GB/s

`record` names the run; without it the cells are those of the claim. `says` is what is varied, as a
noun; `noun` names it where `says` also has its value. Unless `where` says otherwise, a step and the work are of the deciding problem. Whether the
cause explains the difference follows from the numbers and is not in the list.
"""

import math
import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from plots.records import Record
from plots.reproduce.asked import Measured, in_words_of, number, place, power
from plots.reproduce.cause_stalls import told_stalls
from plots.reproduce.cells import Cells, Missing, Pair, choose, pairs
from plots.reproduce.library import Library, Source, longer
from plots.reproduce.manifest import Claim, Experiment, Table, size
from plots.reproduce.measures import measure
from plots.reproduce.older import Older
from plots.reproduce.searches import Search, in_words
from plots.reproduce.work import Work, work_of
from plots.words import digits

_WORK = (
    ("distances", "distances"),
    ("bytes_read", "bytes read"),
    ("bytes_written", "bytes written"),
    ("collectives", "warp collectives"),
    ("block_syncs", "barriers"),
    ("insert_steps", "steps of a warp in which a lane inserts"),
    ("queue_updates", "queue updates"),
    ("queue_merges", "queue merges"),
    ("passes", "passes"),
)
_SAME = 0.05  # two counts with a smaller relative difference explain nothing


@dataclass(frozen=True)
class Evidence:
    """The records that causes are read from."""

    library: Library
    work: Work = field(default_factory=dict)  # results/counters.json
    older: Older = field(default_factory=Older)

    def is_older(self, path: str, digest: str) -> bool:
        """Tell whether a run is in the list of records without provenance."""
        return self.older.reason(path, digest) is not None

    def records(self, cause: Table, source: Source) -> list[Record]:
        """Return the cells that a cause names; raises Missing if they are not recorded."""
        if "record" not in cause:
            return list(source.records)
        confined = cause.get("multiprocessors", 0)
        name = str(cause["record"])
        found = [r for r in self.library.cells(name) if r.multiprocessors == confined]
        if found and confined:
            # A processor's cells cannot be confined: those of the claim stand beside the GPU's.
            found += [r for r in source.records if r.executor == "cpu"]
        if not found:
            on = f" on {confined} multiprocessors" if confined else ""
            raise Missing(f"configs/{name}.json{on} is not yet recorded")
        return found


def causes_of(
    experiment: Experiment,
    claim: Claim,
    found: Measured,
    source: Source,
    evidence: Evidence,
    judged: Callable[[Measured], tuple[str, str]],
) -> tuple[str, ...]:
    """Return a sentence or two for each cause, and for what the deciding cells show themselves."""
    case = _Case(experiment, claim, found, source, evidence, judged)
    told = []
    for cause in claim.causes:
        try:
            told.append(_KINDS[str(cause["kind"])](case, cause))
        except Missing as missing:
            told.append(f"*Not shown yet:* {missing}.")
    told += [_of_search(search) for search in found.searches]
    if not found.pairs and not any(cause["kind"] == "rounds" for cause in claim.causes):
        told += _of_cells(found.cells)
    return tuple(dict.fromkeys(told))


@dataclass(frozen=True)
class _Case:
    """A difference to explain."""

    experiment: Experiment
    claim: Claim
    found: Measured
    source: Source
    evidence: Evidence
    judged: Callable[[Measured], tuple[str, str]]

    def pair(self) -> Pair:
        """Return the deciding comparison: the last one decides of a range, a change or a place."""
        if not self.found.pairs:
            raise Missing("the claim compares no two cells")
        if self.claim.ask.get("take") == "range":
            return max(self.found.pairs, key=lambda p: abs(math.log(self._gap(p.ratio or 1.0))))
        return self.found.pairs[-1]

    def _gap(self, value: float) -> float:
        return self.claim.published / value if self.claim.published else 1 / value

    def apart(self, value: float) -> float:
        """Return how far a number is from the paper's, as a factor of at least 1."""
        gap = self._gap(value)
        return max(gap, 1 / gap)


def _again(case: _Case, cause: Table) -> str:
    """Measure the claim on other cells and say how much of the difference they explain."""
    records = case.evidence.records(cause, case.source)
    other = replace(case.source, records=tuple(records))
    claim = case.claim
    over_where = cause.get("over_where")
    if over_where is not None:
        claim = replace(claim, ask={**claim.ask, "over_where": over_where})
    found = measure(case.experiment, claim, other, cause.get("where"))
    what = str(cause.get("says", "that"))
    value = _values(found)
    if cause["kind"] == "multiprocessors":
        part = re.search(r"(\d+ of \d+) multiprocessors$", records[0].run.gpu)
        used = part[1] if part else cause["multiprocessors"]
        text = f"Confined to {used} multiprocessors it is {value}"
        what = "the number of multiprocessors"
    else:
        text = f"With {what} it is {value}"
        what = str(cause.get("noun", what))
    other = _elsewhere(case, found) if cause["kind"] == "multiprocessors" else ""
    return f"{text} ({found.detail}): {_explains(case, found, what)}{other}."


def _elsewhere(case: _Case, found: Measured) -> str:
    """Say so if the claim's one problem was replaced by another, which may explain as much."""
    if case.claim.ask.get("take", "only") != "only" or case.claim.measure != "speed-up":
        return ""
    if case.found.pairs[0].at == found.pairs[0].at:
        return ""
    return f"; but the problem differs, too, from {place(case.found.pairs[0].at)}"


def _explains(case: _Case, found: Measured, what: str) -> str:
    before, _ = case.judged(case.found)
    after, why = case.judged(found)
    if after == "cannot test":
        return f"that {why}"
    if after == "reproduced":
        return f"within the band, so {what} makes the difference"
    if before == "contradicted" and after != before:
        return f"the paper's direction, so {what} turns it"
    if not case.claim.published or len(found.values) != len(case.found.values):
        return f"the verdict stays, so it is not {what} alone"
    was = case.apart(case.found.values[-1])
    now = case.apart(found.values[-1])
    gone = 1 - math.log(now) / math.log(was) if was > 1 else 0.0
    if gone > 0.1:
        return (
            f"a factor of {now:.3g} from the paper's instead of {was:.3g}, so {what} is a part of "
            "the difference"
        )
    return f"no nearer to the paper's, so it is not {what}"


def _step(case: _Case, cause: Table) -> str:
    """Compare a problem with and without one step."""
    pair = _compared(case, cause)
    assert pair.ratio is not None
    mine, other = pair.cell, pair.over
    text = (
        f"{_capital(str(cause.get('says', 'The step')))}: at {place(pair.at)} {other.algorithm} "
        f"takes {pair.ratio:.3g} times as long as {mine.algorithm}"
    )
    if case.claim.published and len(case.found.values) == 1:
        text += f"; the paper and we are a factor of {case.apart(case.found.values[0]):.3g} apart"
    return f"{text}."


def _compared(case: _Case, cause: Table) -> Pair:
    records = case.evidence.records(cause, case.source)
    where = cause.get("where")
    if where is None:
        n, q, k = case.pair().at
        where = {"n": n, "q": q, "k": k}
    context = f"{case.experiment.id}: cause of {case.claim.says!r}"
    mine = Cells(choose(records, where, context))
    theirs = Cells(choose(records, {**where, **cause.get("over_where", {})}, context))
    of, over = cause.get("of", ()), cause.get("over", ())
    found = [p for p in pairs(mine, theirs, of, over) if p.ratio]
    if not found:
        sides = f"{' or '.join(over)} beside {' or '.join(of)}"
        raise Missing(f"no record of {sides} at {in_words_of(where)}")
    take = max if cause.get("take", "most") == "most" else min
    return take(found, key=lambda p: p.ratio or 0.0)


def _work(case: _Case, cause: Table) -> str:
    """Compare the counted work of two algorithms at one n and k; a row's, so Q does not matter."""
    counted = case.evidence.work
    if "record" in cause:
        counted = work_of(case.evidence.records(cause, case.source))
    at = _counted_at(case, cause)
    mine = _first(cause.get("of"), case, 0, counted, at)
    other = _first(cause.get("over"), case, 1, counted, at)
    asked = cause.get("counters")
    ratios = {
        words: other[1][name] / mine[1][name]
        for name, words in _WORK
        if mine[1].get(name) and name in other[1] and (asked is None or name in asked)
    }
    telling = {words: r for words, r in ratios.items() if abs(r - 1) > _SAME}
    where = f"n = {power(at[0])}, k = {at[1]}"
    if not telling:
        same = " and ".join(ratios) or "counters"
        return f"Counted at {where}, {other[0]} and {mine[0]} have equal {same}: it is not these."
    parts = [f"{ratio:.3g} times the {words}" for words, ratio in telling.items()]
    listed = ", ".join(parts[:-1]) + (" and " if len(parts) > 1 else "") + parts[-1]
    says = f" {_capital(str(cause['says']))}." if "says" in cause else ""
    return f"Counted at {where}, {other[0]} has {listed} of {mine[0]}.{says}"


def _counted_at(case: _Case, cause: Table) -> tuple[int, int]:
    where = cause.get("where", {})
    if "n" in where and "k" in where:
        return size(where["n"], "n"), size(where["k"], "k")
    n, _, k = case.pair().at
    return n, k


def _first(
    names: Sequence[str] | None, case: _Case, side: int, counted: Work, at: tuple[int, int]
) -> tuple[str, Mapping[str, float]]:
    """Return the first of the names that has counts at this problem; the pair's own by default."""
    if names is None:
        pair = case.pair()
        names = [(pair.cell, pair.over)[side].algorithm]
    for name in names:
        if at in counted.get(name, {}):
            return name, counted[name][at]
    raise Missing(f"no work of {' or '.join(names)} is counted at n = {power(at[0])}, k = {at[1]}")


def _ceiling(case: _Case, cause: Table) -> str:
    del cause
    pair = case.pair()
    mine, other = pair.cell.floor, pair.over.floor
    if not mine or not other:
        raise Missing("the record has no shares of the read ceiling")
    text = (
        f"At {place(pair.at)} {pair.cell.algorithm} moves its least bytes at "
        f"{_percent(mine.share)} of the {mine.ceiling.replace('_', ' ')} ceiling and "
        f"{pair.over.algorithm} at {_percent(other.share)}"
    )
    if not case.claim.published or not pair.ratio or case.claim.measure != "speed-up":
        return f"{text}."
    due = mine.share * case.claim.published / pair.ratio
    beyond = ", more than the memory gives" if due > 1 else ""
    return (
        f"{text}; {case.claim.published:g} times this baseline would be {_percent(due)} of the "
        f"ceiling{beyond}."
    )


def _rounds(case: _Case, cause: Table) -> str:
    del cause
    cell = next((c for c in case.found.cells if c.time and len(c.time.rounds) > 9), None)
    if cell is None or cell.time is None:
        raise Missing("the record has no rounds")
    rounds = cell.time.rounds
    middle = statistics.median(rounds)
    near = [r for r in rounds if abs(r / middle - 1) <= 0.05]
    far = len(rounds) - len(near)
    rest = statistics.stdev(near) / statistics.fmean(near)
    return (
        f"Of the {len(rounds)} rounds at {place((cell.n, cell.q, cell.k))} {far} are more than 5 % "
        f"from the median of {middle / 1e3:.4g} µs (least {min(rounds) / 1e3:.4g}, most "
        f"{max(rounds) / 1e3:.4g}); without them the deviation is {100 * rest:.2g} %."
    )


def _distances(case: _Case, cause: Table) -> str:
    rate = float(cause["bytes"]) / float(cause["bandwidth"])  # ns a distance

    def slower(record: Record) -> Record:  # its time includes that of its own distances
        own = record.inputs.distances if record.inputs is not None else None
        return record if own is None else longer(record, record.n * record.q * rate - own)

    found = measure(case.experiment, case.claim, replace(case.source, records=tuple(map(slower, case.source.records))))
    says = str(cause["says"])
    value = number(case.claim, found)
    return f"With {says} it would be {value} ({found.detail}): {_explains(case, found, 'their speed')}."


def _stalls(case: _Case, cause: Table) -> str:
    where = cause.get("where")
    if where is None:
        n, q, k = case.pair().at
        where = {"n": n, "q": q, "k": k}
    return told_stalls(case.source.machine, cause, where)


_KINDS: dict[str, Callable[[_Case, Table], str]] = {
    "work": _work,
    "multiprocessors": _again,
    "again": _again,
    "step": _step,
    "ceiling": _ceiling,
    "rounds": _rounds,
    "stalls": _stalls,
    "distances": _distances,
}


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _values(found: Measured) -> str:
    return " to ".join(digits(value, 3) for value in found.values)


def _of_search(search: Search) -> str:
    parts = []
    if "time" in search.values:
        kernels = f", {search.values['kernels'] / 1e6:.4g} ms of kernels" if "kernels" in search.values else ""
        parts.append(f"{search.values['time'] / 1e6:.4g} ms for all queries{kernels}")
    for name, words in (("distances", "distances"), ("bytes", "bytes read and written")):
        if name in search.values:
            parts.append(f"{digits(search.values[name], 4)} {words} a query")
    of = f", counted on {search.queries} queries" if search.traits["executor"] == "fiber" else ""
    return f"{in_words(search)}: {', '.join(parts)}{of}."


def _of_cells(cells: Sequence[Record]) -> list[str]:
    sentences = []
    for cell in cells:
        at = f"At {place((cell.n, cell.q, cell.k))} {cell.algorithm}"
        if cell.queue_updates:
            inserts = cell.counters.get("queue_inserts")
            each = f", {sum(cell.queue_updates) / inserts:.3g} an insertion" if inserts else ""
            count = sum(cell.queue_updates) / cell.q
            sentences.append(f"{at} makes {digits(count, 4)} updates a query{each}.")
        elif cell.time:
            sentences.append(f"{at} takes {cell.time.median / cell.q / 1e3:.4g} µs a query.")
    return sentences
