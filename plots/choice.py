"""Chooses the figures that say most about a run, where a sweep over many problems has dozens."""

from collections.abc import Mapping, Sequence
from itertools import chain, zip_longest

from plots.figures import Drawing

MOST = 10

# The kinds by how much of a run one figure shows; others follow.
_ORDER = ("winner", "profile", "time", "speedup", "ceiling", "robustness", "updates")


def choose(by_kind: Mapping[str, Sequence[Drawing]], most: int = MOST) -> list[Drawing]:
    """Return at most `most` figures: the first of each kind, then the second of each, and so on.

    Within a kind, figures of uniform rows come first, then those of more cells.
    """
    kinds = sorted(by_kind, key=lambda kind: (_place(kind), kind))
    columns = [sorted(by_kind[kind], key=_less_said) for kind in kinds]
    turns = chain.from_iterable(zip_longest(*columns))
    return [drawing for drawing in turns if drawing][:most]


def _place(kind: str) -> int:
    return _ORDER.index(kind) if kind in _ORDER else len(_ORDER)


def _less_said(drawing: Drawing) -> tuple[bool, int, str]:
    return "-uniform-" not in drawing.name, -len(drawing.rows), drawing.name
