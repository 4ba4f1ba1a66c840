"""The command line: exit codes, one-line messages, files that appear whole or not at all."""

import re
from pathlib import Path

import pytest
from plots import index_page
from plots import save as saving
from plots.__main__ import main
from plots.errors import PlotError
from plots.figures import Options, time_over_n
from plots.files import write_file
from plots.records import load

import chromium
from conftest import CONTENDERS, GPU_CONTENDERS, cell, problem, write_run


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Return a run that draws quickly."""
    cells = [cell(c, problem(1 << e, 4, 8)) for c in GPU_CONTENDERS[:2] for e in (10, 11, 12)]
    return write_run(tmp_path / "small", cells)


@pytest.fixture
def unpainted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the pictures' content, which takes most of the time, where a test asks which figures there are."""
    monkeypatch.setattr(saving, "_picture", lambda *_: b"a picture")
    monkeypatch.setattr(saving, "_with_palette", lambda picture: picture)


def failed(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str]:
    """Run the command; return its exit code and the one line it must write to stderr."""
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("plots: ")
    assert captured.err.count("\n") == 1
    return code, captured.err


def test_each_figure_is_written_in_three_forms_and_listed_on_a_page(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new" / "out"
    assert main([str(small), "--out", str(out)]) == 0
    written = sorted(path.name for path in out.iterdir())
    slug = "cuda-uniform-float32-int32-smallest-values_and_indices-q4"
    group = slug.removesuffix("-q4")
    names = sorted(
        [f"{kind}-{slug}" for kind in ("ceiling", "speedup", "time")]
        + [f"{kind}-{group}" for kind in ("profile", "winner")]
    )
    files = [f"{name}.{end}" for name in names for end in ("csv", "pdf", "png")]
    assert written == sorted([*files, "index.html"])
    captured = capsys.readouterr()
    assert captured.out == f"{out / 'index.html'}\n"
    assert captured.err == ""
    page = (out / "index.html").read_text()
    assert set(re.findall(r'(?:src|href)="([^#"]+)"', page)) == set(files)
    assert page.count("<img ") == len(names)
    assert "The fastest algorithm: float32 values and indices, smallest, uniform, cuda" in page
    assert "how many times as long the second takes" in page  # what the kind shows


@pytest.mark.usefixtures("unpainted")
def test_at_most_ten_figures_are_drawn_unless_all_are_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep = [
        cell(c, problem(n, q, k, distribution=d))
        for c in GPU_CONTENDERS[:2]
        for d in ("ascending", "uniform")
        for q in (4, 16)
        for n in (1024, 2048, 4096)
        for k in (8, 16)
    ]
    run = write_run(tmp_path / "run", sweep)
    assert main([str(run), "--out", str(tmp_path / "few")]) == 0
    assert "plots: drawn: 10 of 17 figures; --all draws the rest" in capsys.readouterr().err
    few = {path.stem for path in (tmp_path / "few").glob("*.png")}
    assert len(few) == 10
    # Each kind is there, first of uniform rows.
    kinds = {name.split("-")[0] for name in few}
    assert kinds == {"ceiling", "profile", "robustness", "speedup", "time", "winner"}
    assert sum("-ascending-" in name for name in few) < sum("-uniform-" in name for name in few)
    page = (tmp_path / "few" / "index.html").read_text()
    assert "<h2>7 more, which --all draws</h2>" in page
    assert main([str(run), "--out", str(tmp_path / "all"), "--all"]) == 0
    assert len(list((tmp_path / "all").glob("*.png"))) == 17
    assert "more, which" not in (tmp_path / "all" / "index.html").read_text()
    assert main([str(run), "--out", str(tmp_path / "one"), "--figure", "speedup"]) == 0
    assert len(list((tmp_path / "one").glob("*.png"))) == 4


def test_the_page_of_figures_suits_narrow_screens_and_needs_no_network(
    small: Path, tmp_path: Path
) -> None:
    if chromium.program() is None:
        pytest.skip(f"none of {', '.join(chromium.PROGRAMS)} is installed")
    out = tmp_path / "out"
    assert main([str(small), "--out", str(out), "--figure", "winner"]) == 0
    with chromium.browser() as page:
        page.resize(400, 900)
        page.prefer("dark")
        loaded = "[...document.images].every(i => i.complete && i.naturalWidth > 0)"
        page.open(out / "index.html", f"String(document.images.length === 1 && {loaded})")
        assert page.run("document.documentElement.scrollWidth") <= 400
        assert page.run("getComputedStyle(document.body).color") == "rgb(255, 255, 255)"
        assert page.errors == []
        assert page.requests == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n·Q = $2^{20}$  |  cuda", "n·Q = 2^20, cuda"),
        (r"costs \$5 and \$6", "costs $5 and $6"),
        (r"\$ and $10^{-3}$", "$ and 10^-3"),
    ],
)
def test_titles_on_the_page_have_no_mathematics(text: str, expected: str) -> None:
    assert index_page.plain(text) == expected


