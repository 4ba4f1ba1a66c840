"""A synthetic run that looks like a real one: eight algorithms, four k, limits, failures, noise.

Times follow a cost model for each algorithm with noise from a fixed seed, so the same call writes
the same bytes everywhere.
"""

import dataclasses
import hashlib
import json
import math
import random
import sys
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fontTools import subset

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

JsonObject = dict[str, Any]


@pytest.fixture(autouse=True)
def _quick_pdf(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the tables of ligatures and kerning out of a PDF's fonts: cutting them is a third of a figure's time.

    A PDF names its glyphs, so no reader looks into these tables. The tests of saving write them.
    """
    whole = subset.Options.__init__

    def without_layout(options: subset.Options, **chosen: Any) -> None:
        whole(options, **chosen)
        options.drop_tables += ["GDEF", "GPOS", "GSUB"]

    if request.module.__name__ != "test_save":
        monkeypatch.setattr(subset.Options, "__init__", without_layout)


@dataclass(frozen=True)
class Contender:
    """An algorithm of the synthetic run: its limits and its time in ns, a function of n, Q, k."""

    name: str
    family: str
    cost: Callable[[int, int, int], float]
    executor: str = "cuda"
    threads: int = 0
    layout: str = "row_major"
    largest_k: int = 1 << 20


def _scan(fixed: float, ns_an_element: float, ns_a_k: float) -> Callable[[int, int, int], float]:
    return lambda n, q, k: fixed + q * (n * ns_an_element + ns_a_k * k * math.log2(n / k + 2))


CONTENDERS = (
    Contender("cpu/nth_element", "nth_element", _scan(900, 3.1, 9), "cpu", 16),
    Contender("cpu/nth_element+omp", "nth_element", _scan(9000, 0.25, 1), "cpu", 16),
    Contender("komarov/qms_block", "quick_multi_select", _scan(9000, 0.004, 0.6)),
    Contender("komarov/qms_warp", "quick_multi_select", _scan(6000, 0.007, 0.2)),
    Contender(
        "tang/merge_aligned+buffer+partition",
        "queue",
        _scan(7000, 0.002, 2.2),
        layout="column_major",
    ),
    Contender("tang/insertion", "queue", _scan(5000, 0.003, 21), layout="column_major"),
    Contender(
        "sismanis/truncated_bitonic", "truncated_bitonic", _scan(8000, 0.016, 0.5), largest_k=512
    ),
    Contender("alabi/radix_select+gather", "radix_select", _scan(60000, 0.0045, 0.01)),
    Contender("cub/segmented_radix_sort", "sort", _scan(20000, 0.041, 0)),
    Contender("thrust/sort", "sort", _scan(90000, 0.12, 0)),
)
GPU_CONTENDERS = tuple(c for c in CONTENDERS if c.executor == "cuda")

GPU = {"name": "NVIDIA H200", "compute_capability": "9.0", "multiprocessors": 132}


def problem(n: int, q: int, k: int, **changes: Any) -> JsonObject:
    """Return a problem as records print it."""
    return {
        "n": n,
        "q": q,
        "k": k,
        "dtype": "float32",
        "index": "int32",
        "direction": "smallest",
        "payload": "values_and_indices",
        "layout": "row_major",
        "pitch": 0,
        "distribution": "uniform",
        "seed": 42,
    } | changes


def cell(
    contender: Contender, what: JsonObject, status: str = "ok", reason: str = ""
) -> JsonObject:
    """Return the record of one cell, without its checksum."""
    what = what | {"layout": contender.layout}
    key = hashlib.sha256(json.dumps([contender.name, what]).encode()).hexdigest()[:16]
    n, q, k = what["n"], what["q"], what["k"]
    if status == "ok" and k > contender.largest_k:
        status, reason = "unsupported", f"k > {contender.largest_k}"
    stem = contender.family
    time = _time(contender.cost(n, q, k), key) if status == "ok" else None
    return {
        "schema": 1,
        "key": key,
        "status": status,
        "reason": reason,
        "problem": what,
        "input": {"kind": "generated"},
        "algorithm": {
            "name": contender.name,
            "family": contender.family,
            "source": "synthetic",
            "file": f"baselines/{stem}.cpp",
            "source_hash": hashlib.sha256(stem.encode()).hexdigest()[:16],
        },
        "executor": contender.executor,
        "threads": contender.threads,
        "time": time,
        "floor": _floor(n, q, k, time["median"]) if time else None,
        "counters": None,
        "places": None,
        "workspace_bytes": 0,
        "verify": {"method": "certificate", "rows": q, "before": True, "after": True},
        "started": "2026-11-20T19:00:00Z",
        "elapsed_s": 0.8,
    }


def _floor(n: int, q: int, k: int, nanoseconds: float) -> JsonObject:
    bytes_ = 4 * q * (n + 2 * k)
    return {"bytes": bytes_, "ceiling": "read", "share": bytes_ / nanoseconds / 4400}


def _time(nanoseconds: float, key: str) -> JsonObject:
    noise = random.Random(key)
    samples = sorted(nanoseconds * noise.lognormvariate(0, 0.05) for _ in range(15))
    return {
        "clock": "steady",
        "unit": "ns",
        "median": samples[7],
        "q1": samples[3],
        "q3": samples[11],
        "min": samples[0],
        "max": samples[14],
        "ci95": [samples[3], samples[11]],
        "stop": "spread",
        "rounds": samples,
        "round_sizes": [1] * len(samples),
        "samples": samples,
    }


def quick_cells(contenders: Iterable[Contender] = GPU_CONTENDERS) -> list[JsonObject]:
    """Return a sweep over n = 2^10..2^20 and four k at Q = 256, with some failures."""
    cells = []
    for contender in contenders:
        for k in (16, 64, 256, 1024):
            for exponent in range(10, 21):
                what = problem(1 << exponent, 256, k)
                ending = ("ok", "")
                if contender.name == "tang/insertion" and k == 1024 and exponent > 17:
                    ending = ("timeout", "no answer after 30 s")
                if contender.name == "thrust/sort" and exponent == 20:
                    ending = ("out_of_memory", f"needs {k // 8 + 140} GiB, 139 GiB are free")
                if contender.name == "komarov/qms_warp" and k == 64 and exponent == 14:
                    ending = ("throttled", "the clock fell to 1200 MHz")
                cells.append(cell(contender, what, *ending))
    return cells


def line(record: JsonObject) -> bytes:
    """Return a record as the journal frames it, newline included."""
    text = json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode()
    return text[:-1] + b',"crc32":"%08x"}\n' % zlib.crc32(text)


def write_run(directory: Path, cells: Iterable[JsonObject], **meta: Any) -> Path:
    """Write a run directory; `meta` replaces members of meta.json."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "runs.jsonl").write_bytes(b"".join(line(record) for record in cells))
    record = {
        "schema": 1,
        "run": directory.name,
        "state": "complete",
        "started": "2026-11-20T19:00:00Z",
        "git": {"commit": "0123456789abcdef", "dirty": False},
        "host": {"cpu": "Intel(R) Xeon(R) Platinum 8480+", "threads": 16},
        "gpu": [GPU],
    } | meta
    (directory / "meta.json").write_text(json.dumps(record, indent=2))
    return directory


@pytest.fixture
def quick(tmp_path: Path) -> Path:
    """Return a run directory with the GPU algorithms of the quick sweep."""
    return write_run(tmp_path / "quick", quick_cells())


QMS = dataclasses.replace(CONTENDERS[2], name="qms-block+paper")
GARCIA = dataclasses.replace(CONTENDERS[5], name="garcia", largest_k=256)


def garcia_cells() -> list[JsonObject]:
    """Return cells of K-fig4 in which the baseline does not take k = 512."""
    return [
        cell(c, problem(1 << e, 8192, k))
        for c in (QMS, GARCIA)
        for e in (13, 14)
        for k in (64, 512)
    ]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a repository with two machines: one has K-fig4, the other a damaged K-fig8."""
    write_run(tmp_path / "results" / "some-gpu" / "komarov_fig4", garcia_cells())
    broken = write_run(
        tmp_path / "results" / "other-gpu" / "komarov_fig8",
        [cell(QMS, problem(1 << 20, q, 8)) for q in (8, 16)],
    )
    data = bytearray((broken / "runs.jsonl").read_bytes())
    data[10] ^= 1
    (broken / "runs.jsonl").write_bytes(data)
    monkeypatch.chdir(tmp_path)
    return tmp_path
