"""Writes REPRODUCTION.md: the headline statements, then each experiment in words and numbers."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from plots.errors import Failure, PlotError
from plots.reproduce.claims import VERDICTS, Tested
from plots.reproduce.data_sets import table_of
from plots.reproduce.library import Source
from plots.reproduce.manifest import Experiment, Paper
from plots.words import amount_of

_HEAD = """# Reproduction

What three papers state, and what their experiments give here. `scripts/reproduce.sh` makes this page from the records
under `results/`. The experiments and how each claim is judged stand in `plots/reproduce/experiments/`.
"""
_RULES = """## How a claim is judged

A claim is judged on the algorithm in the form that its paper publishes; this project's faster forms are drawn beside
it. There are three verdicts:

- **reproduced**: our number is in the band beside the claim. For a claim with a size the band is the paper's number
  within a factor of 1.5 each way, but a slow-down never reproduces a speed-up. Of a range each end has its band. "Flat"
  is a factor of 1.25 between the largest and the smallest value. A claim without a size is reproduced where its
  direction holds by at least 5 %.
- **same direction, other size**: the statement holds, its number does not.
- **contradicted**: the statement does not hold here.

What has no record yet, a tie within 5 % and a place at the end of an axis decide nothing: *cannot test*, with the
reason. A tie decides if each of its places would have the same verdict. Below each table stands what experiments show
of why a claim differs. Numbers are of one machine; of several records on one model of GPU or processor the newest
counts. † marks a record older than the rule that a record names a commit of the history and kernels of that commit
(`results/older_records.toml`).

The papers compare with the programs of Garcia, Sismanis and Alabi. Those were not at hand: here these baselines are this
project's own implementations.
"""
_MARK = {
    "reproduced": "**reproduced**",
    "same direction, other size": "**same direction, other size**",
    "contradicted": "**contradicted**",
    "cannot test": "cannot test",
}
# What a measure's number is, where the number does not say it.
_OF = {"fastest": " of the problems", "outlasts": " of the cells", "flattens": " rows"}


@dataclass(frozen=True)
class Drawn:
    """The results of one experiment on one machine."""

    source: Source
    names: tuple[str, ...]  # file names of its figures, without ending
    missing: tuple[str, ...]  # why others were not drawn
    older: tuple[str, ...] = ()  # of its runs, why they are older records


@dataclass(frozen=True)
class Outcome:
    """The results of one experiment on all machines."""

    experiment: Experiment
    drawn: tuple[Drawn, ...]
    tested: tuple[Tested, ...]


def write(outcomes: Sequence[Outcome], figures: str) -> str:
    """Return the document; `figures` is the path of the figures' folder relative to it."""
    lines = [_HEAD, *_headlines(outcomes), *_summary(outcomes), "", _RULES]
    for paper in dict.fromkeys(o.experiment.paper for o in outcomes):
        own = [o for o in outcomes if o.experiment.paper == paper]
        lines += [f"## {paper.cite}", ""]
        if paper.hardware:
            lines += [f"Measured there on: {paper.hardware}.", ""]
        if paper.note:
            lines += [paper.note.strip(), ""]
        for outcome in own:
            lines += _section(outcome, figures)
    return "\n".join(lines).rstrip() + "\n"


def decided(tested: Sequence[Tested]) -> list[Tested]:
    """Return one outcome of each claim for each machine that can test it, else the first."""
    found: list[Tested] = []
    for claim in dict.fromkeys(id(t.claim) for t in tested):
        own = [t for t in tested if id(t.claim) == claim]
        with_number = [t for t in own if t.verdict != "cannot test"]
        found += with_number or [next((t for t in own if t.ours), own[-1])]
    return found


def _headlines(outcomes: Sequence[Outcome]) -> list[str]:
    tested = [t for o in outcomes for t in decided(o.tested) if t.claim.headline]
    if not tested:
        return []
    lines = [
        "## The headline statements",
        "",
        "| paper | statement | paper's | ours | verdict |",
        "|---|---|---|---|---|",
    ]
    for t in tested:
        ours = _ours(t) + (_OF.get(t.claim.measure, "") if t.ours else "")
        cells = (_link(t.experiment), t.claim.headline, t.claim.paper, ours, _MARK[t.verdict])
        lines.append(f"| {' | '.join(_cell(c) for c in cells)} |")
    return [*lines, ""]


def _link(experiment: Experiment) -> str:
    return f"[{experiment.id}](#{_anchor(experiment)})"


def _anchor(experiment: Experiment) -> str:
    """Return the id of an experiment's section.

    Programs that render Markdown make different ids from a heading with signs, such as "n = 2^15".
    """
    return experiment.id.lower().replace(".", "-")


def _ours(t: Tested) -> str:
    return f"{t.ours}{' †' if t.older else ''}" if t.ours else "no record yet"


