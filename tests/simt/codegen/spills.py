#!/usr/bin/env python3
"""Checks that ptxas spills no register in the kernels of the given sources, and prints what each uses.

    spills.py NVCC ARCH BUILD_DIR SOURCE...

A stack frame is no spill: an array that is indexed at run time lives in local memory. Exit code 0:
none spills; 1: some do, they are named; 77: skipped, no nvcc.
"""

import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
SKIPPED = 77
KERNEL = re.compile(
    r"Compiling entry function '(?P<name>\w+)'.*?"
    r"(?P<frame>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores, "
    r"(?P<loads>\d+) bytes spill loads.*?Used (?P<registers>\d+) registers",
    re.DOTALL,
)


def report(nvcc, arch, build_dir, source):
    """What ptxas says of each kernel in a source: (name, registers, frame, spilled bytes)."""
    done = subprocess.run(
        [nvcc, "-std=c++20", "-O3", "-DNDEBUG", f"-arch={arch}", "--expt-relaxed-constexpr",
         f"-I{ROOT / 'include'}", f"-I{ROOT}", "-Xptxas", "-v", "-cubin", "-o",
         str(build_dir / (source.stem + ".cubin")), str(source)],
        capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    kernels = [
        (m["name"], int(m["registers"]), int(m["frame"]), int(m["stores"]) + int(m["loads"]))
        for m in KERNEL.finditer(done.stderr)
    ]
    if not kernels:
        sys.exit(f"ptxas told of no kernel in {source}")
    return kernels


def main():
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    nvcc, arch, build_dir, *sources = sys.argv[1:]
    nvcc = shutil.which(nvcc)
    if not nvcc:
        print("skipped: no nvcc")
        return SKIPPED
    build_dir = pathlib.Path(build_dir)
    build_dir.mkdir(parents=True, exist_ok=True)
    spilling = 0
    for source in map(pathlib.Path, sources):
        for name, registers, frame, spilled in report(nvcc, arch, build_dir, source):
            spilling += spilled > 0
            print(f"{registers:4} registers {frame:6} B frame {spilled:6} B spilled  {name}")
    print(f"{arch}: {spilling} kernels spill")
    return 1 if spilling else 0


if __name__ == "__main__":
    sys.exit(main())
