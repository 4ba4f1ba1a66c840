"""Judges claims: reproduced; same direction, other size; contradicted; or cannot test, and why."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from plots.errors import Failure, PlotError
from plots.reproduce.asked import RATIOS, Measured, number
from plots.reproduce.causes import Evidence, causes_of
from plots.reproduce.cells import Missing
from plots.reproduce.library import Source
from plots.reproduce.manifest import Claim, Experiment
from plots.reproduce.measures import TIE, measure

Verdict = Literal["reproduced", "same direction, other size", "contradicted", "cannot test"]
VERDICTS: tuple[Verdict, ...] = (
    "reproduced",
    "same direction, other size",
    "contradicted",
    "cannot test",
)


@dataclass(frozen=True)
class Tested:
    """The outcome of one claim on one machine."""

    experiment: Experiment
    claim: Claim
    machine: str  # "" if there is no record
    verdict: Verdict
    ours: str = ""  # the number; "" if there is none
    at: str = ""  # the deciding point
    why: str = ""  # what is missing, or why the number decides nothing, if "cannot test"
    causes: Sequence[str] = ()  # of a difference
    explanation: str = ""  # of a difference that no experiment shows
    older: bool = False  # from a record without provenance (results/older_records.toml)


def test(experiment: Experiment, claim: Claim, source: Source, evidence: Evidence) -> Tested:
    """Judge a claim by one source."""
    if not claim.measure:
        return Tested(experiment, claim, source.machine, "cannot test", why=claim.needs)
    try:
        found = measure(experiment, claim, source)
    except Missing as missing:
        return Tested(experiment, claim, source.machine, "cannot test", why=f"no record: {missing}")
    older = any(evidence.is_older(run.path, run.digest) for run in source.runs) or any(
        evidence.is_older(search.folder, search.digest) for search in found.searches
    )
    verdict: Verdict
    if claim.undecided:
        verdict, why = "cannot test", claim.undecided
    else:
        verdict, why = judge(claim, found, f"{experiment.id}: claim {claim.says!r}")
    told = Tested(
        experiment, claim, source.machine, verdict, number(claim, found), found.detail, why,
        older=older,
    )  # fmt: skip
    if verdict in ("reproduced", "cannot test"):
        return told
    causes = causes_of(experiment, claim, found, source, evidence, lambda f: judge(claim, f, ""))
    return Tested(
        experiment, claim, source.machine, verdict, told.ours, told.at,
        causes=causes, explanation=claim.explanation, older=older,
    )  # fmt: skip


def judge(claim: Claim, found: Measured, context: str) -> tuple[Verdict, str]:
    """Return the verdict on a measure, and why it decides nothing if it cannot be judged."""
    if found.tied:
        whole = replace(found, tied="", tied_with=())
        verdicts = {judge(claim, replace(whole, values=(v,)), context) for v in found.tied_with}
        if len(verdicts) == 1:
            return verdicts.pop()
        return "cannot test", f"decides nothing: {found.tied}"
    if _all_meet(claim.reproduced, found.values, context):
        return "reproduced", ""
    if claim.direction:
        same = _all_meet(claim.direction, found.values, context)
        return ("same direction, other size" if same else "contradicted"), ""
    if claim.measure in RATIOS and all(1 / TIE < value < TIE for value in found.values):
        return "cannot test", f"decides nothing: a tie, {number(claim, found)}"
    return "contradicted", ""


def _all_meet(text: str, values: Sequence[float], context: str) -> bool:
    parts = text.split(", ")
    if len(parts) == 1:
        parts *= len(values)
    if len(parts) != len(values):
        raise PlotError(Failure.INPUT, f"{context}: {text!r} is not for {len(values)} numbers")
    meets = [expectation(part, context) for part in parts]
    return all(meet(value) for meet, value in zip(meets, values, strict=True))


def untested(experiment: Experiment, claim: Claim, why: str) -> Tested:
    """Return the outcome of a claim without a record."""
    return Tested(experiment, claim, "", "cannot test", why=claim.needs or why)


def expectation(text: str, context: str) -> Callable[[float], bool]:
    """Return the predicate for "233 .. 525", ">= 3", "< 1" or "= 256"."""
    if span := re.fullmatch(r"([\d.]+) \.\. ([\d.]+)", text):
        low, high = float(span[1]), float(span[2])
        return lambda value: low <= value <= high
    if bound := re.fullmatch(r"(>=|<=|>|<|=) ([\d.]+)", text):
        limit = float(bound[2])
        return {
            ">=": lambda value: value >= limit,
            "<=": lambda value: value <= limit,
            ">": lambda value: value > limit,
            "<": lambda value: value < limit,
            "=": lambda value: value == limit,
        }[bound[1]]
    raise PlotError(Failure.INPUT, f'{context}: {text!r} is not like "233 .. 525" or ">= 3"')
