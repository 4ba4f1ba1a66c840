"""Inputs by their position, one row for a matrix, and what is printed if no output is named."""

import json
import re

import numpy as np
import pytest
from conftest import one_line

RNG = np.random.default_rng(11)
ROWS = RNG.random((7, 30), dtype=np.float32)
BASE = RNG.random((50, 3), dtype=np.float32)
HIT = re.compile(r"(\S+) \[(\d+)\]")


@pytest.fixture
def files(tmp_path):
    np.save(tmp_path / "rows.npy", ROWS)
    np.save(tmp_path / "base.npy", BASE)
    np.save(tmp_path / "queries.npy", BASE[:6] + np.float32(1e-3))
    return tmp_path


def shown(output: str, name: str):
    """The rows of a printed table: a list of (value, index) a row, and the last line."""
    lines = [line for line in output.splitlines() if line.startswith(name + " ")]
    return [[(float(v), int(i)) for v, i in HIT.findall(line)] for line in lines], output.splitlines()[-1]


def test_positions_and_names_are_the_same(kselect, files):
    for by_position, by_name in [
        (["select", "rows.npy", "--k", 3], ["select", "--input", "rows.npy", "--k", 3]),
        (["knn", "base.npy", "queries.npy", "--k", 3], ["knn", "--base", "base.npy", "--query", "queries.npy", "--k", 3]),
        (["knn", "base.npy", "queries.npy", "--k", 3], ["knn", "base.npy", "--query", "queries.npy", "--k", 3]),
        (["knn", "base.npy", "queries.npy", "--k", 3], ["knn", "queries.npy", "--k", 3, "--base", "base.npy"]),
        (["knn", "base.npy", "--self", "--k", 3], ["knn", "--base", "base.npy", "--self", "--k", 3]),
    ]:
        assert kselect(*by_position).stdout == kselect(*by_name).stdout
    kselect("select", "rows.npy", "--k", 3, "--values", "v.npy", "--indices", "i.npy")
    assert (kselect("prove", "rows.npy", "v.npy", "i.npy").stdout
            == kselect("prove", "--rows", "rows.npy", "--values", "v.npy", "--indices", "i.npy").stdout)
    kselect("prove", "rows.npy", "v.npy")


def test_index_takes_its_file_by_position_everywhere(kselect, files):
    kselect("index", "build", "base.npy", "a.kidx", "--metric", "euclidean", "--kind", "sss")
    kselect("index", "build", "--objects", "base.npy", "--index", "b.kidx", "--metric", "euclidean", "--kind", "sss")
    assert (files / "a.kidx").read_bytes() == (files / "b.kidx").read_bytes()
    assert kselect("index", "info", "a.kidx").stdout == kselect("index", "info", "--index", "a.kidx").stdout
    for search in (["knn", "--k", 2], ["range", "--radius", 0.2]):
        answers = []
        for line in (["a.kidx", "queries.npy"], ["--index", "a.kidx", "--queries", "queries.npy"]):
            kselect("index", search[0], *line, *search[1:], "--indices", "i.npy")
            answers.append(np.load(files / "i.npy"))
        np.testing.assert_array_equal(*answers)


def test_a_base_is_named_once(kselect, files):
    for line in (["knn", "--self", "--k", 2], ["knn", "base.npy", "queries.npy", "--base", "base.npy", "--k", 2]):
        assert "name the base once" in one_line(kselect(*line, check=2).stderr)
    assert "give either QUERIES or --self" in one_line(kselect("knn", "base.npy", "--k", 2, check=2).stderr)


def test_select_without_outputs_shows_the_first_rows(kselect, files):
    done = kselect("select", "rows.npy", "--k", 6, "--algorithm", "cpu/sort")
    rows, last = shown(done.stdout, "row")
    order = np.argsort(ROWS, axis=1, kind="stable")
    assert len(rows) == 5 and all(len(hits) == 4 for hits in rows)
    for row, hits in enumerate(rows):
        assert [index for _, index in hits] == order[row, :4].tolist()
        np.testing.assert_allclose([value for value, _ in hits], ROWS[row, order[row, :4]], rtol=1e-5)
    assert last == "7 x 6 values [indices]; --values FILE and --indices FILE write all of them"
    assert done.stdout.count("...") == 5, "there are more columns"
    unsorted = kselect("select", "rows.npy", "--k", 4, "--algorithm", "cpu/nth_element").stdout
    assert "..." not in unsorted and unsorted.endswith("; --sorted puts the best first\n")
    assert {path.name for path in files.iterdir()} == {"rows.npy", "base.npy", "queries.npy"}


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_the_table_knows_other_types(kselect, files, dtype):
    np.save(files / "rows.npy", np.array([[3, -1e4, np.inf, 0.5]], dtype))
    rows, _ = shown(kselect("select", "rows.npy", "--k", 4, "--algorithm", "cpu/sort").stdout, "row")
    assert rows == [[(-1e4, 1), (0.5, 3), (3, 0), (np.inf, 2)]]


