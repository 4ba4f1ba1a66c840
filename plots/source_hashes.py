"""Computes the hash of an algorithm's sources at a commit, as cmake/source_hashes.cmake did there.

Contents are read through `git cat-file`, each once; nothing is checked out.
"""

import fnmatch
import hashlib
import posixpath
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

_INCLUDE = re.compile(rb'^ *# *include "([^"]+)"', re.MULTILINE)
_MEMBER = re.compile(rb"^std::span<const algorithm> ([a-z0-9_]+)\(\);", re.MULTILINE)


class Shallow(Exception):  # noqa: N818 - not an error: the history is not here
    """The clone is shallow, or no git checkout."""


class History:
    """The trees of commits: file names and contents, each read once."""

    def __init__(self, root: Path) -> None:
        """Open the history of a checkout; raises Shallow."""
        self.root = root
        try:
            if self._git("rev-parse", "--is-shallow-repository").strip() != b"false":
                raise Shallow("this clone is shallow: the commits of older records are not here")
            known = self._git("rev-list", "--all").decode().split()
        except (OSError, subprocess.CalledProcessError) as e:
            raise Shallow(f"no git checkout: {e}") from e
        self.commits = frozenset(known)
        self._contents: dict[str, bytes] = {}
        self._hashes: dict[str, dict[str, str]] = {}
        self._digests: dict[str, str] = {}
        self._includes: dict[str, list[str]] = {}

    def _git(self, *arguments: str, given: bytes | None = None) -> bytes:
        command = ["git", "-C", str(self.root), *arguments]
        return subprocess.run(command, input=given, capture_output=True, check=True).stdout

    def source_hashes(self, commit: str) -> Mapping[str, str]:
        """Return the hash of each file with entries, by its path, in a commit's tree."""
        if commit not in self._hashes:
            files = self.files(commit)
            script = files.get("cmake/source_hashes.cmake")
            if script is None:
                self._hashes[commit] = {}
            else:
                self.fetch([script])
                shared = b"IN LISTS SHARED" in self.content(script)
                self._hashes[commit] = _old(self, files) if shared else _Tree(self, files).hashes()
        return self._hashes[commit]

    def files(self, commit: str) -> dict[str, str]:
        """Return the object of each file of a commit's tree."""
        listed = self._git("ls-tree", "-r", "-z", commit).decode().split("\0")
        return {name: info.split()[2] for line in listed if line
                for info, name in [line.split("\t", 1)]}  # fmt: skip

    def fetch(self, objects: Iterable[str]) -> None:
        """Read the contents of objects that are not yet known, in one go."""
        wanted = sorted({o for o in objects if o not in self._contents})
        if not wanted:
            return
        data = self._git("cat-file", "--batch", given="\n".join(wanted).encode() + b"\n")
        at = 0
        for one in wanted:
            end = data.index(b"\n", at)
            size = int(data[at:end].split()[2])
            self._contents[one] = data[end + 1 : end + 1 + size]
            at = end + 2 + size

    def content(self, one: str) -> bytes:
        """Return an object's content, which `fetch` has read."""
        return self._contents[one]

    def digest(self, one: str) -> str:
        """Return the sha256 of an object's content."""
        if one not in self._digests:
            self._digests[one] = hashlib.sha256(self._contents[one]).hexdigest()
        return self._digests[one]

    def includes(self, one: str) -> list[str]:
        """Return the quoted includes of an object."""
        if one not in self._includes:
            found = _INCLUDE.findall(self._contents[one])
            self._includes[one] = [name.decode() for name in found]
        return self._includes[one]


