"""The list of records without provenance, results/older_records.toml.

Such a record was made by a commit that is not in the history, by a changed tree, or by kernels
whose source hash its commit does not have (`plots.provenance`). A document may show it, marked as
an older record. tests/plots lets the list only shrink.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from plots.errors import Failure, PlotError

LIST = Path("results/older_records.toml")


@dataclass(frozen=True)
class Older:
    """The listed runs: by folder the digest of its records and the reason."""

    runs: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    converted: frozenset[str] = frozenset()  # of them, those made from records of an older form

    def reason(self, folder: str, digest: str) -> str | None:
        """Return why a run has no provenance; None if it is not listed, or was recorded again."""
        listed = self.runs.get(folder)
        return listed[1] if listed and listed[0] == digest else None


def read(path: Path = LIST) -> Older:
    """Read the list; an absent one is empty."""
    try:
        with path.open("rb") as file:
            value = tomllib.load(file)
        records = value.get("record", ())
        return Older(
            {r["folder"]: (r["digest"], r["reason"]) for r in records},
            frozenset(r["folder"] for r in records if r.get("converted")),
        )
    except FileNotFoundError:
        return Older()
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError) as e:
        raise PlotError(Failure.INPUT, f"{path}: is no list of older records: {e!r}") from e