def test_an_output_silences_the_table(kselect, files):
    for option in ("--values", "--indices"):
        assert "row 0" not in kselect("select", "rows.npy", "--k", 3, option, "x.npy").stdout
    for option in ("--distances", "--indices"):
        assert "query 0" not in kselect("knn", "base.npy", "queries.npy", "--k", 3, option, "x.npy").stdout
        assert np.load(files / "x.npy").shape == (6, 3)


def test_knn_and_index_show_the_same_neighbours(kselect, files):
    squares = ((np.load(files / "queries.npy")[:, None].astype(np.float64) - BASE[None]) ** 2).sum(2)
    order = np.argsort(squares, axis=1)[:, :4]
    kselect("index", "build", "base.npy", "b.kidx", "--metric", "euclidean", "--kind", "list_of_clusters",
            "--cluster-size", 8)
    by_knn, last = shown(kselect("knn", "base.npy", "queries.npy", "--k", 9, "--metric", "euclidean").stdout, "query")
    by_index, last_of_index = shown(kselect("index", "knn", "b.kidx", "queries.npy", "--k", 9).stdout, "query")
    for rows in (by_knn, by_index):
        assert [[index for _, index in hits] for hits in rows] == order[:5].tolist()
    assert last.startswith("6 x 9 distances [indices]; ") and last_of_index.startswith("6 x 9 distances [indices]; ")


def test_a_range_search_shows_rows_of_their_own_length(kselect, files):
    kselect("index", "build", "base.npy", "b.kidx", "--metric", "euclidean", "--kind", "none")
    kselect("index", "range", "b.kidx", "queries.npy", "--radius", 0.25, "--json", "found.json")
    found = json.loads((files / "found.json").read_text())
    rows, last = shown(kselect("index", "range", "b.kidx", "queries.npy", "--radius", 0.25).stdout, "query")
    for row, entry in zip(rows, found[:5], strict=True):
        assert [index for _, index in row] == [hit["index"] for hit in entry["found"]][:4]
    assert last.startswith(f"{sum(len(entry['found']) for entry in found)} distances [indices]; ")


def test_a_search_in_tiles_needs_its_files(kselect, files):
    done = kselect("knn", "base.npy", "queries.npy", "--k", 2, "--memory-limit", 2048, check=2)
    assert "give --indices FILE and --distances FILE" in one_line(done.stderr)


def test_one_dimension_is_one_row(kselect, files):
    np.save(files / "row.npy", ROWS[2])
    kselect("select", "row.npy", "--k", 5, "--sorted", "--algorithm", "cpu/sort", "--values", "v.npy", "--indices", "i.npy")
    values = np.load(files / "v.npy")
    np.testing.assert_array_equal(values, np.sort(ROWS[2])[None, :5])
    assert "in each of 1 row, proven" in kselect("prove", "row.npy", "v.npy", "i.npy").stdout
    np.save(files / "flat.npy", values[0])
    kselect("prove", "row.npy", "flat.npy")
    values[0, 0] = 9
    np.save(files / "flat.npy", values[0])
    kselect("prove", "row.npy", "flat.npy", check=7)
    np.save(files / "empty.npy", np.zeros(0, np.float32))
    done = kselect("select", "empty.npy", "--k", 5, check=2)
    assert "more than the 0 columns of empty.npy" in one_line(done.stderr)


def test_one_dimension_is_one_query_but_no_base(kselect, files):
    np.save(files / "query.npy", np.load(files / "queries.npy")[3])
    rows, last = shown(kselect("knn", "base.npy", "query.npy", "--k", 2).stdout, "query")
    whole, _ = shown(kselect("knn", "base.npy", "queries.npy", "--k", 2).stdout, "query")
    assert rows == [whole[3]] and last.startswith("1 x 2 ")
    message = one_line(kselect("knn", "query.npy", "queries.npy", "--k", 1, check=3).stderr)
    assert "query.npy: has rank 1" in message and "x[None, :]" in message and "x[:, None]" in message