class _Tree:
    """The sources of one commit, as cmake/source_hashes.cmake sees them."""

    def __init__(self, history: History, files: Mapping[str, str]) -> None:
        self._history = history
        sources = re.compile(r"\.(cu|cuh|cpp|hpp|h|json)$")
        others = ("results/", "tests/", "configs/", "reproduction/")
        wanted = {n: o for n, o in files.items() if sources.search(n) and not n.startswith(others)}
        history.fetch(wanted.values())
        self._files = wanted
        # A family's kernels may lie in folders by form: algorithms/FAMILY/FORM.
        self._by_form = self._globs_forms(history, files)
        pattern = r"(algorithms/[^/]+/|baselines/([^/]+/)?)[^/]+\.(cu|cpp)"
        if self._by_form:
            pattern += r"|algorithms/[^/]+/[^/]+/[^/]+\.cu"
        listed = [n for n in wanted if re.fullmatch(pattern, n)]
        self._entries = sorted(n for n in listed if self._defines(n))
        others = [n for n in listed if n not in self._entries]
        self._kernels = [n for n in others if n.endswith(".cu")]
        self._parts = [n for n in others if n.endswith(".cpp")]
        self._parts += [n for n in wanted if re.fullmatch(r"algorithms/[^/]+/[^/]+\.json", n)]
        self._entries += sorted(
            n for n in wanted
            if re.fullmatch(r"algorithms/[^/]+\.(cu|cpp)", n) and self._defines(n)
        )  # fmt: skip
        self._of_stem = {stem(n): n for n in self._entries}

    @staticmethod
    def _globs_forms(history: History, files: Mapping[str, str]) -> bool:
        script = files.get("cmake/families.cmake")
        if script is None:
            return False
        history.fetch([script])
        return b"algorithms/*/*/*.cu" in history.content(script)

    def _text(self, name: str) -> bytes:
        return self._history.content(self._files[name])

    def _defines(self, name: str) -> bool:
        start = rf"^std::span<const algorithm> {stem(name)}\(\) {{"
        return re.search(start.encode(), self._text(name), re.MULTILINE) is not None

    def hashes(self) -> dict[str, str]:
        return {name: self._hash(name) for name in self._entries}

    def _hash(self, source: str) -> str:
        roots: list[str] = []
        for name in self._with_members(source):
            roots += [name, *self._own(name)]
        lines = "".join(
            f"{name}:{self._history.digest(self._files[name])}\n"
            for name in self._closure(dict.fromkeys(roots))
        )
        return hashlib.sha256(lines.encode()).hexdigest()[:16]

    def _with_members(self, source: str) -> list[str]:
        found, open_ = [source], [source]
        while open_:
            for member in self._members(open_.pop(0)):
                if member not in found:
                    found.append(member)
                    open_.append(member)
        return found

    def _members(self, name: str) -> Iterator[str]:
        own = stem(name)
        folder = f"algorithms/{own}/"
        parts = [n for n in self._files if n.startswith(folder) and not n.endswith(".json")
                 and (self._by_form or "/" not in n[len(folder):])]  # fmt: skip
        for part in (name, *sorted(parts)):
            for match in _MEMBER.findall(self._text(part)):
                member = match.decode()
                if member != own and member in self._of_stem:
                    yield self._of_stem[member]

    def _own(self, source: str) -> Iterator[str]:
        own = stem(source)
        for kernel in self._kernels:
            if self._by_form:
                family = posixpath.dirname(kernel).partition("/")[2].replace("/", "_")
                uses = f"{family}_".startswith(f"{own}_")
            else:
                folder = posixpath.basename(posixpath.dirname(kernel))
                uses = f"{folder}_{stem(kernel)}".startswith(own)
            if uses:
                yield kernel
        for part in self._parts:
            if posixpath.basename(posixpath.dirname(part)) == own:
                yield part

    def _closure(self, names: Iterable[str]) -> list[str]:
        found = dict.fromkeys(names)
        open_ = list(found)
        while open_:
            name = open_.pop()
            if name.endswith(".json"):
                continue
            folder = posixpath.dirname(name)
            for quoted in self._history.includes(self._files[name]):
                paths = (quoted, f"include/{quoted}", posixpath.join(folder, quoted))
                path = next((p for p in paths if p in self._files), None)
                if path is not None and path not in found:
                    found[path] = None
                    open_.append(path)
        return sorted(found)


def _old(history: History, files: Mapping[str, str]) -> dict[str, str]:
    """Return the hashes as the scripts up to 2026-11-23 made them: all shared headers enter each."""
    history.fetch([files["cmake/registry.cmake"]])
    registry = history.content(files["cmake/registry.cmake"]).decode()

    def globbed(name: str, recursive: bool = False) -> list[str]:
        kind = "GLOB_RECURSE" if recursive else "GLOB"
        call = re.search(rf"file\({kind} {name} ([^)]*)\)", registry)
        patterns = [w for w in call[1].split() if "*" in w] if call else []
        return sorted(n for n in files if any(_globs(n, p, recursive) for p in patterns))

    shared = globbed("shared", recursive=True)
    if "list(APPEND shared ${kernels})" in registry:
        shared += globbed("kernels")
    own = globbed("parts") + globbed("data")
    sources = globbed("sources")
    history.fetch(files[name] for name in (*shared, *own, *sources))

    def lines(names: Iterable[str]) -> str:
        return "".join(f"{name}:{history.digest(files[name])}\n" for name in names)

    found = {}
    for source in sources:
        parts = [n for n in own if posixpath.basename(posixpath.dirname(n)) == stem(source)]
        text = lines(shared) + f"{source}:{history.digest(files[source])}" + lines(parts)
        found[source] = hashlib.sha256(text.encode()).hexdigest()[:16]
    return found


def _globs(name: str, pattern: str, recursive: bool) -> bool:
    """Tell whether a name matches as in CMake: `*` does not cross folders, a recursive one does."""
    if recursive:
        folder, last = posixpath.split(pattern)
        return name.startswith(f"{folder}/") and fnmatch.fnmatch(posixpath.basename(name), last)
    same_depth = name.count("/") == pattern.count("/")
    return same_depth and fnmatch.fnmatch(name, pattern)


def stem(path: str) -> str:
    """Return a file's name without its endings."""
    return posixpath.basename(path).split(".", 1)[0]
