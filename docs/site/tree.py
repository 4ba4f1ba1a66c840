"""MkDocs' hook: the repository's pages, pictures and what they link to, each under its own path.

A page's relative links then work on the site as they do in the repository. A link to a folder leads to the folder's
README.md or to a list of its files. Files above 1 MiB are listed with their size, not copied.
"""

import posixpath
import re
import subprocess
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?\)")
MOST_BYTES = 1 << 20


def tracked() -> list[str]:
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True,
                            text=True, check=True)
    return [name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def targets(page: str) -> set[str]:
    """The paths that a page links to, relative to the repository's root."""
    text = re.sub(r"```.*?```", "", (ROOT / page).read_text(), flags=re.DOTALL)
    links = (match[2] for match in LINK.finditer(text) if not re.match(r"[a-z]+:", match[2]))
    return {posixpath.normpath(posixpath.join(posixpath.dirname(page), link)) for link in links}


def page_of(folder: str) -> str:
    """The page that stands for a folder."""
    return f"{folder}/README.md" if (ROOT / folder / "README.md").exists() else f"{folder}/files.md"


def listing(folder: str, names: list[str]) -> str:
    lines = [f"# {folder}", "", "| file | bytes |", "|---|--:|"]
    for name in names:
        size = (ROOT / name).stat().st_size
        inside = posixpath.relpath(name, folder)
        lines.append(f"| {f'[{inside}]({inside})' if size <= MOST_BYTES else inside} | {size:,} |")
    return "\n".join(lines) + "\n"


def on_files(files, config):
    names = tracked()
    pages = [name for name in names if name.endswith(".md")]
    wanted = set(pages)
    for target in set().union(*map(targets, pages)):
        if not (ROOT / target).is_dir():
            wanted.add(target)
            continue
        inside = [name for name in names if name.startswith(target + "/")]
        wanted.update(name for name in inside if (ROOT / name).stat().st_size <= MOST_BYTES)
        if page_of(target).endswith("/files.md"):
            files.append(File.generated(config, page_of(target), content=listing(target, inside)))
    for name in sorted(wanted & set(names)):
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown, page, **_):
    """Links to folders become links to their pages."""
    folder = posixpath.dirname(page.file.src_uri)

    def mended(match):
        target = posixpath.normpath(posixpath.join(folder, match[2]))
        if re.match(r"[a-z]+:", match[2]) or not (ROOT / target).is_dir():
            return match[0]
        return f"{match[1]}{posixpath.relpath(page_of(target), folder or '.')}{match[3] or ''})"

    return LINK.sub(mended, markdown)
