"""Reads the lists of experiments, `experiments/*.toml`.

A file has one `[paper]` (key, cite, hardware) and its `[[experiment]]`s in the order of the paper:

    id            unique prefix of the file names of its figures
    title         one line
    config        configs/CONFIG.json; its records are runs of that name under results/MACHINE/
    records       other names of its runs; for each model of device the newest run is drawn
    slices_of     other runs, whose cells are used while the experiment has no run of its own
    stages_of     runs of k-NN searches, whose stages are drawn, instead of runs of selections
    searches_of   runs of searches in metric indexes, instead of runs of selections
    command       the command that makes the record, if it is not `kselect run CONFIG`
    needs         a missing requirement; the experiment is then listed but cannot be tested
    like          another experiment whose figures (not claims) are used, with `where` replaced
    where         selects the experiment's cells by n, q, k, nq, "log2(n/Q)", payload, ...
    disagreement  a contradiction between caption and text of the paper
    reads         a paragraph in plain words: what the paper shows, what is seen here, why. {ID} is
                  replaced by the number measured for the claim of that id, {ID.at} by its detail
    figure        kind, `name` (appended to the id in the file name), `ending` (only drawings whose
                  names end with it), `algorithms` (only these names or globs), `families` (the
                  best of NAME and its variants NAME+... at each point is drawn as one series),
                  `title` instead of the experiment's, and the arguments of the kind
    claim         see `Claim`; other keys are the arguments of its measure (`measures`)
    claim.cause   an experiment that shows why the claim differs (`causes`)

Sizes are integers or powers, "2^15".
"""

import difflib
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from plots.errors import Failure, PlotError

EXPERIMENTS = Path(__file__).parent / "experiments"
_PAPER_KEYS = ("key", "cite", "hardware", "note")
_EXPERIMENT_KEYS = (
    *("id", "title", "config", "records", "slices_of", "stages_of", "searches_of", "command"),
    *("needs", "like", "where", "disagreement", "reads", "figure", "claim", "with_distances"),
    "data_sets",
)
_FIGURE_KEYS = (
    "kind",
    "name",
    "title",
    "ending",
    "algorithms",
    "families",
    "x",
    "x_scale",
    "y",
    "by",
    "where",
    "panels",
    "stars",
    "columns",
    "rows",
    "quantities",
    "normalised",
    "over",
)
_CLAIM_OWN = (
    *("says", "paper", "measure", "reproduced", "direction", "published", "id", "headline"),
    *("needs", "undecided", "explanation", "cause"),
)
_MEASURE_KEYS = (
    *("of", "over", "among", "over_where", "where", "take", "along", "from", "to", "unit"),
    *("mine", "theirs", "quantity", "than_of", "than_over", "source"),
)
_CAUSE_KEYS = (
    *("kind", "says", "noun", "record", "multiprocessors", "of", "over", "where", "over_where"),
    *("take", "counters", "bytes", "bandwidth"),
)
CAUSES = ("work", "multiprocessors", "again", "step", "ceiling", "rounds", "stalls", "distances")
Table = Mapping[str, Any]


@dataclass(frozen=True)
class Paper:
    """A publication, and the hardware of its measurements."""

    key: str
    cite: str
    hardware: str
    note: str = ""  # how the reproduction differs from the paper in all experiments


@dataclass(frozen=True)
class Claim:
    """One claim of a paper, and how to judge it."""

    says: str
    paper: str  # what the paper gives, as it is printed
    measure: str  # "" if nothing can measure it; `needs` then says what is missing
    reproduced: str  # the band of "reproduced": "LOW .. HIGH", or a bound where no size is given
    ask: Table  # the arguments of the measure, as in the file
    direction: str = ""  # what holds for "same direction, other size"; "" if there is no size
    published: float = 0.0  # the paper's number; 0 if it gives none
    id: str = ""  # its name in `reads`
    headline: str = ""  # a statement of the paper's abstract or conclusion that the claim is
    needs: str = ""
    undecided: str = ""  # why its number judges nothing, though it can be measured
    explanation: str = ""  # of a difference that no experiment shows: printed as not measured
    causes: Sequence[Table] = ()


@dataclass(frozen=True)
class FigureSpec:
    """One figure of an experiment."""

    kind: str
    name: str
    ask: Table


@dataclass(frozen=True)
class Experiment:
    """One figure or table of a paper."""

    id: str
    paper: Paper
    title: str
    config: str
    records: Sequence[str]
    slices_of: Sequence[str]
    stages_of: Sequence[str]
    searches_of: Sequence[str]
    command: str
    needs: str
    where: Table
    disagreement: str
    figures: Sequence[FigureSpec]
    claims: Sequence[Claim]
    reads: str = ""
    with_distances: bool = False  # times include that of computing the rows
    data_sets: bool = False  # tell of the data sets of searches

    def how_to_record(self) -> str:
        """Return the command line that makes the missing record."""
        if self.command:
            return self.command
        return f"kselect run configs/{self.config}.json --out results/MACHINE/{self.config}"


def load(directory: Path = EXPERIMENTS) -> list[Experiment]:
    """Read all lists of a directory, in order of file name; raises PlotError(INPUT)."""
    experiments: list[Experiment] = []
    for path in sorted(directory.glob("*.toml")):
        experiments += _read(path, experiments)
    return experiments


