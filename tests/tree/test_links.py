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
    """The ids of a page: those it sets, and those that headings get (lower case, spaces to dashes, the
    rest of the punctuation dropped)."""
    text = document.read_text()
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    made = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return made | set(re.findall(r'<a id="([^"]+)">', text))


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
