"""What tests of the board share: a program that lists two entries, and how a page is opened."""

import json
from pathlib import Path

import chromium

ENTRY = {
    "name": "bms-block",
    "family": "buffered multi-select",
    "source": "kselect",
    "file": "algorithms/buffered_multi_select/buffered_multi_select_block.cu",
    "contract": {
        "ordering": "unsorted", "tie_break": "unspecified", "determinism": "not_guaranteed",
        "nan": "total_order", "zeros": "distinct", "infinities": True, "synchronises": False,
        "modifies_input": False,
    },
    "limits": {"n": 4096, "q": None, "k": 512, "alignment_bytes": 0},
    "dtypes": ["float32"],
    "index_types": ["int32"],
    "payloads": ["values_and_indices"],
    "layouts": ["row_major"],
    "threaded": False,
    "executors": {
        "cpu": {"here": False, "reason": "not written for it"},
        "fiber": {"here": True, "reason": ""},
        "cuda": {"here": False, "reason": "no GPU"},
    },
}  # fmt: skip


def program(folder: Path, entries: object = None) -> Path:
    """Write a program whose `list --json` prints entries."""
    file = folder / "kselect"
    text = json.dumps([ENTRY] if entries is None else entries)
    file.write_text(f"#!/bin/sh\ntest \"$1 $2\" = 'list --json' || exit 2\ncat <<'END'\n{text}\nEND\n")
    file.chmod(0o755)
    return file


def show(page: chromium.Page, site: Path, name: str, choice: str = "") -> None:
    """Open a page of a site with a choice behind "#"."""
    page.open(site / f"{name}.html", choice=choice)


def texts(page: chromium.Page, selector: str) -> list[str]:
    """Return the texts of all elements that a selector finds."""
    return page.run(f"[...document.querySelectorAll({selector!r})].map(e => e.textContent)")
