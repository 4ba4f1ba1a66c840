"""What a run and each of its cells say, as the figures use it (read by `plots.records`)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

STATUSES = frozenset(
    (
        "ok",
        "wrong",
        "unsupported",
        "out_of_memory",
        "timeout",
        "error",
        "throttled",
        "implausible",
    )
)


@dataclass(frozen=True)
class Run:
    """A run directory: the members of its meta.json that figures show."""

    number: int  # its place among the runs drawn together, from 1
    name: str
    cpu: str
    gpu: str  # "" where the run had none; "..., 16 of 132 multiprocessors" if it was confined
    commit: str
    dirty: bool
    state: str  # "complete", "interrupted" or "running"
    multiprocessors: int = 0  # that the run used; 0 if it had no GPU or it is not recorded
    started: str = ""  # ISO 8601 in UTC; "" if not recorded
    path: str = field(default="", compare=False)  # the directory, as it was given
    digest: str = field(default="", compare=False)  # 16 digits of runs.jsonl's sha256


@dataclass(frozen=True)
class Timing:
    """A measured time of a whole problem (all Q rows), in nanoseconds."""

    clock: str
    median: float
    low: float  # the 95 % confidence interval of the median
    high: float
    rounds: tuple[float, ...] = ()  # the median of each round that has one; () in old records


@dataclass(frozen=True)
class Floor:
    """The bytes a cell must move, and its rate of moving them as a share of a measured ceiling."""

    bytes: int
    ceiling: str  # "read", or "rows_read" on a host, where old records have "cached_read"
    share: float


@dataclass(frozen=True)
class Inputs:
    """The rows that a cell selected from, and what was done to them besides."""

    copies: int  # sets of rows that took turns
    fresh: bool  # whether each round had its own rows
    distances: float | None = None  # ns to compute rows of distances; None in old records
    to_host: float | None = None  # ns to copy them from the GPU that made them; None in old records


@dataclass(frozen=True)
class Stage:
    """A named part of a search's time: the median of its rounds, in nanoseconds."""

    name: str
    median: float
    of_time: bool  # part of the cell's time; else done beside it


@dataclass(frozen=True)
class Record:
    """One cell: a problem, an algorithm, and the outcome."""

    run: Run
    key: str
    status: str
    reason: str
    n: int
    q: int
    k: int
    dtype: str
    index: str
    direction: str
    payload: str
    layout: str
    pitch: int
    seed: int
    workload: str  # the distribution, or the data set and its metric
    algorithm: str
    family: str
    source_hash: str
    executor: str
    threads: int
    time: Timing | None  # None if status is not "ok" or nothing was timed
    queue_updates: tuple[int, ...] = ()  # of each position, summed over Q queues; () if not counted
    distribution: str = ""  # "" for a data set
    floor: Floor | None = None  # None also in old records
    counters: Mapping[str, int] = field(default_factory=dict, hash=False)  # {} if not counted
    elapsed_s: float = 0.0
    inputs: Inputs | None = None  # None in old records
    multiprocessors: int = 0  # that the cell was confined to; 0: all of the GPU's
    stages: tuple[Stage, ...] = ()  # of a search; () of a selection
    lengths: str = ""  # of ragged rows, as "zipf(1)"; "" of equal rows
    mask: str = ""  # as "columns(0.5)"; "" if all elements may be selected

    @property
    def data_sets(self) -> int | None:
        """The number of different data sets that the rounds used; None if it is not recorded."""
        if self.inputs is None or self.time is None:
            return None
        rounds = len(self.time.rounds)
        return rounds if self.inputs.fresh else min(self.inputs.copies, rounds)

    @property
    def machine(self) -> str:
        """The model name of the CPU or GPU that executed the cell."""
        on_gpu = self.executor == "cuda" and self.run.gpu
        return self.run.gpu if on_gpu else self.run.cpu
