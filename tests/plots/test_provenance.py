"""Records name a commit of the history and kernels that this commit has; the others are listed."""

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from plots import provenance
from plots.reproduce import older
from plots.source_hashes import History, Shallow, stem

from conftest import QMS, ROOT, cell, problem, write_run

# The list may only shrink. Lower the numbers with it; never raise them.
MOST_LISTED = 0
# Records of searches had forms of their own, and those of k-NN had no provenance that a test read. They are
# cells now, and the history has what each was made from. Measured again as sweeps, they leave the list.
MOST_CONVERTED = 0


@pytest.fixture(scope="module")
def history() -> History:
    """Return this checkout's history."""
    try:
        return History(ROOT)
    except Shallow as why:
        pytest.skip(str(why))


def test_every_record_has_a_provenance_or_is_listed(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    listed = older.read()
    folders = provenance.runs(Path("results"))
    found = [f for f in (provenance.check(folder, history) for folder in folders) if f]
    new = [f"{f.folder}: {f.reason}" for f in found if listed.reason(f.folder, f.digest) is None]
    assert not new, "record these again from a committed tree:\n" + "\n".join(new)
    gone = sorted(set(listed.runs) - {f.folder for f in found})
    assert not gone, f"run `python -m plots.provenance --write`: {gone} need no place in the list"


def test_the_list_of_older_records_only_shrinks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    listed = older.read()
    assert len(listed.runs) - len(listed.converted) <= MOST_LISTED
    assert len(listed.converted) <= MOST_CONVERTED
    for folder in listed.runs:
        assert (ROOT / folder).is_dir(), f"{folder} is listed and gone"


def test_hashes_are_those_of_the_build(history: History, tmp_path: Path) -> None:
    cmake = shutil.which("cmake")
    if cmake is None:
        pytest.skip("no cmake")
    done = subprocess.run(
        ["git", "status", "--porcelain", "--", "algorithms", "baselines", "kernels", "include"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    if done.stdout:
        pytest.skip("the sources here are changed and not committed")
    made = tmp_path / "hashes.hpp"
    script = ROOT / "cmake" / "source_hashes.cmake"
    subprocess.run([cmake, f"-DOUTPUT={made}", "-P", str(script)], cwd=ROOT, check=True)
    text = made.read_text()
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, check=True)
    ours = history.source_hashes(head.stdout.decode().strip())
    assert len(ours) == text.count("source_hash_")
    for file, digest in ours.items():
        assert f'source_hash_{stem(file)}[] = "{digest}"' in text


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a repository with one commit, of one algorithm that includes one header."""
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "algorithms/quick_multi_select.cu": '#include "kernels/k.cuh"\n'
        "std::span<const algorithm> quick_multi_select() {\n}\n",
        "kernels/k.cuh": "// a kernel\n",
        "cmake/source_hashes.cmake": "# now\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    git("init", "-q")
    git("add", "-A")
    commit("one")
    return tmp_path


def git(*arguments: str) -> str:
    """Run git in the working directory."""
    who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *who, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commit(message: str) -> None:
    """Commit all changes of tracked files."""
    git("commit", "-q", "-a", "-m", message)


def recorded(tree: Path, source_hash: str, dirty: bool = False, at: str = "") -> str:
    """Return why a record of this hash at HEAD has no provenance; "" if it has."""
    made = cell(QMS, problem(1024, 4, 8))
    file = "algorithms/quick_multi_select.cu"
    made["algorithm"] |= {"file": file, "source_hash": source_hash}
    made_by = {"commit": at or git("rev-parse", "HEAD"), "dirty": dirty}
    shutil.rmtree(tree / "results", ignore_errors=True)
    folder = write_run(tree / "results" / "gpu" / "run", [made], git=made_by)
    found = provenance.check(folder.relative_to(tree), History(tree))
    return found.reason if found else ""


def test_a_record_needs_a_reachable_commit_a_clean_tree_and_its_hash(repository: Path) -> None:
    (digest,) = History(repository).source_hashes(git("rev-parse", "HEAD")).values()
    assert recorded(repository, digest) == ""
    assert "changed tree" in recorded(repository, digest, dirty=True)
    assert recorded(repository, digest, at="0" * 40) == "its commit 000000000 is not in the history"
    assert "does not have the sources of quick_multi_select" in recorded(repository, "f" * 16)


def test_a_changed_header_changes_the_hash_and_an_unrelated_file_does_not(repository: Path) -> None:
    (first,) = History(repository).source_hashes(git("rev-parse", "HEAD")).values()
    (repository / "cmake" / "source_hashes.cmake").write_text("# later\n")
    commit("two")
    assert recorded(repository, first) == ""
    (repository / "kernels" / "k.cuh").write_text("// another kernel\n")
    commit("three")
    assert "does not have the sources" in recorded(repository, first)


def converted(tree: Path, sha256: str, at: str = "", name: str = "old.jsonl") -> provenance.Finding | None:
    """Return why a run of searches, converted from old.jsonl of this hash, has no provenance."""
    made = cell(QMS, problem(1024, 4, 8))
    made["algorithm"] |= {"file": "", "source_hash": ""}
    head = git("rev-parse", "HEAD")
    folder = write_run(tree / "results" / "gpu" / "run", [made], git={"commit": head, "dirty": False})
    meta = json.loads((folder / "meta.json").read_text())
    file = {"name": name, "sha256": sha256, "commit": at or head}
    (folder / "meta.json").write_text(json.dumps(meta | {"converted_from": {"files": [file]}}))
    return provenance.check(folder.relative_to(tree), History(tree))


def test_the_history_has_what_a_record_was_converted_from(repository: Path) -> None:
    folder = repository / "results" / "gpu" / "run"
    folder.mkdir(parents=True)
    (folder / "old.jsonl").write_text("{}\n")
    git("add", "-A")
    commit("two")
    sha256 = hashlib.sha256(b"{}\n").hexdigest()
    assert converted(repository, sha256) is None
    assert converted(repository, sha256, name="../run/old.jsonl") is None, "of which this is a part"
    for other, at, reason in (
        ("0" * 64, "", "does not have the results/gpu/run/old.jsonl that it was converted from"),
        (sha256, git("rev-parse", "HEAD~1"), "does not have the results/gpu/run/old.jsonl"),
        (sha256, "0" * 40, "the history has no commit '000000000' of results/gpu/run/old.jsonl"),
    ):
        found = converted(repository, other, at)
        assert found and reason in found.reason


def test_a_cell_of_another_commit_than_its_run_is_held_against_that(repository: Path) -> None:
    made = [cell(QMS, problem(1024, 4, k)) for k in (8, 16)]
    for one in made:
        one["algorithm"] |= {"file": "", "source_hash": ""}
    head = git("rev-parse", "HEAD")
    for own, reason in ((head, ""), ("f" * 40, "its commit fffffffff is not in the history")):
        made[1]["git"] = {"commit": own, "dirty": False}
        shutil.rmtree(repository / "results", ignore_errors=True)
        folder = write_run(repository / "results" / "gpu" / "run", made, git={"commit": head, "dirty": False})
        found = provenance.check(folder.relative_to(repository), History(repository))
        assert (found.reason if found else "") == reason


def test_a_shallow_clone_says_so(repository: Path, tmp_path: Path) -> None:
    git("clone", "-q", "--depth", "1", f"file://{repository}", str(tmp_path / "clone"))
    with pytest.raises(Shallow, match="this clone is shallow"):
        History(tmp_path / "clone")


def test_a_record_made_again_is_no_longer_older() -> None:
    listed = older.Older({"results/gpu/run": ("0123456789abcdef", "its tree was changed")})
    assert listed.reason("results/gpu/run", "0123456789abcdef") == "its tree was changed"
    assert listed.reason("results/gpu/run", "fedcba9876543210") is None
    assert listed.reason("results/gpu/other", "0123456789abcdef") is None
