"""README.md: a page, whose table follows from records."""

from pathlib import Path

import pytest
from plots import readme
from plots.errors import PlotError

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "README.md").read_text()


def test_the_committed_table_is_of_the_committed_records():
    assert readme.renewed(TEXT) == TEXT, "run python -m plots.readme"


def test_a_number_that_was_changed_by_hand_is_found():
    row = next(line for line in TEXT.splitlines() if line.startswith("| `torch.topk`"))
    spoilt = TEXT.replace(row, row.replace("53", "54", 1))
    assert spoilt != TEXT and readme.renewed(spoilt) == TEXT


def test_a_readme_without_a_place_for_the_table_is_refused():
    with pytest.raises(PlotError, match="has no lines"):
        readme.renewed("# kselect\n")


def test_it_is_a_page():
    assert len(TEXT.splitlines()) <= 150
