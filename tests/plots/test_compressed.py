"""Compressed records: how they are made, and that they are read as the plain ones."""

import gzip
import json
from pathlib import Path

import pytest
from plots import compress
from plots.errors import Failure
from plots.records import load
from test_records import refused, three_cells

from conftest import ROOT, write_run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Return a run directory with three records."""
    return write_run(tmp_path / "run", three_cells())


def packed(run: Path) -> Path:
    """Compress a run; return its only file of records."""
    assert compress.main([str(run)]) == 0
    assert not (run / "runs.jsonl").exists()
    return run / "runs.jsonl.gz"


def test_reads_the_same_with_the_same_digest(run: Path) -> None:
    plain = load(run)
    packed(run)
    assert load(run) == plain
    assert load(run).run.digest == plain.run.digest != ""


def test_equal_records_give_equal_bytes(run: Path) -> None:
    whole = (run / "runs.jsonl").read_bytes()
    path = packed(run)
    first = path.read_bytes()
    assert gzip.decompress(first) == whole
    path.unlink()
    (run / "runs.jsonl").write_bytes(whole)
    assert packed(run).read_bytes() == first


def test_refuses_what_is_no_whole_gzip_file(run: Path) -> None:
    path = packed(run)
    whole = path.read_bytes()
    damaged = whole[:40] + bytes([whole[40] ^ 0xFF]) + whole[41:]
    for broken in (whole[:-30], whole[:-1], damaged, b"no gzip at all"):
        path.write_bytes(broken)
        assert "runs.jsonl.gz: is damaged or truncated gzip" in refused(run)


def test_refuses_a_damaged_line_within(run: Path) -> None:
    path = run / "runs.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"threads":', b'"Threads":', 1))
    packed(run)
    assert "runs.jsonl.gz:1: the checksum does not match" in refused(run)


def test_refuses_both(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = (run / "runs.jsonl").read_bytes()
    packed(run)
    (run / "runs.jsonl").write_bytes(whole)
    said = refused(run)
    assert "has both runs.jsonl and runs.jsonl.gz" in said and "remove" in said
    assert compress.main([str(run)]) == Failure.INPUT
    assert "runs.jsonl.gz" in capsys.readouterr().err
    assert (run / "runs.jsonl").read_bytes() == whole


def test_committed_records_are_compressed_once() -> None:
    plain = [path for path in (ROOT / "results").rglob("*.jsonl")]
    assert not plain, f"python -m plots.compress {' '.join(str(p.parent) for p in plain)}"
    for path in (ROOT / "results").rglob("*.jsonl.gz"):
        header = path.read_bytes()[:10]
        assert header[3] == 0 and header[4:8] == b"\0\0\0\0", f"{path}: has a name or a time"
        first = gzip.decompress(path.read_bytes()).partition(b"\n")[0]
        assert isinstance(json.loads(first), dict), path


def test_rounded_times_keep_a_tenth_of_a_nanosecond(run: Path) -> None:
    fine = [json.loads(line) for line in (run / "runs.jsonl").read_text().splitlines()]
    timed = [record for record in fine if record["time"]]
    for record in fine:
        del record["crc32"]
    for record in timed:
        record["time"]["samples"] = [8863.999973982573, 2.25e6]
    write_run(run, fine)
    digest = load(run).run.digest
    assert compress.main(["--round", str(run)]) == 0
    path = run / "runs.jsonl.gz"
    kept = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    assert [record["key"] for record in kept] == [record["key"] for record in fine]
    samples = [record["time"]["samples"] for record in kept if record["time"]]
    assert samples == [[8864.0, 2250000.0]] * len(timed) != []
    assert load(run).run.digest != digest
    once = path.read_bytes()
    assert compress.main(["--round", str(run)]) == 0  # rounding again changes nothing
    assert path.read_bytes() == once
