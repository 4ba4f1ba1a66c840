"""The command of the reproduction: what is told and written, what --check sees, what --run runs."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image, ImageDraw
from plots import compress
from plots import save as saving
from plots.reproduce import several, sweeps
from plots.reproduce.__main__ import main

from conftest import ROOT, garcia_cells, write_run


@pytest.fixture(autouse=True)
def _no_pdf(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the content of PDF files, which takes half of a figure's time; no check reads it."""
    picture = saving._picture
    monkeypatch.setattr(saving, "_picture", lambda d, end: b"%PDF" if end == "pdf" else picture(d, end))


def test_a_damaged_run_is_named_and_the_others_drawn(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([]) == 3
    told = capsys.readouterr().err
    assert "other-gpu/komarov_fig8/runs.jsonl:1: the checksum does not match" in told
    assert "K-fig8: not yet recorded: run `kselect run configs/komarov_fig8.json" in told
    assert "B-fig3.2: not yet recorded: run `kselect run configs/barrientos.json" in told
    written = sorted(path.name for path in (here / "reproduction").iterdir())
    assert written == [f"K-fig4-some-gpu.{end}" for end in ("csv", "pdf", "png")]
    text = (here / "REPRODUCTION.md").read_text()
    assert "![K-fig4: Speed-up over Garcia's insertion against n, some-gpu]" in text
    assert "[`results/some-gpu/komarov_fig4`](results/some-gpu/komarov_fig4)" in text
    assert "no cell of garcia here" not in text
    (row,) = (line for line in text.splitlines() if "More than 350 times" in line)
    assert row.endswith(
        "cannot test: no record: no problem has a time of both qms-warp+paper or qms-block+paper and "
        "garcia or garcia+global |"
    ) or "has no cell" in row


def test_an_unknown_version_is_named(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    meta = here / "results" / "other-gpu" / "komarov_fig8" / "meta.json"
    meta.write_text(meta.read_text().replace('"schema": 1', '"schema": 7'))
    assert main(["K-fig4", "K-fig8", "--out", "o"]) == 3
    assert "komarov_fig8/meta.json: schema 7 is not known" in capsys.readouterr().err
    assert (here / "o" / "reproduction" / "K-fig4-some-gpu.png").exists()


@pytest.fixture
def committed(here: Path) -> Path:
    """Return a repository whose reproduction follows from its one good run."""
    shutil.rmtree(here / "results" / "other-gpu")
    assert main([]) == 0
    return here


def checked(capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Run --check; return its exit code and what it says of files."""
    capsys.readouterr()
    code = main(["--check"])
    told = [line for line in capsys.readouterr().err.splitlines() if "not yet" not in line]
    return code, "\n".join(told)


def test_check_passes_on_what_was_written_and_writes_nothing(
    committed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {p: p.stat().st_mtime_ns for p in committed.rglob("*") if p.is_file()}
    assert checked(capsys)[0] == 0
    assert {p: p.stat().st_mtime_ns for p in committed.rglob("*") if p.is_file()} == before
    (committed / "reproduction" / "K-fig4-some-gpu.pdf").unlink()  # is not committed
    assert checked(capsys)[0] == 0


def test_check_fails_on_each_file_that_no_longer_follows(
    committed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    figure = committed / "reproduction" / "K-fig4-some-gpu.png"
    table = figure.with_suffix(".csv")
    document = committed / "REPRODUCTION.md"
    for path, told in ((table, "line 2 would be"), (document, "line")):
        whole = path.read_text()
        path.write_text(whole.replace("64", "65"))
        code, said = checked(capsys)
        assert (code, f"{path.name}: does not follow from the records: {told}" in said) == (1, True)
        path.write_text(whole)
    original = Image.open(figure).convert("RGB")
    moved = original.copy()
    ImageDraw.Draw(moved).ellipse((200, 200, 206, 206), fill=(0, 0, 0))  # a point more
    moved.save(figure)
    code, said = checked(capsys)
    assert (code, "of its pixels differ" in said) == (1, True)
    original.save(figure)  # other bytes, the same picture
    assert checked(capsys)[0] == 0
    figure.unlink()
    assert "K-fig4-some-gpu.png: missing" in checked(capsys)[1]
    main([])
    stale = committed / "reproduction" / "K-fig8-some-gpu.png"
    stale.write_bytes(figure.read_bytes())
    code, said = checked(capsys)
    assert (code, "K-fig8-some-gpu.png: no record gives this figure any more" in said) == (1, True)
    main([])
    assert not stale.exists()


def test_check_fails_when_a_record_changes(
    committed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = garcia_cells()
    cells[0]["time"]["median"] *= 1.01
    write_run(committed / "results" / "some-gpu" / "komarov_fig4", cells)
    assert checked(capsys)[0] == 1


@pytest.mark.slow
def test_the_committed_reproduction_follows_from_the_committed_records() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "plots.reproduce", "--check"],
        cwd=ROOT,
        env=os.environ | {"PYTHONHASHSEED": "7"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_one_run_is_drawn_from_anywhere(
    here: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run(tmp_path / "mine" / "new", garcia_cells(), run="komarov_fig4")
    assert main(["--from", str(run)]) == 0
    assert (here / "out" / "reproduction" / "reproduction" / "K-fig4-mine.png").exists()
    assert not (here / "reproduction").exists()
    capsys.readouterr()
    empty = tmp_path / "empty"
    empty.mkdir()
    for root, told in ((tmp_path / "none", "no such directory"), (empty, "holds no run")):
        assert main(["--from", str(root)]) == 3
        assert f"{root}: {told}" in capsys.readouterr().err
    other = write_run(tmp_path / "mine" / "other", garcia_cells(), run="my_own")
    assert main(["--from", str(other)]) == 3
    assert "no experiment is recorded here" in capsys.readouterr().err


def test_names_that_are_not_known_are_refused_with_the_nearest(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["K-fig44"]) == 2
    assert "'K-fig44'; the nearest is 'K-fig4'" in capsys.readouterr().err
    assert main(["--colour"]) == 2


def test_the_list_says_what_is_recorded(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    (line,) = (line for line in lines if line.startswith("K-fig4 "))
    assert line.endswith(": some-gpu")
    assert sum("not yet recorded" in line for line in lines) > 20


FAKE = """#!/bin/sh
config=$2
if [ "${*%--dry-run}" != "$*" ]; then
  case $config in
    *fig8.json) echo "0123456789abcdef  qms-block cuda x  [unsupported: no CUDA here]" ;;
    *fig6.json) echo "kselect: fig6.json: no algorithm matches x" >&2; exit 2 ;;
    *) echo "0123456789abcdef  qms-block cuda x"; echo "0123456789abcdee  garcia cuda x" ;;
  esac
  exit 0
