"""The verdicts on the papers' claims, for their page; REPRODUCTION.md has them in full."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from plots.errors import PlotError
from plots.reproduce import causes, claims, older
from plots.reproduce.document import decided
from plots.reproduce.library import Library
from plots.reproduce.manifest import Experiment, load
from plots.reproduce.work import read_work

ROOT = Path(__file__).resolve().parents[2]
_RESULTS = ROOT / "results"


def papers(roots: Sequence[Path]) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the papers that have a record below `roots`, with their claims, and what went wrong.

    A claim that several machines test has a row of each, with the same `id` and `number`.
    """
    found: dict[str, dict[str, Any]] = {}
    failures: list[str] = []
    work = read_work(_RESULTS / "counters.json")
    experiments = load()
    for root in roots:
        try:
            library = Library(root)
        except PlotError:
            continue  # no run here that an experiment can use
        evidence = causes.Evidence(library, work, _older(root))
        for experiment in experiments:
            rows = _claims(experiment, library, evidence)
            if not rows:
                continue
            paper = experiment.paper
            known = found.setdefault(
                paper.cite, {"cite": paper.cite, "hardware": paper.hardware, "claims": []}
            )
            known["claims"] += rows
        failures += library.failures
    return list(found.values()), failures


def _older(root: Path) -> older.Older:
    """Return the list of older records, whose folders are named as below `root`."""
    listed = older.read(ROOT / older.LIST)
    if root.resolve() != _RESULTS:
        return listed
    below = {str(root / Path(folder).relative_to("results")): told for folder, told in listed.runs.items()}
    return older.Older(below)


def _claims(
    experiment: Experiment, library: Library, evidence: causes.Evidence
) -> list[dict[str, Any]]:
    sources = list(library.sources(experiment))
    tested = [claims.test(experiment, c, source, evidence) for source in sources for c in experiment.claims]
    return [
        {
            "id": experiment.id,
            "number": experiment.claims.index(t.claim),
            "title": experiment.title,
            "says": t.claim.headline or t.claim.says,
            "headline": bool(t.claim.headline),
            "paper": t.claim.paper,
            "ours": t.ours,
            "at": t.at,
            "verdict": t.verdict,
            "why": t.why or t.explanation,
            "causes": list(t.causes),
            "older": t.older,
            "machine": t.machine,
        }
        for t in decided(tested)
    ]
