"""The repository's root on the path, and a torch that is numpy."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))


class Tensor(np.ndarray):
    """An array with those of a tensor's methods that the adapter calls and arrays lack."""

    def cuda(self) -> "Tensor":
        """Everything is on the CPU."""
        return self

    def cpu(self) -> "Tensor":
        """Everything is on the CPU."""
        return self

    def numpy(self) -> np.ndarray:
        """Return the array."""
        return self.view(np.ndarray)

    def gather(self, dim: int, places: "Tensor") -> "Tensor":
        """Return the elements at the places."""
        return np.take_along_axis(self.numpy(), places.numpy(), dim).view(Tensor)


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
    float32, float64, int64 = np.float32, np.float64, np.int64
    version = SimpleNamespace(cuda="13.0")

    def __init__(self, honest: bool = True) -> None:
        """Choose whether topk is right."""
        self.honest = honest
        facts = {"major": 9, "minor": 0, "multi_processor_count": 132, "total_memory": 1 << 37}
        self.cuda = SimpleNamespace(
            Event=Event,
            synchronize=lambda: None,
            _sleep=lambda cycles: None,
            get_device_name=lambda _: "Fake GPU",
            get_device_properties=lambda _: SimpleNamespace(**facts),
        )

    def from_numpy(self, array: np.ndarray) -> Tensor:
        """Return the array as a tensor."""
        return array.view(Tensor)

    def zeros(self, shape: tuple[int, ...], dtype: Any, device: str) -> Tensor:
        """Return a tensor of zeros."""
        assert device == "cuda"
        return np.zeros(shape, dtype).view(Tensor)

    def topk(
        self, rows: Tensor, k: int, dim: int, largest: bool, sorted: bool  # noqa: A002
    ) -> tuple[Tensor, Tensor]:
        """Sort and take k, or the k behind the first."""
        assert dim == 1 and not sorted
        order = np.argsort(-rows if largest else rows, axis=1, kind="stable")
        first = 0 if self.honest else 1
        chosen = order[:, first : first + k]
        return rows.gather(1, chosen), chosen


@pytest.fixture
def fake_torch() -> type[FakeTorch]:
    return FakeTorch