@pytest.mark.usefixtures("unpainted")
def test_only_the_figure_asked_for_is_drawn(small: Path, tmp_path: Path) -> None:
    assert main([str(small), "--out", str(tmp_path / "out"), "--figure", "time"]) == 0
    written = {path.name.split("-")[0] for path in (tmp_path / "out").iterdir()}
    assert written == {"index.html", "time"}


def test_list_needs_no_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    several = ["ceiling", "profile", "robustness", "speedup", "stages", "time", "updates"]
    assert listed == [*several, "winner", "work"]


def test_usage_errors_end_with_2(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert failed(capsys)[0] == 2
    assert failed(capsys, small, "--colour", "red")[0] == 2
    assert failed(capsys, small, "--figure", "tim") == (
        2,
        "plots: no figure is called 'tim'; the nearest is 'time'\n",
    )
    assert failed(capsys, small, "--baseline", "komarov/qms_blok") == (
        2,
        "plots: no algorithm is called 'komarov/qms_blok'; the nearest is 'komarov/qms_block'\n",
    )


def test_input_errors_end_with_3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert failed(capsys, tmp_path / "none")[0] == 3
    cells = [cell(CONTENDERS[2], problem(1024, 4, 8), "error", "it failed")]
    code, message = failed(capsys, write_run(tmp_path / "failed", cells))
    assert (code, "no cell is ok" in message) == (3, True)
    assert failed(capsys, write_run(tmp_path / "empty", []))[0] == 3


def test_another_kind_of_record_is_told_with_what_draws_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "scaling.jsonl").write_text("{}")
    code, message = failed(capsys, tmp_path)
    assert (code, "python -m plots.older_searches" in message) == (3, True)


def test_an_output_that_cannot_be_written_ends_with_6(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("in the way")
    code, message = failed(capsys, small, "--out", tmp_path / "file")
    assert (code, "file: cannot be written" in message) == (6, True)


def test_a_write_that_fails_leaves_the_old_file_and_nothing_unfinished(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawing = time_over_n.draw(load(small).records, Options())[0]
    out = tmp_path / "out"
    saving.save(drawing, out)
    before = {path.name: path.read_bytes() for path in out.iterdir()}

    def full(path: Path, data: bytes) -> int:
        with path.open("wb") as file:
            file.write(data[: len(data) // 2])
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(PlotError, match="No space left on device"):
        saving.save(drawing, out)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_a_link_stays_and_the_file_that_it_names_is_written(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "link.svg").symlink_to("far/real.svg")
    write_file(tmp_path / "link.svg", b"new")
    assert (tmp_path / "link.svg").is_symlink()
    assert [path.name for path in (tmp_path / "far").iterdir()] == ["real.svg"]
    assert (tmp_path / "far" / "real.svg").read_bytes() == b"new"


@pytest.mark.usefixtures("unpainted")
def test_a_torn_line_is_told_and_the_rest_drawn(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (small / "runs.jsonl").open("ab") as file:
        file.write(b'{"schema":1,"key":"01')
    assert main([str(small), "--out", str(tmp_path / "out")]) == 0
    assert "runs.jsonl:7: ignored an unfinished line (21 bytes)" in capsys.readouterr().err


@pytest.mark.usefixtures("unpainted")
def test_cells_that_no_figure_of_a_kind_shows_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes = [(1024, 4), (2048, 4), (4096, 4), (1000, 7)]
    cells = [cell(c, problem(n, q, 8)) for c in GPU_CONTENDERS[:2] for n, q in sizes]
    run = write_run(tmp_path / "run", cells)
    assert main([str(run), "--out", str(tmp_path / "out"), "--figure", "time"]) == 0
    said = capsys.readouterr().err
    assert "plots: time: 2 of 8 cells are in no figure; this kind is: time against n" in said
    assert "(three or more n)" in said
