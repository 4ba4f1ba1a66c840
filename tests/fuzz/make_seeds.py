"""Writes the seeds of the fuzz targets into tests/fuzz/corpus, from files that the program itself writes.
Needs numpy and h5py.

    python tests/fuzz/make_seeds.py build/cpu/kselect

The seeds are committed, so this is needed only when a format changes.
"""

import gzip
import json
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import h5py
import numpy as np

CORPUS = Path(__file__).parent / "corpus"
CONFIG = {
    "schema": "kselect-config/1", "name": "seed", "axes": {"n": [64], "q": [2], "k": [4]},
    "algorithms": ["cpu/heap", "cpu/sort"],
    "measure": {"warmup": 0, "rounds": 1, "min_samples": 1, "max_samples": 2, "max_seconds": 1},
}


def seed(target, name, data):
    """Writes one seed."""
    (CORPUS / target).mkdir(parents=True, exist_ok=True)
    (CORPUS / target / name).write_bytes(data if isinstance(data, bytes) else data.encode())


def prepared(kselect, folder):
    """Prepared vectors of each stored type, and of several pages."""
    matrix = np.arange(12, dtype=np.float32).reshape(4, 3)
    for name, stored in [("uint8", matrix), ("int8", -matrix), ("float16", matrix / 2), ("float32", matrix / 3),
                         ("pages", np.ones((2, 1 << 10), np.float32) / 3)]:
        np.save(folder / "x.npy", stored)
        subprocess.run([kselect, "knn", "prepare", folder / "x.npy", "--output", folder / "x.kvec"], check=True,
                       capture_output=True)
        seed("kvec", name, (folder / "x.kvec").read_bytes())


def vectors(folder):
    """One small matrix in each format."""
    matrix = np.arange(12, dtype=np.float32).reshape(4, 3)
    for dtype, name in [("<f4", "f4"), (">f8", "f8_big_endian"), ("<i2", "i2"), ("?", "bool")]:
        np.save(folder / "x.npy", matrix.astype(dtype))
        seed("npy", name, (folder / "x.npy").read_bytes())
    np.save(folder / "x.npy", np.asfortranarray(matrix))
    seed("npy", "fortran_order", (folder / "x.npy").read_bytes())
    for target, dtype in [("fvecs", "<f4"), ("bvecs", "u1"), ("ivecs", "<i4")]:
        rows = [struct.pack("<i", 3) + row.astype(dtype).tobytes() for row in matrix]
        seed(target, "rows", b"".join(rows))
        seed(target, "one", rows[0])
    for code, dtype in [(0x08, "u1"), (0x0D, ">f4"), (0x0B, ">i2")]:
        idx = bytes([0, 0, code, 2]) + struct.pack(">II", 4, 3) + matrix.astype(dtype).tobytes()
        seed("idx", f"type_{code:02x}", idx)
        seed("gz", f"type_{code:02x}", gzip.compress(idx, mtime=0))
    cube = bytes([0, 0, 8, 3]) + struct.pack(">III", 2, 2, 3) + bytes(12)
    seed("idx", "images", cube)
    seed("gz", "stored", gzip.compress(cube, compresslevel=0, mtime=0))
    for name, options in [("dense", {}), ("chunked", {"chunks": (2, 3), "compression": "gzip"})]:
        with h5py.File(folder / "x.hdf5", "w") as file:
            file.create_dataset("train", data=matrix, **options)
        seed("hdf5", name, (folder / "x.hdf5").read_bytes())