def _summary(outcomes: Sequence[Outcome]) -> list[str]:
    lines = [f"| paper | claims | {' | '.join(VERDICTS)} |", "|---|--:|--:|--:|--:|--:|"]
    for paper in dict.fromkeys(o.experiment.paper for o in outcomes):
        tested = [t for o in outcomes if o.experiment.paper == paper for t in decided(o.tested)]
        if not tested:
            continue
        counts = [
            len({id(t.claim) for t in tested if verdict in (t.verdict, "")})
            for verdict in ("", *VERDICTS)
        ]
        lines.append(f"| {_short(paper)} | {' | '.join(map(str, counts))} |")
    return lines


def _short(paper: Paper) -> str:
    return paper.cite.split(",")[0].split(" &")[0]


def _section(outcome: Outcome, figures: str) -> list[str]:
    experiment = outcome.experiment
    tested = decided(outcome.tested)
    anchor = f'<a id="{_anchor(experiment)}"></a>'
    lines = [anchor, "", f"### {experiment.id}: {experiment.title}", ""]
    if experiment.reads:
        lines += [_filled(experiment, tested), ""]
    if experiment.disagreement:
        lines += [experiment.disagreement, ""]
    if not outcome.drawn:
        lines += [f"Not yet recorded: {not_recorded(experiment)}", ""]
    shown = [drawn for drawn in outcome.drawn if drawn.names] or outcome.drawn
    for drawn in shown:
        lines += _drawn(experiment, drawn, figures)
    if tested:
        lines += [*_table(tested), "", *_causes(tested)]
    return lines


def _drawn(experiment: Experiment, drawn: Drawn, figures: str) -> list[str]:
    lines = []
    pictures = [
        f"![{experiment.id}: {experiment.title}, {drawn.source.machine}]({figures}/{name}.png)"
        for name in drawn.names
    ]
    if len(pictures) > 2 or (pictures and not experiment.claims):
        count = amount_of(len(pictures), "figure")
        lines += [f"<details><summary>{count}, {drawn.source.machine}</summary>", ""]
        for picture in pictures:
            lines += [picture, ""]
        lines += ["</details>", ""]
    else:
        for picture in pictures:
            lines += [picture, ""]
    points = ", ".join(f"[{name}.csv]({figures}/{name}.csv)" for name in drawn.names)
    text = f"{'A slice of' if drawn.source.is_slice else 'From'} {_paths(drawn.source)}"
    text += f"; points: {points}." if points else "."
    if drawn.source.is_slice:
        text += f" Its own run is not yet recorded: run `{experiment.how_to_record()}`."
    text += "".join(f" † {reason}." for reason in drawn.older)
    text += "".join(f" Not drawn from it: {reason}." for reason in drawn.missing)
    return [*lines, text, "", *(table_of(drawn.source.searches) if experiment.data_sets else ())]


def _filled(experiment: Experiment, tested: Sequence[Tested]) -> str:
    """Return the paragraph with the numbers that its placeholders name."""
    values: dict[str, str] = {}
    for claim in experiment.claims:
        if claim.id:
            t = next((t for t in tested if t.claim is claim and t.ours), None)
            values[claim.id] = t.ours if t else "(no record yet)"
            values[f"{claim.id}.at"] = t.at if t else "no record yet"

    def value(match: re.Match[str]) -> str:
        if match[1] not in values:
            known = ", ".join(values) or "none"
            message = f"{experiment.id}: reads: no claim has the id {match[1]!r}; there are {known}"
            raise PlotError(Failure.INPUT, message)
        return values[match[1]]

    return re.sub(r"\{([\w.-]+)\}", value, experiment.reads.strip())


def _table(tested: Iterable[Tested]) -> list[str]:
    lines = ["| claim | paper | reproduced if | ours | verdict |", "|---|---|---|---|---|"]
    for t in tested:
        ours = f"{_ours(t)} ({t.at}; {t.machine})" if t.ours else "–"
        verdict = _MARK[t.verdict] + (f": {t.why}" if t.why else "")
        cells = (t.claim.says, t.claim.paper, t.claim.reproduced or "–", ours, verdict)
        lines.append(f"| {' | '.join(_cell(c) for c in cells)} |")
    return lines


def _causes(tested: Iterable[Tested]) -> list[str]:
    differing = [t for t in tested if t.verdict in VERDICTS[1:3]]
    if not differing:
        return []
    lines = ["Why they differ:", ""]
    # Claims with the same causes stand together.
    groups: Mapping[tuple[str, ...], list[Tested]] = {}
    for t in differing:
        groups.setdefault((*t.causes, t.explanation), []).append(t)  # type: ignore[attr-defined]
    for (*causes, explanation), members in groups.items():
        said = "; ".join(dict.fromkeys(t.claim.says for t in members))
        told = list(causes)
        if explanation:
            told.append(f"*Explanation, not measured:* {explanation}")
        text = " ".join(told) or "*Not shown yet:* no experiment is named."
        lines.append(f"- {said}: {text}")
    return [*lines, ""]


def not_recorded(experiment: Experiment) -> str:
    """Say what an experiment without a record needs."""
    if experiment.needs:
        return f"needs {experiment.needs}."
    return f"run `{experiment.how_to_record()}`."


def _paths(source: Source) -> str:
    return ", ".join(f"[`{path}`]({path})" for path in source.folders())


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