fi
echo "$*" >>ran
case $config in *fig5.json) exit 70 ;; esac
"""


def test_a_sweep_is_announced_with_its_time_and_a_failing_one_is_told(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = here / "kselect"
    program.write_text(FAKE)
    program.chmod(0o755)
    shutil.copytree(ROOT / "configs", here / "configs")
    options = ["K-fig4", "K-fig5", "K-fig6", "K-fig8", "K-fig9", "--run", "--machine", "my-gpu"]
    options += ["--program", str(program), "--out", "o"]
    assert main([*options, "--plan"]) == 0
    plan = capsys.readouterr().out
    assert "configs/komarov_fig4.json: 2 cells, as last time about 2 s" in plan  # of 0.8 s each
    assert "configs/komarov_fig5.json: 2 cells, at most about 8 s" in plan  # 2 x 2 x 2 s
    assert "configs/komarov_fig8.json: nothing of it can run here: no CUDA here" in plan
    assert "nothing of it can run here: kselect: fig6.json: no algorithm matches x" in plan
    assert not (here / "ran").exists()
    # 2 x 2 x 1 s
    assert "configs/causes_komarov.json on 16 multiprocessors: 2 cells, at most about 4 s" in plan
    assert main(options) == 3
    ran = (here / "ran").read_text().splitlines()
    whole = [f"komarov_{name}" for name in ("fig4", "fig5", "fig9")]
    into = "--resume --out results/my-gpu"
    assert ran[:3] == [f"run configs/{name}.json {into}/{name}" for name in whole]
    # The causes of their claims come last, first on the whole GPU.
    assert f"run configs/causes_komarov.json {into}/causes_komarov" in ran
    confined = "run configs/causes_komarov.json --multiprocessors 16"
    assert f"{confined} {into}/causes_komarov_16mp" in ran
    assert "komarov_fig5: " in (told := capsys.readouterr().err)
    assert "ended with 70" in told


def test_a_complete_run_is_not_repeated_and_an_interrupted_one_goes_on(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "kselect").write_text(FAKE)
    (here / "kselect").chmod(0o755)
    shutil.copytree(ROOT / "configs", here / "configs")
    into = here / "out" / "new"
    write_run(into / "komarov_fig8", garcia_cells())
    write_run(into / "komarov_fig9", garcia_cells(), state="interrupted")
    asked = ["K-fig8", "K-fig9", "--program", "./kselect", "--into", str(into), "--plan"]
    assert sweeps.main(asked) == 0
    plan = capsys.readouterr().out
    assert "komarov_fig9.json" in plan
    assert "komarov_fig8.json" not in plan
    assert "in all about" in plan
    compress.main([str(into / "komarov_fig9")])
    assert sweeps.main(asked[:-1]) == 0
    assert (into / "komarov_fig9" / "runs.jsonl").exists()
    assert not (into / "komarov_fig9" / "runs.jsonl.gz").exists()
    assert sweeps.main(["--paper", "Z"]) == 2
    assert "no paper is called 'Z'; there are B, K, T, X" in capsys.readouterr().err


def test_sweeps_of_an_unknown_id_name_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert sweeps.main(["K-fig88", "--plan"]) == 2
    told = capsys.readouterr().err
    assert told == "sweeps: no experiment is called 'K-fig88'; the nearest is 'K-fig8'\n"
    assert sweeps.main(["--paper", "T", "K-fig8", "--plan"]) == 2
    assert "no experiment is called 'K-fig8'; the nearest is 'T-fig8'" in capsys.readouterr().err


def test_an_interrupted_sweep_ends_with_130(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "kselect").write_text(FAKE + "exit 130\n")
    (here / "kselect").chmod(0o755)
    shutil.copytree(ROOT / "configs", here / "configs")
    program = ["--program", "./kselect", "--into", str(here / "out")]
    for command, name in ((sweeps.main, "sweeps"), (main, "reproduce")):
        asked = ["K-fig9", *program, *(["--run"] if name == "reproduce" else [])]
        assert command(asked) == 130
        told = capsys.readouterr().err
        assert told.splitlines()[-1] == f"{name}: interrupted; what is recorded is complete"


# Two sweeps wait for each other, so one after the other ends without the word that follows.
MEET = """for last; do :; done; echo $CUDA_VISIBLE_DEVICES >met-${last##*/}
turns=0
while [ $(ls met-* | wc -l) -lt 2 ]; do
  [ $((turns += 1)) -lt 1200 ] || exit 9
  sleep 0.05
done
"""


def test_sweeps_run_on_several_gpus_at_a_time(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "kselect").write_text(FAKE + MEET + "echo done; exit 1\n")
    (here / "kselect").chmod(0o755)
    shutil.copytree(ROOT / "configs", here / "configs")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,5")
    asked = ["T-fig7", "T-fig9a", "--program", "./kselect", "--into", "new", "--gpus"]
    assert sweeps.main([*asked, "3"]) == 2
    assert capsys.readouterr().err == "sweeps: --gpus 3: this machine shows 2\n"
    assert not (here / "ran").exists()
    assert sweeps.main([*asked, "2"]) == 0
    told = capsys.readouterr().out
    assert "on 2 GPUs, into new" in told
    assert "tang_fig7: done" in told
    seen = {path.name: path.read_text().strip() for path in here.glob("met-*")}
    assert set(seen) >= {"met-tang_fig7", "met-tang_fig9a"}
    assert set(seen.values()) == {"3", "5"}


def test_no_sweep_begins_on_another_gpu_after_an_interruption(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "kselect").write_text(FAKE + MEET + "exit 130\n")
    (here / "kselect").chmod(0o755)
    shutil.copytree(ROOT / "configs", here / "configs")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    asked = ["--paper", "T", "--program", "./kselect", "--into", "new", "--gpus", "2"]
    assert sweeps.main(asked) == 130
    assert len((here / "ran").read_text().splitlines()) == 2
    assert capsys.readouterr().err == "sweeps: interrupted; what is recorded is complete\n"


def test_a_program_that_cannot_start_ends_the_runs() -> None:
    place = several.Share("0", os.sched_getaffinity(0))
    with pytest.raises(FileNotFoundError):
        several.run([several.Job("x", ["./no-such-program"], 1.0)], [place, place])


def test_the_longest_sweeps_begin_first() -> None:
    assert several.time_of([1, 2, 3, 4], 2) == 5
    assert several.time_of([1, 9, 2, 3], 2) == 9
    assert several.time_of([], 4) == 0


def test_the_runs_need_the_standard_library_alone() -> None:
    code = "import sys, plots.reproduce.sweeps; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert not {"numpy", "matplotlib", "PIL"} & set(done.stdout.split())


def test_without_the_program_a_sweep_says_so(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--run"]) == 3
    assert "build/release/kselect: no such program" in capsys.readouterr().err
