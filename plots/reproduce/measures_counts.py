"""Measures of counted queue updates."""

import statistics

from plots.records import Record
from plots.reproduce.asked import Asked, Measured
from plots.reproduce.cells import Missing


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


def updates_linear(asked: Asked) -> Measured:
    """R² of a straight line through the updates of each position."""
    record = max(_counted(asked, "of").values(), key=lambda r: r.k)
    r = statistics.correlation(range(len(record.queue_updates)), record.queue_updates)
    detail = f"R² of a straight line through {record.k} positions"
    return Measured((r * r if r < 0 else 0.0,), detail, (), (record,))


def updates_head(asked: Asked) -> Measured:
    """The share of the updates in the first quarter of the positions."""
    record = max(_counted(asked, "of").values(), key=lambda r: r.k)
    quarter = sum(record.queue_updates[: record.k // 4])
    detail = f"of the updates are at the first {record.k // 4} of {record.k} positions"
    return Measured((quarter / sum(record.queue_updates),), detail, (), (record,))


def updates_ratio(asked: Asked) -> Measured:
    """Updates of `of` / updates of `over`, for each k."""
    of, over = _counted(asked, "of"), _counted(asked, "over")
    ratios = {k: _total(of[k]) / _total(over[k]) for k in sorted(set(of) & set(over))}
    if not ratios:
        raise Missing("no k has counted queue updates of both")
    ks = sorted(ratios, key=lambda k: ratios[k])
    detail = f"least at k = {ks[0]}, most at k = {ks[-1]}"
    return Measured((ratios[ks[0]], ratios[ks[-1]]), detail, (), (of[ks[-1]], over[ks[-1]]))


def updates_growth(asked: Asked) -> Measured:
    """Growth of `of`'s updates from k = `from` to `to` / growth of `over`'s."""
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
