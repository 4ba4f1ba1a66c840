"""The loader: what it takes as whole, what as torn, what it refuses."""

import json
import zlib
from pathlib import Path

import pytest
from plots.errors import Failure, PlotError
from plots.records import load

from conftest import CONTENDERS, JsonObject, cell, line, problem, write_run

QMS = CONTENDERS[2]


def three_cells() -> list[JsonObject]:
    """Return three short records, one of them failed."""
    cells = [
        cell(QMS, problem(1024, 4, 8)),
        cell(QMS, problem(2048, 4, 8), "timeout", "no answer after 1 s"),
        cell(QMS, problem(4096, 4, 8)),
    ]
    for record in cells:
        if record["time"]:
            record["time"]["samples"] = []
    return cells


def refused(directory: Path) -> str:
    """Return the message with which a run is refused as bad input."""
    with pytest.raises(PlotError) as caught:
        load(directory)
    assert caught.value.failure is Failure.INPUT
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.slow
def test_every_byte_prefix_gives_the_finished_records_and_tells_the_rest(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", cells := three_cells())
    whole = (run / "runs.jsonl").read_bytes()
    for length in range(len(whole) + 1):
        (run / "runs.jsonl").write_bytes(whole[:length])
        loaded = load(run)
        finished = whole[:length].count(b"\n")
        assert [r.key for r in loaded.records] == [c["key"] for c in cells[:finished]]
        torn = length - (whole.rfind(b"\n", 0, length) + 1)
        assert bool(loaded.warnings) == (torn > 0), length
        if torn:
            assert f"runs.jsonl:{finished + 1}:" in loaded.warnings[0]
            assert f"({torn} bytes)" in loaded.warnings[0]


@pytest.mark.slow
def test_damage_before_the_last_line_is_refused_with_its_line(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", three_cells())
    whole = (run / "runs.jsonl").read_bytes()
    first = whole.index(b"\n")
    for at in range(whole.index(b"\n", first + 1)):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << at % 8
        (run / "runs.jsonl").write_bytes(damaged)
        # Two lines joined, or one split, are found where they begin.
        assert f"runs.jsonl:{1 if at <= first else 2}: the checksum" in refused(run), at


@pytest.mark.slow
def test_damage_in_the_last_line_drops_it_and_tells(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", three_cells()[:1])
    whole = (run / "runs.jsonl").read_bytes()
    for at in range(len(whole)):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << at % 8
        if damaged[at] == ord("\n"):
            continue  # two lines now, of which the first is damage
        (run / "runs.jsonl").write_bytes(damaged)
        loaded = load(run)
        assert loaded.records == ()
        assert len(loaded.warnings) == 1


def test_zeros_after_a_power_failure_are_a_torn_tail(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", three_cells())
    with (run / "runs.jsonl").open("ab") as file:
        file.write(b"\0" * 512 + b"\n" + b"\0" * 512)
    loaded = load(run)
    assert len(loaded.records) == 3
    assert "(1025 bytes)" in loaded.warnings[0]


def test_an_empty_line_in_the_middle_is_refused(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", three_cells())
    lines = (run / "runs.jsonl").read_bytes().splitlines(keepends=True)
    (run / "runs.jsonl").write_bytes(lines[0] + b"\n" + lines[1] + lines[2])
    assert "runs.jsonl:2: the checksum" in refused(run)


@pytest.mark.parametrize(
    ("endings", "counts"),
    [
        (("timeout", "ok"), 1),
        (("ok", "timeout"), 0),
        (("ok", "ok"), 1),
        (("error", "timeout"), 1),
        (("ok", "error", "ok", "timeout"), 2),
    ],
)
def test_of_one_key_the_last_ok_record_counts_else_the_last(
    tmp_path: Path, endings: tuple[str, ...], counts: int
) -> None:
    cells = [cell(QMS, problem(1024, 4, 8), ending, f"{i}") for i, ending in enumerate(endings)]
    loaded = load(write_run(tmp_path / "run", cells))
    assert [r.reason for r in loaded.records] == [str(counts)]


def test_json_that_is_nested_too_deeply_is_refused(tmp_path: Path) -> None:
    deep = b"[" * 100_000 + b"]" * 100_000
    run = write_run(tmp_path / "run", three_cells())
    text = b'{"schema":1,"deep":' + deep + b"}"
    line = text[:-1] + b',"crc32":"%08x"}\n' % zlib.crc32(text)
    (run / "runs.jsonl").write_bytes(line)
    assert refused(run) == f"{run}/runs.jsonl:1: is nested too deeply to be a record"
    (run / "meta.json").write_bytes(text)
    assert refused(run) == f"{run}/meta.json: is nested too deeply to be a record"


def test_an_unknown_schema_is_refused_in_records_and_in_meta(tmp_path: Path) -> None:
    cells = three_cells()
    cells[1]["schema"] = 2
    message = refused(write_run(tmp_path / "run", cells))
    assert "runs.jsonl:2: schema 2 is not known" in message
    assert "schema 3" in refused(write_run(tmp_path / "meta", three_cells(), schema=3))
    assert "schema True" in refused(write_run(tmp_path / "true", three_cells(), schema=True))


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        ("problem.n", "many", "'problem.n' is 'many', not a int"),
        ("problem.q", -1, "'problem.q' is -1"),
        ("problem.k", True, "'problem.k' is True"),
        ("status", "fine", "status 'fine' is not known"),
        ("status", "wrong", "status 'wrong' has a time"),
        ("time.unit", "ms", "time.unit is 'ms'"),
        ("time.median", 0, "where a positive number of ns is due"),
        ("time.median", None, "where a positive number of ns is due"),
        ("time.ci95", [1.0, 2.0], "does not hold time.median"),
        ("time.ci95", None, "'time.ci95' is None"),
        ("input", {}, "'input.kind' is missing"),
    ],
)
def test_a_record_of_the_wrong_shape_is_refused_by_member(
    tmp_path: Path, path: str, value: object, told: str
) -> None:
    record = cell(QMS, problem(1024, 4, 8))
    *parents, name = path.split(".")
    target = record
    for parent in parents:
        target = target[parent]
    target[name] = value
    message = refused(write_run(tmp_path / "run", [record]))
    assert "runs.jsonl:1: " in message
    assert told in message


def test_a_missing_directory_and_missing_files_are_named(tmp_path: Path) -> None:
    assert refused(tmp_path / "none").endswith("none: no such run directory")
    run = write_run(tmp_path / "run", [])
    (run / "runs.jsonl").unlink()
    assert "runs.jsonl: cannot be read" in refused(run)
    (run / "meta.json").write_text("{")
    assert "meta.json: not JSON" in refused(run)
    (run / "meta.json").unlink()
    assert "meta.json: cannot be read" in refused(run)


def test_a_data_set_is_the_workload_without_its_folder(tmp_path: Path) -> None:
    record = cell(QMS, problem(1024, 4, 8, distribution="external"))
    record["input"] = {"kind": "dataset", "name": "/data/sift.hdf5", "metric": "euclidean"}
    loaded = load(write_run(tmp_path / "run", [record]))
    assert loaded.records[0].workload == "sift.hdf5 (euclidean)"


def test_the_machine_is_the_gpu_only_for_what_ran_on_it(tmp_path: Path) -> None:
    cells = [cell(c, problem(1024, 4, 8)) for c in CONTENDERS[1:3]]
    loaded = load(write_run(tmp_path / "run", cells, host={"cpu": "a CPU"}))
    assert [r.machine for r in loaded.records] == ["a CPU", "NVIDIA H200"]


def test_a_part_of_a_gpu_is_a_machine_of_its_own(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [cell(QMS, problem(8, 1, 1))])
    meta = json.loads((run / "meta.json").read_text())
    assert load(run).run.multiprocessors == meta["gpu"][0]["multiprocessors"] == 132
    meta["multiprocessors"] = {"used": 16, "of": 132}
    (run / "meta.json").write_text(json.dumps(meta))
    loaded = load(run)
    assert loaded.records[0].machine == "NVIDIA H200, 16 of 132 multiprocessors"
    assert loaded.run.multiprocessors == 16
    meta["multiprocessors"] = {"used": "16", "of": 132}
    (run / "meta.json").write_text(json.dumps(meta))
    assert "'multiprocessors.used' is '16', not a int" in refused(run)


def test_a_line_is_framed_as_the_journal_frames_it() -> None:
    assert line({"schema": 1}) == b'{"schema":1,"crc32":"89fbc18c"}\n'
    assert json.loads(line({"schema": 1}))["crc32"] == "89fbc18c"


def test_generated_vectors_and_counted_updates_are_read(tmp_path: Path) -> None:
    record = cell(QMS, problem(1024, 4, 2)) | {
        "input": {"kind": "generated", "vectors": {"dimension": 128, "metric": "sqeuclidean"}},
        "places": {"queue_updates": [7, 0]},
    }
    read = load(write_run(tmp_path / "run", [record])).records[0]
    assert read.workload == "uniform vectors, d = 128 (sqeuclidean)"
    assert read.queue_updates == (7, 0)
    record["places"] = {"queue_updates": [7, -1]}
    assert "holds what is no count" in refused(write_run(tmp_path / "wrong", [record]))
