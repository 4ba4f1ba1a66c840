#!/usr/bin/env python3
"""Checks that ptxas spills no register in the kernels of the given sources, and prints what each uses. It must
not have injected waits for products of warp groups (wgmma) either, nor ignored setmaxnreg.

    spills.py [--kernels REGEX] [--enum HEADER:NAME] [--reports BUILD] NVCC ARCH BUILD_DIR SOURCE...

--reports: takes what ptxas told while BUILD was built (cmake/timed.sh) instead of compiling again.
--kernels: only those whose mangled name matches. With --enum, `{NAME}` in the regex stands for the value of
that enumerator, as mangled names have it. A stack frame is no spill: an array that is indexed
at run time lives in local memory. Exit code 0: none spills; 1: some do, they are named, or none
matches; 77: skipped, no nvcc.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
SKIPPED = 77
COMPLAINT = re.compile(r".*(?:Potential Performance Loss|setmaxnreg).*")
KERNEL = re.compile(
    r"Compiling entry function '(?P<name>\w+)' for '(?P<arch>\w+)'.*?"
    r"(?P<frame>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores, "
    r"(?P<loads>\d+) bytes spill loads.*?Used (?P<registers>\d+) registers",
    re.DOTALL,
)


def values_of(header, name):
    """The enumerators of an enum class without explicit values, by name."""
    body = re.search(rf"enum class {name}\b[^{{]*{{([^}}]*)}}", pathlib.Path(header).read_text())
    if not body:
        sys.exit(f"{header} has no enum class {name}")
    return {each.strip(): str(value) for value, each in enumerate(body[1].split(","))}


def kept_report(build, source):
    """What ptxas told of a source when a build compiled it."""
    name = source.resolve().relative_to(ROOT)
    found = sorted(build.rglob(f"{name}.o.ptxas"))
    if not found:
        sys.exit(f"{build} has no report on {name}; configure it with -DKSELECT_OBJECT_TIMES=ON and build it again")
    return found[0].read_text()


def new_report(nvcc, arch, build_dir, source):
    """What ptxas tells of a source that is compiled now."""
    done = subprocess.run(
        [nvcc, "-std=c++20", "-O3", "-DNDEBUG", f"-arch={arch}", "--expt-relaxed-constexpr",
         f"-I{ROOT / 'include'}", f"-I{ROOT}", "-Xptxas", "-v", "-cubin", "-o",
         str(build_dir / (source.stem + ".cubin")), str(source)],
        capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return done.stderr


def kernels_in(report, arch, source):
    """What ptxas says of each kernel in a source: (name, registers, frame, spilled bytes)."""
    if complaints := COMPLAINT.findall(report):
        sys.exit("\n".join(complaints))
    kernels = [
        (m["name"], int(m["registers"]), int(m["frame"]), int(m["stores"]) + int(m["loads"]))
        for m in KERNEL.finditer(report)
        if m["arch"] == arch
    ]
    if not kernels:
        sys.exit(f"ptxas told of no kernel in {source} for {arch}")
    return kernels


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", default="")
    parser.add_argument("--enum")
    parser.add_argument("--reports", type=pathlib.Path)
    for name in ("nvcc", "arch", "build_dir"):
        parser.add_argument(name)
    parser.add_argument("sources", nargs="+", type=pathlib.Path)
    given = parser.parse_args()
    wanted = given.kernels
    for name, value in (values_of(*given.enum.split(":")) if given.enum else {}).items():
        wanted = wanted.replace(f"{{{name}}}", value)
    nvcc = shutil.which(given.nvcc)
    if not nvcc:
        print("skipped: no nvcc")
        return SKIPPED
    build_dir = pathlib.Path(given.build_dir)
    build_dir.mkdir(parents=True, exist_ok=True)
    spilling = matching = 0
    for source in given.sources:
        told = (kept_report(given.reports, source) if given.reports
                else new_report(nvcc, given.arch, build_dir, source))
        for name, registers, frame, spilled in kernels_in(told, given.arch, source):
            if not re.search(wanted, name):
                continue
            matching += 1
            spilling += spilled > 0
            print(f"{registers:4} registers {frame:6} B frame {spilled:6} B spilled  {name}")
    print(f"{given.arch}: {spilling} of {matching} kernels spill")
    return 1 if spilling or not matching else 0


if __name__ == "__main__":
    sys.exit(main())
