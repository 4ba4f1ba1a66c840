"""The measures that test claims: each turns an experiment's cells into numbers.

    speed-up        time of `over` / time of `of`; take: only, most, least or range
    place           the coordinate `along` an axis at which the mean speed-up is largest
    change          the speed-up at `to` over that at `from`, geometric mean over the other axes
    flatness        the largest ratio of two speed-ups that differ only `along` one axis
    variation       relative range of `of`'s times `along` one axis, mean over the other axes
    flattens        the least q whose time per query is within 10 % of that of the largest q
    fastest         the share of problems on which `of` beats each of `among`
    searches        `theirs` / `mine` of a quantity of searches (`searches`); take as in speed-up
    spread          the largest standard deviation / mean of a cell's rounds, each on other data
    updates-linear  R² of a straight line through the updates of each position
    updates-head    the share of the updates in the first quarter of the positions
    updates-ratio   updates of `of` / updates of `over`, for each k
    updates-growth  growth of `of`'s updates from k = `from` to `to` / growth of `over`'s

`of`, `over` and `among` are lists of names or globs; the fastest match counts. `over_where`
replaces parts of `where` for `over`, such as the payload. In "fastest", a glob of `of` is compared
with a glob of `among` queue by queue: `*` must match the same text in both.
"""

import fnmatch
import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from plots.errors import Failure, PlotError
from plots.records import Record
from plots.reproduce.cells import At, Cells, Missing, Pair, along, choose, coordinate, pairs
from plots.reproduce.library import Source
from plots.reproduce.manifest import Claim, Experiment, size
from plots.reproduce.searches import Search, compare, in_words
from plots.reproduce.tables import scatter

_FLAT = 1.1  # a curve is flat where it is at most this times its last value


@dataclass(frozen=True)
class Measured:
    """The result of a measure: the numbers to compare with the expectation, and their cells."""

    values: tuple[float, ...]  # one, or least and most
    detail: str  # the problem, in a few words
    pairs: tuple[Pair, ...] = ()  # the deciding comparisons
    cells: tuple[Record, ...] = ()  # the deciding cells, if nothing is compared
    searches: tuple[Search, ...] = ()  # the deciding searches


@dataclass(frozen=True)
class Asked:
    """A claim and its cells."""

    claim: Claim
    cells: Cells
    over: Cells
    context: str

    def names(self, key: str) -> Sequence[str]:
        """Return the algorithms listed under a key."""
        value = self.claim.ask.get(key)
        if not isinstance(value, list) or not value:
            raise PlotError(Failure.INPUT, f"{self.context}: needs a list of names as {key!r}")
        return value

    def axis(self) -> str:
        """Return the axis of `along`."""
        return along(self.claim.ask.get("along", "n"), self.context)

    def end(self, key: str) -> float:
        """Return `from` or `to` as a number."""
        return float(size(self.claim.ask.get(key), f"{self.context}: {key}"))

    def pairs(self) -> list[Pair]:
        """Return the comparisons of `of` with `over` that have a ratio; raises Missing."""
        of, by = self.names("of"), self.names("over")
        for names, cells in ((of, self.cells), (by, self.over)):
            if not cells.problems(names):
                raise Missing(f"the record has no cell of {' or '.join(names)} here")
        found = [p for p in pairs(self.cells, self.over, of, by) if p.ratio]
        if not found:
            raise Missing(f"no problem has a time of both {' or '.join(of)} and {' or '.join(by)}")
        return found


def measure(experiment: Experiment, claim: Claim, source: Source) -> Measured:
    """Compute a claim's measure; raises Missing if the source lacks cells."""
    context = f"{experiment.id}: claim {claim.says!r}"
    if claim.measure not in {*_MEASURES, "searches"}:
        message = f"{context}: no measure is called {claim.measure!r}"
        raise PlotError(Failure.INPUT, f"{message}; there are {', '.join(sorted(_MEASURES))}")
    where = {**experiment.where, **claim.ask.get("where", {})}
    if claim.measure == "searches":
        return _searches(claim, [s for s in source.searches if s.fits(where)], context)
    asked = Asked(
        claim,
        Cells(choose(source.records, where, context)),
        Cells(choose(source.records, {**where, **claim.ask.get("over_where", {})}, context)),
        context,
    )
    return _MEASURES[claim.measure](asked)


