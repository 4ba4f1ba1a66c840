"""Runs whose records are compressed to be committed: read as the plain ones, never written to."""

import gzip

import pytest
from conftest import one_line, records


@pytest.fixture
def run(kselect, config, tmp_path):
    """The directory of a finished run."""
    kselect("run", config(), "--out", "o")
    return tmp_path / "o"


def compress(directory, *, keep=False):
    """Makes runs.jsonl.gz of runs.jsonl; returns its path."""
    plain = directory / "runs.jsonl"
    compressed = directory / "runs.jsonl.gz"
    compressed.write_bytes(gzip.compress(plain.read_bytes(), mtime=0))
    if not keep:
        plain.unlink()
    return compressed


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (("compare", "o", "o"), 3),  # two rounds are too few for a verdict
        (("export", "o", "--format", "csv"), 0),
        (("progress", "o"), 0),
    ],
)
def test_compressed_records_are_read_as_the_plain_ones(kselect, run, command, code):
    def said():
        words = kselect(*command, check=code).stdout
        return words.split("last record")[0]  # what follows is how long ago

    plain = said()
    compress(run)
    assert said() == plain and plain


def test_the_compressed_file_itself_can_be_named(kselect, run):
    path = compress(run)
    assert "8 inconclusive" in kselect("compare", path, path, check=3).stdout


def test_compressed_shards_are_merged(kselect, run, tmp_path):
    expected = sorted(r["key"] for r in records(run))
    compress(run)
    kselect("merge", "o", "--out", "merged")
    (merged,) = (tmp_path / "merged").iterdir()
    assert sorted(r["key"] for r in records(merged)) == expected


@pytest.mark.parametrize("command", [("compare", "o", "o"), ("merge", "o", "--out", "m")])
def test_what_is_no_whole_gzip_file_is_refused_by_name(kselect, run, command):
    path = compress(run)
    whole = path.read_bytes()
    for broken, why in (
        (whole[:-30], "truncated"),
        (whole[:-1], "truncated"),
        (b"", "truncated"),
        (whole[:40] + bytes([whole[40] ^ 0xFF]) + whole[41:], "damaged"),
        (b"no gzip at all", "damaged"),
    ):
        path.write_bytes(broken)
        line = one_line(kselect(*command, check=2 if command[0] == "compare" else 3).stderr)
        assert "o/runs.jsonl.gz: is " in line and why in line and "fetch it again" in line


def test_a_damaged_line_within_is_found_by_its_checksum(kselect, run):
    path = run / "runs.jsonl"
    path.write_text(path.read_text().replace('"threads":', '"Threads":', 1))
    compress(run)
    line = one_line(kselect("merge", "o", "--out", "m", check=3).stderr)
    assert "runs.jsonl.gz: line 1" in line and "checksum" in line


def test_both_files_are_refused_by_name(kselect, run):
    compress(run, keep=True)
    for command in (("merge", "o", "--out", "m"), ("progress", "o")):
        line = one_line(kselect(*command, check=3).stderr)
        assert "o: has both runs.jsonl and runs.jsonl.gz" in line and "remove" in line


@pytest.mark.parametrize("more", [(), ("--resume",)])
def test_no_second_journal_is_begun_beside_a_compressed_one(kselect, run, more):
    before = compress(run).read_bytes()
    line = one_line(kselect("run", "small.json", "--out", "o", *more, check=6).stderr)
    assert "o/runs.jsonl.gz" in line and "gunzip" in line and "another directory" in line
    assert not (run / "runs.jsonl").exists()
    assert (run / "runs.jsonl.gz").read_bytes() == before


def test_gunzip_makes_it_continue(kselect, run):
    path = compress(run)
    (run / "runs.jsonl").write_bytes(gzip.decompress(path.read_bytes()))
    path.unlink()
    assert "8 done before" in kselect("run", "small.json", "--out", "o", "--resume").stdout
