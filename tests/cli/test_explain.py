"""`kselect explain`: the choice of `auto`, its reason, and errors."""

import json


def test_says_what_runs_and_why(kselect):
    done = kselect("explain", "--n", 5000, "--q", 3, "--k", 7)
    assert "auto runs" in done.stdout and "because" in done.stdout
    shown = json.loads(kselect("explain", "--n", 5000, "--q", 3, "--k", 7, "--json").stdout)
    names = {entry["name"] for entry in json.loads(kselect("list", "--json").stdout)}
    assert shown["algorithm"] in names - {"auto"} and shown["reason"]


def test_asks_about_a_gpu_that_is_not_here(kselect):
    gpu = ["--multiprocessors", 132, "--json"]
    few = json.loads(kselect("explain", "--n", 2**20, "--q", 1, "--k", 256, *gpu).stdout)
    many = json.loads(kselect("explain", "--n", 2**20, "--q", 4096, "--k", 256, *gpu).stdout)
    assert (few["algorithm"], many["algorithm"]) == ("bms-grid", "bms-block")
    assert few["workspace_bytes"] > 0 == many["workspace_bytes"]


def test_names_what_is_wrong(kselect):
    base = ["explain", "--n", 100, "--q", 1]
    assert "--k 101" in kselect(*base, "--k", 101, check=2).stderr
    assert "float17" in kselect(*base, "--k", 1, "--dtype", "float17", check=2).stderr
    kselect("explain", "--n", 0, "--q", 1, "--k", 1, check=2)
    kselect("explain", "--n", 10, "--q", 1, check=2)


def test_select_runs_auto_unless_told(kselect, tmp_path):
    import numpy as np

    np.save(tmp_path / "rows.npy", np.arange(20, dtype=np.float32).reshape(2, 10))
    done = kselect("select", "--input", "rows.npy", "--k", 2, "--values", "v.npy")
    assert done.stdout.startswith("auto:")
    assert sorted(np.load(tmp_path / "v.npy")[1]) == [10, 11]
