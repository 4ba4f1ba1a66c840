"""The measures that judge claims: each turns an experiment's cells into numbers.

    speed-up        time of `over` / time of `of`; take: only, most, least or range
    relative        the mean speed-up of `of` over `over` / that of `than_of` over `than_over`
    place           the coordinate `along` an axis at which the mean speed-up is largest
    change          the speed-up at `to` over that at `from`, geometric mean over the other axes
    flatness        the largest ratio of two speed-ups that differ only `along` one axis
    variation       relative range of `of`'s times `along` one axis, mean over the other axes
    flattens        the least q from which on the time per query stays within 10 % of its last value
    fastest         the share of problems on which `of` beats each of `among`
    outlasts        the share of `of`'s cells that take longer than the distances they select from
    spread          the largest standard deviation / mean of a cell's rounds, each on other data
    updates-*       counted queue updates (`measures_counts`): -linear, -head, -ratio, -growth
    searches        searches in metric indexes (`measures_searches`); also search-value, saturates

`of`, `over` and `among` are lists of names or globs; the fastest match counts. `over_where`
replaces parts of `where` for `over`, such as the payload. In "fastest", a glob of `of` is compared
with a glob of `among` queue by queue: `*` must match the same text in both.

A tie, or a place at an end of its axis, decides nothing: `Measured.tied` says so. A tie decides if all
tied places have the same verdict (`Measured.tied_with`).
"""

import fnmatch
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable

from plots.errors import Failure, PlotError
from plots.records import Record
from plots.reproduce import measures_counts, measures_searches
from plots.reproduce.asked import Asked, Measured, mean, median, place, power, ratio, rest
from plots.reproduce.cells import Cells, Missing, Pair, choose, coordinate
from plots.reproduce.library import Source
from plots.reproduce.manifest import Claim, Experiment, Table
from plots.reproduce.tables import scatter

_FLAT = 1.1  # a curve is flat where it is at most this times its last value
TIE = 1.05  # two values nearer than this are equal


def measure(
    experiment: Experiment, claim: Claim, source: Source, elsewhere: Table | None = None
) -> Measured:
    """Compute a claim's measure; raises Missing if the source lacks cells.

    `elsewhere` replaces parts of `where`, to measure the claim on other cells.
    """
    context = f"{experiment.id}: claim {claim.says!r}"
    where = {**experiment.where, **claim.ask.get("where", {}), **(elsewhere or {})}
    if claim.measure in measures_searches.MEASURES:
        searches = [s for s in source.searches if s.fits(where)]
        return measures_searches.MEASURES[claim.measure](claim, searches, context)
    if claim.measure not in _MEASURES:
        known = ", ".join(sorted({*_MEASURES, *measures_searches.MEASURES}))
        message = f"{context}: no measure is called {claim.measure!r}; there are {known}"
        raise PlotError(Failure.INPUT, message)
    asked = Asked(
        claim,
        Cells(choose(source.records, where, context)),
        Cells(choose(source.records, {**where, **claim.ask.get("over_where", {})}, context)),
        context,
    )
    return _MEASURES[claim.measure](asked)


def _speed_up(asked: Asked) -> Measured:
    found = sorted(asked.pairs(), key=ratio)
    least, most = found[0], found[-1]
    take = asked.claim.ask.get("take", "only")
    if take == "only":
        if len(found) > 1:
            raise PlotError(Failure.INPUT, f"{asked.context}: {len(found)} cells fit, not one")
        low, high = least.interval
        detail = f"{low:.3g} to {high:.3g} at {place(least.at)}, {least.cell.algorithm}"
        return Measured((ratio(least),), detail, (least,))
    if take == "range":
        detail = f"least at {place(least.at)}, most at {place(most.at)}"
        return Measured((ratio(least), ratio(most)), detail, (least, most))
    if take not in ("most", "least"):
        raise PlotError(Failure.INPUT, f"{asked.context}: take = {take!r} is not known")
    chosen = most if take == "most" else least
    detail = f"{take} of {len(found)}, at {place(chosen.at)}, {chosen.cell.algorithm}"
    return Measured((ratio(chosen),), detail, (chosen,))