def place(at: At) -> str:
    """Return a problem in words."""
    return f"n = {_power(at[0])}, Q = {_power(at[1])}, k = {at[2]}"


def _power(value: int) -> str:
    if value >= 1024 and value & (value - 1) == 0:
        return f"2^{value.bit_length() - 1}"
    return str(value)


def _ratio(pair: Pair) -> float:
    assert pair.ratio is not None
    return pair.ratio


def _speed_up(asked: Asked) -> Measured:
    found = sorted(asked.pairs(), key=_ratio)
    least, most = found[0], found[-1]
    take = asked.claim.ask.get("take", "only")
    if take == "only":
        if len(found) > 1:
            raise PlotError(Failure.INPUT, f"{asked.context}: {len(found)} cells fit, not one")
        low, high = least.interval
        detail = f"{low:.3g} to {high:.3g} at {place(least.at)}, {least.cell.algorithm}"
        return Measured((_ratio(least),), detail, (least,))
    if take == "range":
        detail = f"least at {place(least.at)}, most at {place(most.at)}"
        return Measured((_ratio(least), _ratio(most)), detail, (least, most))
    if take not in ("most", "least"):
        raise PlotError(Failure.INPUT, f"{asked.context}: take = {take!r} is not known")
    chosen = most if take == "most" else least
    detail = f"{take} of {len(found)}, at {place(chosen.at)}, {chosen.cell.algorithm}"
    return Measured((_ratio(chosen),), detail, (chosen,))


def _place(asked: Asked) -> Measured:
    by_place: dict[float, list[Pair]] = defaultdict(list)
    for pair in asked.pairs():
        by_place[coordinate(pair.at, asked.axis())].append(pair)
    means = {x: _mean([_ratio(p) for p in found]) for x, found in by_place.items()}
    if len(means) < 2:
        raise Missing(f"the record has one place along {asked.axis()}")
    best = max(sorted(means), key=lambda x: means[x])
    first = min(means)
    detail = f"{means[best]:.3g} there, {means[first]:.3g} at {asked.axis()} = {first:g}"
    return Measured((best,), detail, (*by_place[first][:1], *by_place[best][:1]))


def _change(asked: Asked) -> Measured:
    axis, first, last = asked.axis(), asked.end("from"), asked.end("to")
    ends: dict[tuple[float, ...], dict[float, Pair]] = defaultdict(dict)
    for pair in asked.pairs():
        x = coordinate(pair.at, axis)
        if x in (first, last):
            ends[_rest(pair.at, axis)][x] = pair
    both = [found for found in ends.values() if len(found) == 2]
    if not both:
        raise Missing(f"no two cells differ in {axis} = {first:g} and {last:g} alone")
    ratio = _mean([_ratio(found[last]) / _ratio(found[first]) for found in both])
    one = max(both, key=lambda found: abs(math.log(_ratio(found[last]) / _ratio(found[first]))))
    detail = (
        f"{_mean([_ratio(f[first]) for f in both]):.3g} at {axis} = {first:g}, "
        f"{_mean([_ratio(f[last]) for f in both]):.3g} at {last:g}"
    )
    return Measured((ratio,), detail, (one[first], one[last]))


def _flatness(asked: Asked) -> Measured:
    axis = asked.axis()
    groups: dict[tuple[float, ...], list[Pair]] = defaultdict(list)
    for pair in asked.pairs():
        groups[_rest(pair.at, axis)].append(pair)
    spans = [(min(g, key=_ratio), max(g, key=_ratio)) for g in groups.values() if len(g) > 1]
    if not spans:
        raise Missing(f"no two cells differ in {axis} alone")
    low, high = max(spans, key=lambda span: _ratio(span[1]) / _ratio(span[0]))
    detail = f"{_ratio(low):.3g} at {place(low.at)}, {_ratio(high):.3g} at {place(high.at)}"
    return Measured((_ratio(high) / _ratio(low),), detail, (low, high))


