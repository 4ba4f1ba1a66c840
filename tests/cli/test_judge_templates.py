"""The CI templates: their steps, taken from the files, judge a repository and keep its history.

The repository's program is this build behind tests/cli/slowed.py, so times are steady ones, slower by a
planted factor.
"""

import json
import os
import re
import subprocess
import sys

import pytest
from conftest import ROOT
from test_ab import CONFIG, git, program  # noqa: F401 (a fixture)

TEMPLATES = ROOT / "configs" / "templates"
SLOWER = 1.08


def job_lines(name, job):
    """The lines of a job, up to the next key of its indentation."""
    lines = (TEMPLATES / name).read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if line.strip() == f"{job}:")
    indent = len(lines[start]) - len(lines[start].lstrip())
    own = []
    for line in lines[start + 1 :]:
        if line.strip() and not line.lstrip().startswith("#") and len(line) - len(line.lstrip()) <= indent:
            break
        own.append(line)
    return own


def block(lines, i, text):
    """The text of a scalar that begins on line i: on that line, or, after "|", on the deeper lines below."""
    if text != "|":
        return re.sub(r" # .*", "", text)
    indent = len(lines[i]) - len(lines[i].lstrip())
    found = []
    for line in lines[i + 1 :]:
        if line.strip() and len(line) - len(line.lstrip()) <= indent:
            break
        found.append(line)
    depth = min(len(line) - len(line.lstrip()) for line in found if line.strip())
    return "\n".join(line[depth:] for line in found)


def github_steps(job):
    """The scripts of a job's steps; whether each runs after a failure, too."""
    lines = job_lines("github-judge.yml", job)
    steps, always = [], False
    for i, line in enumerate(lines):
        if re.match(r" *- (name|uses):", line):
            always = False
        always = always or line.strip() == "if: always()"
        if run := re.match(r" *(?:- )?run: (.*)", line):
            steps.append((block(lines, i, run[1]), always))
    return steps


def gitlab_script(job):
    """A job's script: one shell runs all of its lines."""
    lines = job_lines("gitlab-judge.yml", job)
    start = next(i for i, line in enumerate(lines) if line.strip() == "script:")
    found = []
    for i, line in enumerate(lines[start + 1 :], start + 1):
        if re.match(r"  \S", line):
            break
        if item := re.match(r"    - (.*)", line):
            found.append(block(lines, i, item[1]))
    return found


@pytest.fixture
def repository(binary, program, tmp_path):  # noqa: F811
    """Two commits of a project whose program is the script; the second's is slower. scripts/build.sh copies it."""
    directory = tmp_path / "repository"
    (directory / "scripts").mkdir(parents=True)
    (directory / "configs").mkdir()
    git(directory, "init", "-q", "-b", "main")
    (directory / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(fake NONE)\n"
        "add_custom_target(kselect ALL COMMAND ${CMAKE_COMMAND} -E copy "
        "${CMAKE_SOURCE_DIR}/program ${CMAKE_BINARY_DIR}/kselect)\n")
    (directory / "configs" / "ci.json").write_text(json.dumps(CONFIG))
    build = directory / "scripts" / "build.sh"
    build.write_text("#!/bin/sh\nmkdir -p build/release && cp program build/release/kselect\n")
    build.chmod(0o755)
    (directory / ".gitignore").write_text("build/\nout/\npublic/\n")
    for tag, factor in [("fast", 1.0), ("slow", SLOWER)]:
        program("", factor, directory / "program")
        git(directory, "add", ".")
        git(directory, "commit", "-q", "-m", tag)
        git(directory, "tag", tag)
    return directory


def prepared(repository):
    """The same repository with its program built."""
    subprocess.run(["scripts/build.sh"], cwd=repository, check=True)
    return repository


def commit_of(repository, name):
    """The whole name of a commit."""
    return subprocess.run(["git", "-C", repository, "rev-parse", name], check=True, text=True,
                          capture_output=True).stdout.strip()