def _relative(asked: Asked) -> Measured:
    mine = asked.pairs()
    than = {pair.at: pair for pair in asked.pairs("than_of", "than_over")}
    both = [(pair, than[pair.at]) for pair in mine if pair.at in than]
    if not both:
        raise Missing("no problem has the times of both sides")
    own = mean([ratio(pair) for pair, _ in both])
    other = mean([ratio(pair) for _, pair in both])
    detail = f"{own:.3g}× against {other:.3g}×, mean of {len(both)}"
    return Measured((own / other,), detail, both[-1])


def _place(asked: Asked) -> Measured:
    by_place: dict[float, list[Pair]] = defaultdict(list)
    for pair in asked.pairs():
        by_place[coordinate(pair.at, asked.axis())].append(pair)
    means = {x: mean([ratio(p) for p in found]) for x, found in sorted(by_place.items())}
    if len(means) < 2:
        raise Missing(f"the record has one place along {asked.axis()}")
    best, second = sorted(means, key=lambda x: -means[x])[:2]
    first = min(means)
    detail = f"{means[best]:.3g} there, {means[first]:.3g} at {asked.axis()} = {power(first)}"
    tied, with_these = "", tuple[float, ...]()
    if means[best] < TIE * means[second]:
        tied = f"a tie: {means[best]:.3g} at {power(best)} and {means[second]:.3g} at {power(second)}"
        with_these = tuple(x for x in means if means[best] < TIE * means[x])
    elif best in (first, max(means)):
        tied = f"the largest, {means[best]:.3g}, is at an end of the axis, {power(best)}"
    ends = (*by_place[first][:1], *by_place[best][:1])
    return Measured((best,), detail, ends, tied=tied, tied_with=with_these)


def _change(asked: Asked) -> Measured:
    axis, first, last = asked.axis(), asked.end("from"), asked.end("to")
    ends: dict[tuple[float, ...], dict[float, Pair]] = defaultdict(dict)
    for pair in asked.pairs():
        x = coordinate(pair.at, axis)
        if x in (first, last):
            ends[rest(pair.at, axis)][x] = pair
    both = [found for found in ends.values() if len(found) == 2]
    if not both:
        raise Missing(f"no two cells differ in {axis} = {power(first)} and {power(last)} alone")
    changed = mean([ratio(found[last]) / ratio(found[first]) for found in both])
    one = max(both, key=lambda found: _apart(found[first], found[last]))
    detail = (
        f"{mean([ratio(f[first]) for f in both]):.3g} at {axis} = {power(first)}, "
        f"{mean([ratio(f[last]) for f in both]):.3g} at {power(last)}"
    )
    return Measured((changed,), detail, (one[first], one[last]))


def _flatness(asked: Asked) -> Measured:
    axis = asked.axis()
    groups: dict[tuple[float, ...], list[Pair]] = defaultdict(list)
    for pair in asked.pairs():
        groups[rest(pair.at, axis)].append(pair)
    spans = [(min(g, key=ratio), max(g, key=ratio)) for g in groups.values() if len(g) > 1]
    if not spans:
        raise Missing(f"no two cells differ in {axis} alone")
    low, high = max(spans, key=lambda span: ratio(span[1]) / ratio(span[0]))
    detail = f"{ratio(low):.3g} at {place(low.at)}, {ratio(high):.3g} at {place(high.at)}"
    return Measured((ratio(high) / ratio(low),), detail, (low, high))