def _variation(asked: Asked) -> Measured:
    of, axis = asked.names("of"), asked.axis()
    groups: dict[tuple[float, ...], list[Record]] = defaultdict(list)
    for at in asked.cells.problems(of):
        record = asked.cells.best(of, at)
        if record and record.time:
            groups[_rest(at, axis)].append(record)
    spans = [sorted(found, key=_median) for found in groups.values() if len(found) > 1]
    if not spans:
        raise Missing(f"no two times of {' or '.join(of)} differ in {axis} alone")
    parts = [_median(found[-1]) / _median(found[0]) - 1 for found in spans]
    widest = spans[parts.index(max(parts))]
    detail = f"mean of {len(parts)}, from {100 * min(parts):.3g} to {100 * max(parts):.3g} %"
    return Measured((statistics.fmean(parts),), detail, (), (widest[0], widest[-1]))


def _median(record: Record) -> float:
    assert record.time is not None
    return record.time.median


def _flattens(asked: Asked) -> Measured:
    of = asked.names("of")
    by_k: dict[tuple[int, int], list[Record]] = defaultdict(list)
    for at in asked.cells.problems(of):
        record = asked.cells.best(of, at)
        if record and record.time:
            by_k[record.n, record.k].append(record)
    places = []
    for records in by_k.values():
        ordered = sorted(records, key=lambda r: r.q)
        if len(ordered) > 2:
            last = _per_query(ordered[-1])
            places.append(next(r for r in ordered if _per_query(r) <= _FLAT * last))
    if not places:
        raise Missing(f"the record has fewer than three Q of {' or '.join(of)} at one n and k")
    counts = Counter(r.q for r in places)
    most = min(counts, key=lambda q: (-counts[q], q))
    detail = ", ".join(f"Q = {q} for {count} k" for q, count in sorted(counts.items()))
    chosen = next(r for r in places if r.q == most)
    last_one = max(by_k[chosen.n, chosen.k], key=lambda r: r.q)
    return Measured((float(most),), detail, (), (chosen, last_one))


def _per_query(record: Record) -> float:
    assert record.time is not None
    return record.time.median / record.q


def _fastest(asked: Asked) -> Measured:
    won, lost = [], []
    for of, among in _rivals(asked):
        for at in asked.cells.problems(of):
            cell, rival = asked.cells.best(of, at), asked.cells.best(among, at)
            if cell and rival and cell.time and rival.time:
                pair = Pair(at, cell, rival)
                (won if _ratio(pair) >= 1 else lost).append(pair)
    if not won and not lost:
        raise Missing(f"no problem has a time of {' or '.join(asked.names('of'))} and of a rival")
    worst = sorted(lost, key=_ratio)[:1]
    detail = f"fastest on {len(won)} of {len(won) + len(lost)}"
    if worst:
        detail += f"; on {place(worst[0].at)} {worst[0].over.algorithm} is faster"
    return Measured((len(won) / (len(won) + len(lost)),), detail, tuple(worst))


def _rivals(asked: Asked) -> list[tuple[list[str], list[str]]]:
    """Return each group of contenders with its rivals, which exclude the contenders."""
    of, among = asked.names("of"), asked.names("among")
    contenders = asked.cells.names(of)
    if not any("*" in pattern for pattern in of):
        rivals = [name for name in asked.cells.names(among) if name not in contenders]
        return [(contenders, rivals)]
    groups = []
    for pattern in of:
        head, tail = pattern.split("*", 1)
        for name in fnmatch.filter(contenders, pattern):
            middle = name[len(head) : len(name) - len(tail)]
            rivals = [p.replace("*", middle) for p in among]
            groups.append(([name], rivals))
    return groups


def _searches(claim: Claim, found: Sequence[Search], context: str) -> Measured:
    ask = claim.ask
    quantity = ask.get("quantity", "time")
    compared = compare(found, ask.get("mine", {}), ask.get("theirs", {}), quantity, context)
    if not compared:
        raise Missing(f"no two searches with {quantity} to compare")
    ordered = sorted(compared, key=lambda c: c[0])
    chosen = ordered[-1] if ask.get("take") == "most" else ordered[0]
    detail = f"{in_words(chosen[1])} against {in_words(chosen[2])}"
    return Measured((chosen[0],), detail, searches=(chosen[1], chosen[2]))