def records(kselect, folder):
    """A sweep's files, and what is made of them."""
    (folder / "seed.json").write_text(json.dumps(CONFIG))
    subprocess.run([kselect, "run", "seed.json", "--out", "o"], cwd=folder, check=True, capture_output=True)
    meta = json.loads((folder / "o" / "meta.json").read_text())
    # A seed says nothing of the machine that made it.
    meta = json.dumps(meta | {"host": {"name": "h", "cpu": "c", "threads": 1}, "git": {}, "build": {}, "arguments": ["kselect"]},
                      separators=(",", ":"))
    lines = (folder / "o" / "runs.jsonl").read_text()
    plain = "".join(line.rpartition(',"crc32"')[0] + "}\n" for line in lines.splitlines())
    seed("records", "run", "d" + meta + "\n\n" + plain)
    seed("records", "journal", "j" + lines)
    seed("records", "torn", "j" + lines[: len(lines) // 2])
    seed("records", "meta", "m" + meta)
    noise = {"schema": "kselect-noise/1", "machine": {"cpu": "c"},
             "cells": [{"cell": "c", "paired": 0.01, "unpaired": 0.02}]}
    seed("records", "noise", "n" + json.dumps(noise))
    seed("records", "noise_null", "n" + json.dumps(noise | {"machine": None, "cells": [{"cell": 1}]}))
    point = [1.0] * 4
    table = {"schema": "kselect-costs/1", "device": {"name": "d", "multiprocessors": 1, "compute_capability": 90},
             "source": "s", "sources": {}, "members": ["a"], "terms": [], "costs": [[1.0]], "reach": point,
             "points": [point], "corrections": [[1.0]]}
    seed("records", "table", "t" + json.dumps(table))
    real = sorted((Path(__file__).parents[2] / "algorithms" / "auto_select").glob("*.json"))[0]
    shrunk = json.loads(real.read_text())
    for name in ("costs", "members"):
        shrunk[name] = shrunk[name][:1]
    shrunk["points"] = shrunk["points"][:2]
    shrunk["corrections"] = [row[:1] for row in shrunk["corrections"][:2]]
    seed("records", "table_of_a_gpu", "t" + json.dumps(shrunk))
    return plain.splitlines()[0]


def messages(record):
    """Lines in both directions; enums are numbers."""
    problem = {"n": 64, "q": 2, "k": 4, "type": 0, "index": 0, "direction": 0, "payload": 0, "layout": 0, "pitch": 0,
               "distribution": {"kind": 0, "parameter": 0.0}, "seed": 7}
    policy = {"warmup": 1, "rounds": 2, "min_samples": 1, "max_samples": 2, "max_seconds": 1.0, "target_spread": 0.02,
              "threads": 1, "cache": 0, "timeout_s": 2.0, "multiprocessors": 0}
    ceilings = {"read": 1.0, "copy": 1.0, "cached_read": 1.0}
    setup = {"input": {"vectors": {"dimension": 3, "metric": 0}}, "on_gpu": False, "threads": 1, "policy": policy,
             "description": "d", "ceilings": {"cpu": ceilings}}
    dataset = {"base": "b\u00ff", "query": "q", "metric": 0, "self": False, "exclude_self": False, "limit": 5}
    seed("worker", "setup", json.dumps(setup))
    seed("worker", "setup_of_a_dataset", json.dumps(setup | {"input": dataset}, ensure_ascii=False))
    seed("worker", "group", json.dumps({"group": [{"key": "k", "algorithm": "cpu/heap", "executor": 0,
                                                   "problem": problem}]}))
    seed("worker", "ceilings", json.dumps({"event": "ceilings", "executor": "cpu"} | ceilings))
    seed("worker", "done", json.dumps({"event": "done", "retired": True}))
    seed("worker", "failed", json.dumps({"event": "failed", "category": 3, "message": "m"}))
    seed("worker", "record", record)


def indexes(kselect, folder):
    """Index files: as they are, and as header and sections (index_fuzz.cpp)."""
    rows = np.random.default_rng(1).integers(0, 9, (8, 2)).astype(np.float32)
    np.save(folder / "v.npy", rows)
    (folder / "w.txt").write_text("one\ntwo\nthree\nfour\nfive\nsix\n")
    for metric, objects in [("euclidean", "v.npy"), ("levenshtein", "w.txt")]:
        for kind, more in [("sss", []), ("list_of_clusters", ["--cluster-size", "2"])]:
            subprocess.run([kselect, "index", "build", "--metric", metric, "--kind", kind, "--executor", "cpu",
                            "--objects", objects, "--index", "x.index", *more],
                           cwd=folder, check=True, capture_output=True)
            file = (folder / "x.index").read_bytes()
            seed("index", f"file_{metric}_{kind}", file)
            size = struct.unpack("<Q", file[16:24])[0]
            header = json.loads(file[40:40 + size])
            header["source"] = "s"
            sections = b"".join(file[s["offset"]:s["offset"] + s["bytes"]] for s in header["sections"])
            seed("index", f"parts_{metric}_{kind}",
                 b"H" + json.dumps(header, separators=(",", ":")).encode() + b"\0" + sections)
    # Read as a number of bytes without a check, this one is undefined behaviour.
    header["sections"][0]["bytes"] = 1.1e44
    seed("index", "bytes_beyond_integers", b"H" + json.dumps(header, separators=(",", ":")).encode() + b"\0" + sections)


def texts():
    """What has a grammar."""
    for number, text in enumerate([
            "k <= n and n*q <= 2^28", "n/q < 4 or q == 0", "3*2^10 + 1", "(n - 1)*q != k^2", "2/3", "^heap .*k=64$",
            "cpu/h?ap*", "few_distinct(16)", "inf_fraction(0.25)", "2^120", "0-1", "n/0 == 1"]):
        seed("text", f"{number:02}", text)


def main():
    """Writes all seeds."""
    kselect = str(Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as folder:
        vectors(Path(folder))
        prepared(kselect, Path(folder))
        messages(records(kselect, Path(folder)))
        indexes(kselect, Path(folder))
    texts()


if __name__ == "__main__":
    main()