def _variation(asked: Asked) -> Measured:
    of, axis = asked.names("of"), asked.axis()
    groups: dict[tuple[float, ...], list[Record]] = defaultdict(list)
    for at in asked.cells.problems(of):
        record = asked.cells.best(of, at)
        if record and record.time:
            groups[rest(at, axis)].append(record)
    spans = [sorted(found, key=median) for found in groups.values() if len(found) > 1]
    if not spans:
        raise Missing(f"no two times of {' or '.join(of)} differ in {axis} alone")
    parts = [median(found[-1]) / median(found[0]) - 1 for found in spans]
    widest = spans[parts.index(max(parts))]
    detail = f"mean of {len(parts)}, from {100 * min(parts):.3g} to {100 * max(parts):.3g} %"
    return Measured((statistics.fmean(parts),), detail, (), (widest[0], widest[-1]))


def _apart(one: Pair, other: Pair) -> float:
    return max(ratio(one) / ratio(other), ratio(other) / ratio(one))


def _flattens(asked: Asked) -> Measured:
    of = asked.names("of")
    by_k: dict[tuple[int, int], list[Record]] = defaultdict(list)
    for at in asked.cells.problems(of):
        record = asked.cells.best(of, at)
        if record and record.time:
            by_k[record.n, record.k].append(record)
    lines = [sorted(records, key=lambda r: r.q) for records in by_k.values() if len(records) > 2]
    if not lines:
        raise Missing(f"the record has fewer than three Q of {' or '.join(of)} at one n and k")
    places = [_first_flat(line) for line in lines]
    counts = Counter(r.q for r in places)
    most = min(counts, key=lambda q: (-counts[q], q))
    detail = ", ".join(f"Q = {q} for {count} k" for q, count in sorted(counts.items()))
    chosen = next(r for r in places if r.q == most)
    line = next(line for line in lines if chosen in line)
    tied, with_these = "", ()
    if chosen is line[-1]:
        tied = f"it still falls at the end of the axis, Q = {line[-1].q}"
    elif chosen is line[0]:
        tied = f"it is flat from the beginning of the axis on, Q = {line[0].q}"
    elif sorted(counts.values())[-2:].count(counts[most]) > 1:
        tied = f"a tie: {detail}"
        with_these = tuple(float(q) for q in counts if counts[q] == counts[most])
    cells = (chosen, line[-1])
    return Measured((float(most),), detail, (), cells, tied=tied, tied_with=with_these)


def _first_flat(line: list[Record]) -> Record:
    last = _per_query(line[-1])
    flat = line[-1]
    for record in reversed(line):
        if _per_query(record) > _FLAT * last:
            break
        flat = record
    return flat


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
                (won if ratio(pair) >= 1 else lost).append(pair)
    if not won and not lost:
        raise Missing(f"no problem has a time of {' or '.join(asked.names('of'))} and of a rival")
    worst = sorted(lost, key=ratio)[:1]
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


def _outlasts(asked: Asked) -> Measured:
    found = []
    for name in asked.cells.names(asked.names("of")):
        for at in asked.cells.problems([name]):
            record = asked.cells.best([name], at)
            if record and record.time and record.inputs and record.inputs.distances:
                found.append((record.time.median / record.inputs.distances, record))
    if not found:
        raise Missing("no cell has both its time and that of its distances")
    longer = [one for one in found if one[0] > 1]
    most, record = max(found, key=lambda one: one[0])
    at = place((record.n, record.q, record.k))
    detail = f"{len(longer)} of {len(found)}; most {most:.3g} times, {record.algorithm} at {at}"
    return Measured((len(longer) / len(found),), detail, (), (record,))


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


_MEASURES: dict[str, Callable[[Asked], Measured]] = {
    "speed-up": _speed_up,
    "relative": _relative,
    "place": _place,
    "change": _change,
    "flatness": _flatness,
    "flattens": _flattens,
    "variation": _variation,
    "fastest": _fastest,
    "outlasts": _outlasts,
    "spread": _spread,
    "updates-linear": measures_counts.updates_linear,
    "updates-head": measures_counts.updates_head,
    "updates-ratio": measures_counts.updates_ratio,
    "updates-growth": measures_counts.updates_growth,
}