def _spread(asked: Asked) -> Measured:
    found = []
    for at in asked.cells.problems(asked.names("of")):
        record = asked.cells.best(asked.names("of"), at)
        on_one = record is not None and record.inputs is not None and not record.inputs.fresh
        if record and record.time and len(record.time.rounds) > 1 and not on_one:
            mean, deviation = scatter(record)
            found.append((deviation / mean, record))
    if not found:
        raise Missing("no cell has the times of two or more rounds, each on other data")
    worst, record = max(found, key=lambda f: f[0])
    at = place((record.n, record.q, record.k))
    detail = f"most of {len(found)} settings with other data in each trial, at {at}"
    return Measured((worst,), detail, (), (record,))


def _counted(asked: Asked, key: str) -> dict[int, Record]:
    """Return by k the record with counted queue updates of the algorithms under a key."""
    found = {}
    for at in asked.cells.problems(asked.names(key)):
        record = asked.cells.best(asked.names(key), at)
        if record and record.queue_updates:
            found[record.k] = record
    if not found:
        raise Missing(f"no cell of {' or '.join(asked.names(key))} has counted queue updates")
    return found


def _updates_linear(asked: Asked) -> Measured:
    record = max(_counted(asked, "of").values(), key=lambda r: r.k)
    r = statistics.correlation(range(len(record.queue_updates)), record.queue_updates)
    detail = f"R² of a straight line through {record.k} positions"
    return Measured((r * r if r < 0 else 0.0,), detail, (), (record,))


def _updates_head(asked: Asked) -> Measured:
    record = max(_counted(asked, "of").values(), key=lambda r: r.k)
    quarter = sum(record.queue_updates[: record.k // 4])
    detail = f"of the updates are at the first {record.k // 4} of {record.k} positions"
    return Measured((quarter / sum(record.queue_updates),), detail, (), (record,))


def _updates_ratio(asked: Asked) -> Measured:
    of, over = _counted(asked, "of"), _counted(asked, "over")
    ratios = {k: _total(of[k]) / _total(over[k]) for k in sorted(set(of) & set(over))}
    if not ratios:
        raise Missing("no k has counted queue updates of both")
    ks = sorted(ratios, key=lambda k: ratios[k])
    detail = f"least at k = {ks[0]}, most at k = {ks[-1]}"
    return Measured((ratios[ks[0]], ratios[ks[-1]]), detail, (), (of[ks[-1]], over[ks[-1]]))


def _updates_growth(asked: Asked) -> Measured:
    first, last = int(asked.end("from")), int(asked.end("to"))
    growths = []
    for key in ("of", "over"):
        found = _counted(asked, key)
        if first not in found or last not in found:
            raise Missing(f"no counted updates at both k = {first} and {last}")
        growths.append(_total(found[last]) / _total(found[first]))
    detail = f"{growths[0]:.3g} times as many against {growths[1]:.3g} times"
    return Measured((growths[0] / growths[1],), detail, (), (_counted(asked, "of")[last],))


def _total(record: Record) -> int:
    return sum(record.queue_updates)


def _rest(at: At, axis: str) -> tuple[float, ...]:
    """Return the coordinates that are constant along an axis: for log2(n/Q) the product."""
    n, q, k = at
    return {"n": (q, k), "q": (n, k), "k": (n, q), "log2(n/Q)": (n * q, k)}[axis]


def _mean(values: Sequence[float]) -> float:
    return math.exp(math.fsum(math.log(v) for v in values) / len(values))


_MEASURES: dict[str, Callable[[Asked], Measured]] = {
    "speed-up": _speed_up,
    "place": _place,
    "change": _change,
    "flatness": _flatness,
    "flattens": _flattens,
    "variation": _variation,
    "fastest": _fastest,
    "spread": _spread,
    "updates-linear": _updates_linear,
    "updates-head": _updates_head,
    "updates-ratio": _updates_ratio,
    "updates-growth": _updates_growth,
}
