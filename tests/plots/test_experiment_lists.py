"""The lists of experiments: what they may say, and that they name what there is."""

import fnmatch
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from plots.errors import PlotError
from plots.reproduce import claims, document, manifest

from conftest import ROOT



def written(tmp_path: Path, text: str) -> Path:
    """Return a folder with one list of experiments."""
    (tmp_path / "list.toml").write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[[experiment", "cannot be read"),
        ('[[experiment]]\nid = "a b"', "id is 'a b', not a short name"),
        (
            '[[experiment]]\nid = "a"\nconfigs = "x"',
            "unknown key 'configs'; did you mean 'config'?",
        ),
        ('[[experiment]]\nid = "a"', "a: needs one of config, stages_of, searches_of and needs"),
        ('[[experiment]]\nid = "a"\nconfig = "c"\nlike = "b"', "like = 'b' names none before it"),
        (
            '[[experiment]]\nid = "a"\nconfig = "c"\n[[experiment.figure]]\nx = "n"',
            "a figure has no kind",
        ),
        (
            '[[experiment]]\nid = "a"\nconfig = "c"\nclaim = [{ says = "s", measure = "m" }]',
            "both of measure",
        ),
        (
            '[[experiment]]\nid = "a"\nconfig = "c"\nclaim = [{ says = "s" }]',
            "has either a measure or what it `needs`",
        ),
        (
            '[[experiment]]\nid = "a"\nconfig = "c"\n[[experiment.claim]]\nsays = "s"\n'
            'measure = "m"\nreproduced = "> 1"\ncause = [{ kind = "luck" }]',
            "a cause is of kind 'luck'",
        ),
        (
            '[[experiment]]\nid = "a"\nneeds = "b"\n[[experiment]]\nid = "a"\nneeds = "b"',
            "two experiments",
        ),
    ],
)
def test_a_bad_list_is_refused_with_its_file_and_key(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(PlotError) as caught:
        manifest.load(written(tmp_path, text))
    assert str(caught.value).startswith(f"{tmp_path}/list.toml: ")
    assert told in str(caught.value)


def test_sizes_may_be_powers() -> None:
    assert [manifest.size(v, "") for v in (7, "2^15", "10^3")] == [7, 32768, 1000]
    for bad in ("2**3", 2.0, True, None):
        with pytest.raises(PlotError, match="is not a size"):
            manifest.size(bad, "here")


def names(value: Any) -> Iterator[str]:
    """Yield the algorithms that an entry names, at any depth."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key in ("of", "over", "among", "than_of", "than_over"):
                yield from inner
            else:
                yield from names(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from names(inner)


def config_of(name: str) -> list[str]:
    """Return the algorithms of a config of this name, as names or globs."""
    config = json.loads((ROOT / "configs" / f"{name}.json").read_text())
    assert config["name"] == name
    parts = config.get("parts", [config])
    named = [a if isinstance(a, str) else a["name"] for part in parts for a in part["algorithms"]]
    return [name for name in named if name != "*"] if len(parts) > 1 else named


def in_config(name: str, patterns: Sequence[str]) -> bool:
    """Tell whether a config runs an algorithm."""
    return any(fnmatch.fnmatchcase(name, p) or fnmatch.fnmatchcase(p, name) for p in patterns)


def test_every_experiment_has_its_config_and_names_only_algorithms_of_it() -> None:
    experiments = manifest.load()
    assert len(experiments) > 30
    for one in experiments:
        if not one.config:
            continue
        patterns = config_of(one.config)
        if one.searches_of:
            continue  # told by traits
        asked = [*(f.ask for f in one.figures), *(c.ask for c in one.claims)]
        for name in {name for ask in asked for name in names(ask)}:
            assert in_config(name, patterns), f"{one.id}: {name} is not in {one.config}.json"


def test_every_cause_names_a_config_and_algorithms_of_it() -> None:
    for one in manifest.load():
        for cause in (cause for each in one.claims for cause in each.causes):
            config = cause.get("record", one.config)
            if not config:
                continue  # searches
            patterns = config_of(config)
            found = [n for key in ("of", "over") for n in cause.get(key, ())]
            fits = [n for n in found if in_config(n, patterns)]
            assert bool(fits) == bool(found), f"{one.id}: {config}.json has none of {found}"


def test_every_published_figure_is_listed() -> None:
    listed = {one.id for one in manifest.load()}
    published = {
        "K": "fig4 fig5 fig5-text fig6 fig7 fig8 fig9 table2",
        "T": "fig5a fig5b fig6 fig7 fig8 fig9a fig9b table1",
        "B": "fig3.2 fig3.3 table3.1 fig4.1 fig4.2 fig4.3 fig4.4 fig4.5",
    }
    assert {
        f"{paper}-{name}" for paper, all_ in published.items() for name in all_.split()
    } <= listed


def all_claims() -> list[tuple[manifest.Experiment, manifest.Claim]]:
    return [(one, each) for one in manifest.load() for each in one.claims]


def test_every_claim_can_be_measured_or_says_what_it_needs() -> None:
    for one, each in all_claims():
        for text in (each.reproduced, each.direction):
            for part in text.split(", ") if text else ():
                claims.expectation(part, one.id)


def test_a_band_is_the_published_number_within_half_as_much_again() -> None:
    for one, each in all_claims():
        if not each.published or each.measure == "place":
            continue
        band = re.fullmatch(r"([\d.]+) \.\. ([\d.]+)", each.reproduced)
        assert band, f"{one.id}: {each.says}: a published number needs a two-sided band"
        assert float(band[2]) == pytest.approx(1.5 * each.published, rel=0.06), each.says
        least = each.published / 1.5
        if each.published > 1:
            least = max(least, 1)  # a slow-down does not reproduce a speed-up
        assert float(band[1]) <= least * 1.06, each.says
        if each.measure == "speed-up" and each.published > 1:
            assert float(band[1]) >= 1, f"{one.id}: {each.says}: the band has slow-downs"
        assert each.direction, f"{one.id}: {each.says}: needs a direction"


def test_at_most_one_difference_is_explained_without_a_measurement() -> None:
    assert sum(bool(each.explanation) for _, each in all_claims()) <= 1


def test_no_panel_has_more_than_eight_lines() -> None:
    for one in manifest.load():
        for figure in one.figures:
            for panel in figure.ask.get("panels", ()):
                assert len(panel.get("lines", ())) <= 8, one.id


def test_every_experiment_of_a_paper_says_in_words_what_is_seen() -> None:
    for one in manifest.load():
        if one.paper.hardware:
            assert one.reads.strip(), one.id
            document._filled(one, [])


def test_the_lists_are_valid_toml_with_one_paper_each() -> None:
    for path in manifest.EXPERIMENTS.glob("*.toml"):
        assert tomllib.loads(path.read_text())["paper"]["key"] in "KTBX"
