"""The repository's root on the path, and a torch that is numpy."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))


class Tensor:
    """As much of a tensor as the adapter touches."""

    def __init__(self, array: np.ndarray) -> None:
        """Wrap an array."""
        self.array = array

    def __setitem__(self, where: slice, value: "Tensor") -> None:
        """Copy into rows."""
        self.array[where] = value.array

    def cpu(self) -> "Tensor":
        """Everything is on the CPU."""
        return self

    def numpy(self) -> np.ndarray:
        """Return the array."""
        return self.array


class Event:
    """An event whose distance to the next is a microsecond more each time."""

    made = 0

    def __init__(self, enable_timing: bool) -> None:
        """Count events."""
        assert enable_timing
        Event.made += 1
        self.number = Event.made

    def record(self) -> None:
        """Record nothing."""

    def elapsed_time(self, end: "Event") -> float:
        """Return milliseconds."""
        return (end.number - self.number) + self.number * 1e-3


class FakeTorch:
    """torch, whose topk leaves out the best element where `honest` is false."""

    __version__ = "0.0-fake"
    float32, float64 = np.float32, np.float64

    def __init__(self, honest: bool = True) -> None:
        """Choose whether topk is right."""
        self.honest = honest
        self.cuda = SimpleNamespace(
            Event=Event, synchronize=lambda: None, get_device_name=lambda _: "Fake GPU"
        )

    def empty(self, shape: tuple[int, int], dtype: Any, device: str) -> Tensor:
        """Return an uninitialised tensor."""
        assert device == "cuda"
        return Tensor(np.empty(shape, dtype))

    def from_numpy(self, array: np.ndarray) -> Tensor:
        """Wrap an array."""
        return Tensor(array)

    def topk(
        self, rows: Tensor, k: int, dim: int, largest: bool, sorted: bool  # noqa: A002
    ) -> tuple[Tensor, Tensor]:
        """Sort and take k, or the k behind the first."""
        assert dim == 1 and not sorted
        order = np.argsort(-rows.array if largest else rows.array, axis=1, kind="stable")
        first = 0 if self.honest else 1
        chosen = order[:, first : first + k]
        return Tensor(np.take_along_axis(rows.array, chosen, 1)), Tensor(chosen)


@pytest.fixture
def fake_torch() -> type[FakeTorch]:
    return FakeTorch
