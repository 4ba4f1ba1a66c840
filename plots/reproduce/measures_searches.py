"""Measures of searches in metric indexes."""

from collections.abc import Callable, Sequence

from plots.reproduce.asked import Measured
from plots.reproduce.cells import Missing
from plots.reproduce.manifest import Claim
from plots.reproduce.searches import Search, compare, in_words

_NEARLY = 0.9  # the share of the largest throughput from which on a curve is saturated


def _searches(claim: Claim, found: Sequence[Search], context: str) -> Measured:
    """Return `theirs` / `mine` of a quantity; take as in speed-up."""
    ask = claim.ask
    quantity = ask.get("quantity", "time")
    compared = compare(found, ask.get("mine", {}), ask.get("theirs", {}), quantity, context)
    if not compared:
        raise Missing(f"no two searches with {quantity} to compare")
    ordered = sorted(compared, key=lambda c: c[0])
    chosen = ordered[-1] if ask.get("take") == "most" else ordered[0]
    detail = f"{in_words(chosen[1])} against {in_words(chosen[2])}"
    return Measured((chosen[0],), detail, searches=(chosen[1], chosen[2]))


def _value(claim: Claim, found: Sequence[Search], context: str) -> Measured:
    """Return the mean of a quantity over the searches `mine`."""
    quantity = claim.ask.get("quantity", "time")
    mine = [s for s in found if s.fits(claim.ask.get("mine", {})) and quantity in s.values]
    if not mine:
        raise Missing(f"no search has {quantity.replace('_', ' ')}: {context}")
    value = sum(s.values[quantity] for s in mine) / len(mine)
    return Measured((value,), f"mean of {len(mine)}, {in_words(mine[0])}", searches=(mine[0],))


def _saturates(claim: Claim, found: Sequence[Search], context: str) -> Measured:
    """Return the least batch whose throughput is within 10 % of the largest."""
    mine = [s for s in found if s.fits(claim.ask.get("mine", {})) and "throughput" in s.values]
    ordered = sorted(mine, key=lambda s: s.traits.get("batch") or s.traits.get("queries", 0))
    finite = [s for s in ordered if s.traits.get("batch")]
    if len(finite) < 3:
        raise Missing(f"fewer than three batches with a throughput: {context}")
    largest = max(s.values["throughput"] for s in ordered)
    nearly = [s for s in finite if s.values["throughput"] >= _NEARLY * largest]
    if not nearly:
        last = max(finite, key=lambda s: s.traits["batch"])
        share = last.values["throughput"] / largest
        text = f"{last.traits['batch']:g} queries give {share:.0%} of the throughput of all at once"
        return Measured((float(last.traits["batch"]),), text, searches=(last,), tied=text)
    first = min(nearly, key=lambda s: s.traits["batch"])
    text = f"{first.values['throughput'] / largest:.0%} of the largest throughput there"
    return Measured((float(first.traits["batch"]),), text, searches=(first,))


MEASURES: dict[str, Callable[[Claim, Sequence[Search], str], Measured]] = {
    "searches": _searches,
    "search-value": _value,
    "saturates": _saturates,
}
