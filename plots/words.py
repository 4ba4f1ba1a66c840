"""Counts as messages and captions have them."""


def digits(value: float, count: int) -> str:
    """Return a number with so many significant digits, without an exponent if it is large."""
    if abs(value) >= 10**count:
        return f"{float(f'{value:.{count}g}'):,.0f}" if value != int(value) else f"{value:,.0f}"
    return f"{value:.{count}g}"


def amount_of(count: int, noun: str) -> str:
    """Return a count and its noun, which is given in the singular: "1 cell", "2 cells", "3 queries"."""
    if count == 1 or noun == "series":
        return f"{count} {noun}"
    if noun.endswith("y") and noun[-2] not in "aeo":
        return f"{count} {noun[:-1]}ies"
    return f"{count} {noun}{'es' if noun.endswith(('s', 'x', 'ch')) else 's'}"
