"""Links in the documents lead to files and headings that are there."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def documents():
    """All Markdown files that git knows, or all there are outside a checkout."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "*.md"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )
    names = listed.stdout.split() if listed.returncode == 0 else []
    return [ROOT / name for name in names if (ROOT / name).exists()] or sorted(ROOT.glob("*.md"))


def anchors(document: Path) -> set[str]:
    """The ids that a heading gets: lower case, spaces to dashes, the rest of the punctuation dropped."""
    headings = re.findall(r"^#+ (.+)$", document.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document):
    text = re.sub(r"```.*?```", "", document.read_text(), flags=re.DOTALL)
    for target in LINK.findall(text):
        if re.match(r"[a-z]+:", target):
            continue  # elsewhere
        name, _, anchor = target.partition("#")
        there = (document.parent / name).resolve() if name else document
        assert there.exists(), f"{document.relative_to(ROOT)} links to {target}, which is not there"
        if anchor and there.suffix == ".md":
            assert anchor in anchors(there), f"{document.relative_to(ROOT)}: no heading {target}"
