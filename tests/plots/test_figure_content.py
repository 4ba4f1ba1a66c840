"""What figures may not say: curves of two points, one colour twice, dots without a key, absent cells."""

import dataclasses
from pathlib import Path

from plots import style
from plots.figures import Options, ceiling_share, performance_profile, time_over_n, winner_map

from conftest import GPU_CONTENDERS, cell, problem, write_run
from test_figures import all_of, only, rows, texts


def test_two_points_make_no_curve(tmp_path: Path) -> None:
    style.apply()
    cells = [cell(c, problem(n, 16, 8)) for c in GPU_CONTENDERS[:2] for n in (1024, 2048)]
    records = all_of(write_run(tmp_path / "two", cells))
    assert time_over_n.draw(records, Options()) == []
    assert ceiling_share.draw(records, Options()) == []
    cells += [cell(c, problem(4096, 16, 8)) for c in GPU_CONTENDERS[:2]]
    records = all_of(write_run(tmp_path / "three", cells))
    assert only(time_over_n.draw(records, Options()))
    assert only(ceiling_share.draw(records, Options()))


def test_twelve_series_have_twelve_colours() -> None:
    looks = style.looks(f"algorithm {i}" for i in range(12))
    assert len({look.colour for look in looks.values()}) == 12


def test_the_key_of_a_winner_map_explains_its_dots(tmp_path: Path) -> None:
    style.apply()

    def key(noise: float) -> list[str]:
        cells = [cell(c, problem(1024, 16, k)) for c in GPU_CONTENDERS[:2] for k in (8, 16)]
        for c in cells:
            median = c["time"]["median"]
            c["time"]["ci95"] = [median * (1 - noise), median * (1 + noise)]
        records = all_of(write_run(tmp_path / f"run-{noise}", cells))
        figure = only(winner_map.draw(records, Options())).figure
        return [text.get_text() for legend in figure.legends for text in legend.get_texts()]

    explained = "the first two's 95 % intervals overlap: their order is open"
    assert explained in key(0.9)
    assert explained not in key(0.0)


def test_what_the_config_leaves_out_does_not_count_in_a_profile(tmp_path: Path) -> None:
    style.apply()
    a, b, c = (dataclasses.replace(GPU_CONTENDERS[0], name=name) for name in "abc")
    cells = [cell(one, problem(n, 16, 8)) for one in (a, b) for n in (1024, 2048, 4096)]
    cells.append(cell(c, problem(1024, 16, 8)))  # the config has `c` on the least n alone
    cells.append(cell(c, problem(2048, 16, 8), "timeout", "no answer"))
    records = all_of(write_run(tmp_path / "run", cells))
    ratios = performance_profile.ratios(records)
    assert [len(ratios[name]) for name in "abc"] == [3, 3, 2]
    drawing = only(performance_profile.draw(records, Options()))
    told = texts(drawing.figure)
    assert "c: infinite on 1 of 2; 1 timeout (no answer); 1 of 3 problems are not in" in told
    # Its line rises to the half that it solved, not to a third.
    heights = [max(line.get_ydata()) for axes in drawing.figure.axes for line in axes.lines]
    assert 0.5 in heights
    assert not any(0.3 < height < 0.4 for height in heights)
    mine = [row for row in rows(drawing) if row["algorithm"] == "c"]
    of_c = {row["n"]: (row["ratio"], row["status"]) for row in mine}
    assert of_c["2048"] == ("inf", "timeout")
    assert of_c["4096"] == ("", "not in the run")
