"""The series of gathered runs, and the changes in them that are told."""

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plots.board.gather import Gathered, device_of
from plots.history.change import Change, find, rejected
from plots.history.series import Past, Series, past


@dataclass(frozen=True)
class Verdict:
    """A change that is told."""

    series: Series
    change: Change
    run: str  # the first of the later level
    commit: str
    kind: str  # "algorithm", "cell" or "machine" (whatever moved all unchanged algorithms)

    @property
    def slower(self) -> bool:
        """Whether the later level is higher."""
        return self.change.ratio > 1


def pasts_of(gathered: Gathered, *, raw: bool = False) -> list[Past]:
    """Return the series of every device; `raw` as in `past`."""
    by_device: dict[str, dict[int, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for number, run in enumerate(gathered.runs):
        for record in run.records:
            if record.time:
                by_device[device_of(record, run.meta)][number].append(record)
    return [
        past(device, [gathered.runs[n].run for n in sorted(own)], [own[n] for n in sorted(own)], raw=raw)
        for device, own in sorted(by_device.items())
    ]


def judge(past_: Past, alpha: float, threshold: float, *, cells: bool) -> list[Verdict]:
    """Return the changes of a device that are told, the largest first."""
    series = [("algorithm", s) for s in past_.algorithms]
    series += [("cell", s) for s in past_.cells] if cells else []
    series += [("machine", past_.machine)] if past_.machine else []
    found = [(kind, s, change) for kind, s in series if (change := find(s.logs))]
    told = rejected([change.p for _, _, change in found], alpha)
    verdicts = []
    for (kind, s, change), is_told in zip(found, told, strict=True):
        large = change.ratio >= 1 + threshold or change.ratio <= 1 / (1 + threshold)
        if is_told and large:
            run = past_.runs[s.runs[change.at]]
            verdicts.append(Verdict(s, change, Path(run.path).name, run.commit, kind))
    return sorted(verdicts, key=lambda v: -v.change.ratio)
