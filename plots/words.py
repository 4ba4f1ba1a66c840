"""Counts as messages and captions have them."""


def amount_of(count: int, noun: str) -> str:
    """Return a count and its noun, which is given in the singular: "1 cell", "2 cells", "3 queries"."""
    if count == 1 or noun == "series":
        return f"{count} {noun}"
    if noun.endswith("y") and noun[-2] not in "aeo":
        return f"{count} {noun[:-1]}ies"
    return f"{count} {noun}{'es' if noun.endswith(('s', 'x', 'ch')) else 's'}"
