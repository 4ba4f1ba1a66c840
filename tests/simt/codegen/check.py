#!/usr/bin/env python3
"""Checks that the verbs of simt/ add no instruction. seam.cu and hand.cu are the same kernel, written
with the verbs and by hand; their machine code must have the same opcodes equally often.

    check.py NVCC ARCH BUILD_DIR [extra nvcc flags for seam.cu]

Registers and the order of independent instructions are not compared, because the compiler may choose.
Exit code 0: equal; 1: they differ, with a diff; 77: skipped, no nvcc or no disassembler.
"""

import collections
import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig

HERE = pathlib.Path(__file__).resolve().parent
INCLUDE = HERE.parents[2] / "include"
SKIPPED = 77
# "        /*0010*/                   @!P0 LDG.E.128 R4, [R2.64] ;"
INSTRUCTION = re.compile(r"^\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)")


def find_disassembler(nvcc):
    """nvdisasm beside nvcc, in NVDISASM, on PATH or of the Python package, or None."""
    beside = pathlib.Path(os.path.realpath(nvcc)).parent / "nvdisasm"
    if beside.exists():
        return str(beside)
    elsewhere = os.environ.get("NVDISASM") or shutil.which("nvdisasm")
    packaged = pathlib.Path(sysconfig.get_path("purelib")).glob("nvidia/*/bin/nvdisasm")
    return elsewhere or next((str(path) for path in packaged), None)


def opcodes(nvcc, disassembler, arch, source, build_dir, flags):
    """The opcodes of the kernel in `source`, in order, without padding."""
    cubin = build_dir / (source + ".cubin")
    subprocess.run(
        [nvcc, "-std=c++20", "-O3", "-DNDEBUG", f"-arch={arch}", "--expt-relaxed-constexpr",
         f"-I{INCLUDE}", *flags, "-cubin", "-o", str(cubin), str(HERE / source)],
        check=True)
    text = subprocess.run([disassembler, "-c", str(cubin)], check=True, capture_output=True,
                          text=True).stdout
    found = [match.group(1) for match in map(INSTRUCTION.match, text.splitlines()) if match]
    if not found:
        sys.exit(f"{disassembler} showed no instruction of {cubin}")
    return [opcode for opcode in found if opcode != "NOP"]


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    nvcc, arch, build_dir, *flags = sys.argv[1:]
    nvcc = shutil.which(nvcc)
    disassembler = find_disassembler(nvcc) if nvcc else None
    if not disassembler:
        print("skipped: no " + ("disassembler (nvdisasm)" if nvcc else "nvcc"))
        return SKIPPED
    build_dir = pathlib.Path(build_dir)
    build_dir.mkdir(parents=True, exist_ok=True)
    hand = opcodes(nvcc, disassembler, arch, "hand.cu", build_dir, [])
    seam = opcodes(nvcc, disassembler, arch, "seam.cu", build_dir, flags)
    added = collections.Counter(seam) - collections.Counter(hand)
    missing = collections.Counter(hand) - collections.Counter(seam)
    print(f"{arch}: {len(hand)} instructions by hand, {len(seam)} through the seam")
    if not added and not missing:
        return 0
    print("through the seam only:", dict(added), "- by hand only:", dict(missing))
    print("\n".join(difflib.unified_diff(hand, seam, "hand.cu", "seam.cu", lineterm="")))
    return 1


if __name__ == "__main__":
    sys.exit(main())
