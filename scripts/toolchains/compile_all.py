#!/usr/bin/env python3
"""Runs every compile command of a build folder without its slow steps, and counts the files that compile.

    compile_all.py BUILD_DIR [--language cpp|cu|all] [--jobs N] [--log FILE] STEP...

The options STEP replace -c: -fsyntax-only or -S; for nvcc, -c and an -arch, which replaces the command's own.
The last line says "N of M files compiled"; the exit status is 1 if a file failed. It needs only Python 3.9,
because it also runs outside the project's virtual environment.
"""

import argparse
import contextlib
import json
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def is_cuda(command: list[str]) -> bool:
    """Whether nvcc runs it. A .cu file that is compiled as C++ counts as host code."""
    return any(Path(word).name == "nvcc" for word in command[:6])


def step_of(command: list[str], step: list[str], output: str) -> list[str]:
    """The command without its compiler cache, with `step` in place of -c, writing to `output`."""
    start = next((i + 1 for i, word in enumerate(command) if Path(word).name == "ccache"), 0)
    words = []
    rest = iter(command[start:])
    for word in rest:
        if word in ("-o", "-MF", "-MT"):
            next(rest)
        elif word not in ("-c", "-MD"):
            words.append(word)
    if any(word.startswith("-arch") for word in step):
        words = [word for word in words if not word.startswith(("--generate-code", "-gencode"))]
    return words + step + ([] if step == ["-fsyntax-only"] else ["-o", output])


def compiles(entry: dict, step: list[str]) -> str:
    """The compiler's errors; empty if the file compiles."""
    with tempfile.TemporaryDirectory() as folder:
        command = step_of(shlex.split(entry["command"]), step, f"{folder}/output")
        done = subprocess.run(command, cwd=entry["directory"], capture_output=True, text=True, errors="replace", check=False)
    return "" if done.returncode == 0 else f"{entry['file']}\n{done.stderr}\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--language", choices=("cpp", "cu", "all"), default="all")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--log", type=Path)
    options, step = parser.parse_known_args()
    entries = json.loads((options.build / "compile_commands.json").read_text())
    if options.language != "all":
        wanted = options.language == "cu"
        entries = [entry for entry in entries if is_cuda(shlex.split(entry["command"])) == wanted]
    refused = 0
    with (
        ThreadPoolExecutor(options.jobs) as pool,
        options.log.open("w") if options.log else contextlib.nullcontext(sys.stdout) as log,
    ):
        for text in pool.map(lambda entry: compiles(entry, step), entries):
            refused += bool(text)
            log.write(text)
            log.flush()
    print(f"{len(entries) - refused} of {len(entries)} files compiled")
    return 1 if refused or not entries else 0


if __name__ == "__main__":
    sys.exit(main())
