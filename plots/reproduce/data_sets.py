"""Tells of the data sets that searches were measured on: their sizes, intrinsic dimensions and indexes."""

from collections.abc import Iterable, Sequence

from plots.reproduce.searches import Search, label


def table_of(searches: Sequence[Search]) -> list[str]:
    """Return a table with a row a data set; no lines without one whose intrinsic dimension is recorded."""
    known = [s for s in searches if "intrinsic_dimension" in s.facts and s.traits["executor"] == "cuda"]
    if not known:
        return []
    lines = [
        "| data | objects | queries | intrinsic dimension | pivots taken, by alpha | clusters |",
        "|---|--:|--:|--:|---|---|",
    ]
    for source in dict.fromkeys(s.traits["source"] for s in known):
        own = [s for s in known if s.traits["source"] == source]
        cells = (
            label("source", source),
            _listed(f"{s.traits['n']:,}" for s in own),
            f"{max(s.queries for s in own):,}",
            _listed(f"{s.facts['intrinsic_dimension']:.1f}" for s in own),
            _listed(
                f"{alpha}: {pivots}"
                for alpha, pivots in sorted((s.traits["alpha"], s.traits["pivots"]) for s in own if "pivots" in s.traits)
            ),
            _listed(f"{s.facts['clusters']:,.0f}" for s in own if "clusters" in s.facts),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return [*lines, ""]


def _listed(parts: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(parts)) or "–"