def shell(script, repository, tmp_path, **environment):
    """Runs a script as a runner does; returns its exit code and what it said."""
    given = {"CONFIG": "configs/ci.json", "ROUNDS": "7", "STORE": str(tmp_path / "store"), "KSELECT_PYTHON": sys.executable,
             "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}
    done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", script], cwd=repository, text=True, timeout=900,
                          env=os.environ | given | environment, capture_output=True, check=False)
    return done.returncode, done.stdout + done.stderr


def github(job, repository, tmp_path, **environment):
    """Runs a workflow's job; returns whether it succeeded, and what it said."""
    failed, said = False, ""
    for script, always in github_steps(job):
        if failed and not always:
            continue
        code, text = shell(script, repository, tmp_path, **environment)
        failed, said = failed or code != 0, said + text
    return not failed, said


def gitlab(job, repository, tmp_path, **environment):
    """The same of a GitLab job."""
    code, said = shell("\n".join(gitlab_script(job)), repository, tmp_path, **environment)
    return code == 0, said


RUNNERS = [pytest.param(github, "BASE", "GITHUB_SHA", id="github"),
           pytest.param(gitlab, "CI_MERGE_REQUEST_DIFF_BASE_SHA", "CI_COMMIT_SHA", id="gitlab")]


@pytest.mark.slow
@pytest.mark.parametrize(("runner", "base", "sha"), RUNNERS)
def test_a_pull_request_is_judged(runner, base, sha, repository, tmp_path):
    """The slower commit fails its job, and its pages are there all the same; the faster one then passes."""
    store = tmp_path / "store"
    if runner is gitlab:  # the other one measures the floor by its own step
        shell('build/release/kselect noise "$CONFIG" --rounds 2 --out out/noise && mkdir -p "$STORE" && '
              'cp out/noise/noise.json "$STORE"', prepared(repository), tmp_path)
    before = store.exists()
    ended_well, said = runner("judge", repository, tmp_path, **{base: commit_of(repository, "fast")})
    assert not ended_well, said
    pages = repository / "out" / "pages"
    assert "4 regressions" in (pages / "verdict.md").read_text()
    assert "turns" in (pages / "report.html").read_text()
    assert (pages / "board" / "index.html").is_file()
    told = (tmp_path / "summary.md").read_text() if runner is github else said
    assert "4 regressions" in told
    floor = store / "noise.json"
    assert len(json.loads(floor.read_text())["cells"]) == 4
    assert before or "measured against themselves in 14 turns" in said

    # The floor stays, and its file is not written again.
    measured = floor.stat().st_mtime_ns
    git(repository, "checkout", "-q", "fast")
    git(repository, "clean", "-q", "-d", "-f", "-x")
    ended_well, said = runner("judge", repository, tmp_path, **{base: commit_of(repository, "slow")})
    assert ended_well, said
    assert "4 improvements" in (pages / "verdict.md").read_text()
    assert floor.stat().st_mtime_ns == measured


@pytest.mark.slow
@pytest.mark.parametrize(("runner", "base", "sha"), RUNNERS)
def test_every_commit_is_kept_and_put_on_the_board(runner, base, sha, repository, tmp_path):
    for i in range(2):
        ended_well, said = runner("keep", repository, tmp_path, **{sha: f"{i:040}"})
        assert ended_well, said
    assert sorted(path.name for path in (tmp_path / "store" / "history").iterdir()) == [f"{i:040}" for i in range(2)]
    site = repository / ("public" if runner is gitlab else "out/pages/board")
    assert (site / "data" / "run-001.js").is_file()
    said = (tmp_path / "summary.md").read_text() if runner is github else said
    assert "2 runs" in said and "no change" in said


def test_steps_are_found():
    assert [len(github_steps(job)) for job in ("judge", "keep")] == [4, 4]
    assert [len(gitlab_script(job)) for job in ("judge", "keep")] == [7, 6]
    assert github_steps("judge")[-1][1] and not github_steps("judge")[0][1]
    assert "kselect ab" in github_steps("judge")[2][0] and "kselect ab" in gitlab_script("judge")[3]