def size(value: object, where: str) -> int:
    """Return an integer that may be written as a power, "2^15"."""
    if type(value) is int:
        return value
    if isinstance(value, str) and (power := re.fullmatch(r"(\d+)\^(\d+)", value)):
        return int(power[1]) ** int(power[2])
    raise PlotError(Failure.INPUT, f'{where}: {value!r} is not a size such as 32768 or "2^15"')


def check_keys(table: Table, known: Sequence[str], where: str) -> None:
    """Refuse an unknown key and suggest the nearest known one."""
    for key in table:
        if key not in known:
            nearest = difflib.get_close_matches(key, known, n=1, cutoff=0)
            message = f"{where}: unknown key {key!r}; did you mean {nearest[0]!r}?"
            raise PlotError(Failure.INPUT, message)


def _read(path: Path, earlier: Sequence[Experiment]) -> list[Experiment]:
    try:
        with path.open("rb") as file:
            content = tomllib.load(file)
    except (OSError, tomllib.TOMLDecodeError) as e:
        raise PlotError(Failure.INPUT, f"{path}: cannot be read: {e}") from e
    check_keys(content, ("paper", "experiment"), str(path))
    header = content.get("paper", {})
    check_keys(header, _PAPER_KEYS, f"{path}: [paper]")
    paper = Paper(*(str(header.get(key, "")) for key in _PAPER_KEYS))
    found: list[Experiment] = []
    for table in content.get("experiment", ()):
        experiment = _experiment(table, paper, found, str(path))
        if any(other.id == experiment.id for other in (*earlier, *found)):
            raise PlotError(Failure.INPUT, f"{path}: two experiments are called {experiment.id!r}")
        found.append(experiment)
    return found


def _experiment(table: Table, paper: Paper, found: Sequence[Experiment], path: str) -> Experiment:
    name = table.get("id")
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9.-]+", name):
        raise PlotError(Failure.INPUT, f"{path}: an experiment's id is {name!r}, not a short name")
    where = f"{path}: {name}"
    check_keys(table, _EXPERIMENT_KEYS, where)
    experiment = Experiment(
        id=name,
        paper=paper,
        title=str(table.get("title", name)),
        config=str(table.get("config", "")),
        records=tuple(table.get("records", ())),
        slices_of=tuple(table.get("slices_of", ())),
        stages_of=tuple(table.get("stages_of", ())),
        searches_of=tuple(table.get("searches_of", ())),
        command=str(table.get("command", "")),
        needs=str(table.get("needs", "")),
        where=table.get("where", {}),
        disagreement=str(table.get("disagreement", "")),
        figures=tuple(_figure(t, where) for t in table.get("figure", ())),
        claims=tuple(_claim(t, where) for t in table.get("claim", ())),
        reads=str(table.get("reads", "")),
        with_distances=bool(table.get("with_distances", False)),
        data_sets=bool(table.get("data_sets", False)),
    )
    elsewhere = experiment.stages_of or experiment.searches_of
    if not (experiment.config or elsewhere or experiment.needs):
        message = f"{where}: needs one of config, stages_of, searches_of and needs"
        raise PlotError(Failure.INPUT, message)
    if "like" not in table:
        return experiment
    model = next((e for e in found if e.id == table["like"]), None)
    if model is None:
        raise PlotError(Failure.INPUT, f"{where}: like = {table['like']!r} names none before it")
    figures = [*(_without_stars(f) for f in model.figures), *experiment.figures]
    return replace(experiment, figures=figures, where={**model.where, **experiment.where})


def _without_stars(figure: FigureSpec) -> FigureSpec:
    return replace(figure, ask={k: v for k, v in figure.ask.items() if k != "stars"})


def _figure(table: Table, where: str) -> FigureSpec:
    check_keys(table, _FIGURE_KEYS, f"{where}: figure")
    if "kind" not in table:
        raise PlotError(Failure.INPUT, f"{where}: a figure has no kind")
    rest = {k: v for k, v in table.items() if k not in ("kind", "name")}
    return FigureSpec(table["kind"], str(table.get("name", "")), rest)


def _claim(table: Table, where: str) -> Claim:
    check_keys(table, (*_CLAIM_OWN, *_MEASURE_KEYS), f"{where}: claim")
    if "says" not in table or ("measure" in table) != ("reproduced" in table):
        message = f"{where}: a claim has `says`, and both of measure and reproduced or none"
        raise PlotError(Failure.INPUT, message)
    if ("measure" in table) == ("needs" in table):
        message = f"{where}: claim {table['says']!r}: has either a measure or what it `needs`"
        raise PlotError(Failure.INPUT, message)
    return Claim(
        says=table["says"],
        paper=str(table.get("paper", "")),
        measure=str(table.get("measure", "")),
        reproduced=str(table.get("reproduced", "")),
        ask={k: v for k, v in table.items() if k not in _CLAIM_OWN},
        direction=str(table.get("direction", "")),
        published=float(table.get("published", 0.0)),
        id=str(table.get("id", "")),
        headline=str(table.get("headline", "")),
        needs=str(table.get("needs", "")),
        undecided=str(table.get("undecided", "")),
        explanation=str(table.get("explanation", "")),
        causes=tuple(_cause(t, f"{where}: {table['says']!r}") for t in table.get("cause", ())),
    )


def _cause(table: Table, where: str) -> Table:
    check_keys(table, _CAUSE_KEYS, f"{where}: cause")
    if table.get("kind") not in CAUSES:
        message = f"{where}: a cause is of kind {table.get('kind')!r}; there are {', '.join(CAUSES)}"
        raise PlotError(Failure.INPUT, message)
    return table
