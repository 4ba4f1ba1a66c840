"""Rivals that are compiled from sources: a checkout that the user names, or headers that an installed package has.

    python -m peers.rivals configs/goal.json --out DIR --checkout rtopk=~/RTopK --checkout bits-knn=~/bits-knn-jpdc2024

A file of peers/checkouts calls each one's kernel as its authors do. nvcc compiles it once for each state of the sources,
for this machine's GPU or for the architecture that RIVALS_ARCH names, such as sm_90. Nothing of theirs is kept here.
"""

import ctypes
import hashlib
import importlib
import importlib.util
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent / "checkouts"
_SECONDS = 1800  # the longest that a compilation may take


class Missing(Exception):  # noqa: N818 - said to the user as the reason why a rival is left out
    """A rival that cannot be had, and why."""


@dataclass(frozen=True)
class Source:
    """A rival's sources, and how they are compiled. Paths are relative to the checkout."""

    name: str
    repository: str
    holds: str  # a file by which a checkout is recognised
    include: Sequence[str]  # folders for the include path
    bridge: str  # our file that calls it
    what: str
    directions: Sequence[str]
    excluded: Callable[[int, int], str]
    options: Sequence[str] = ()
    libraries: Sequence[str] = ()  # what it is linked with
    package: str = ""  # an installed package whose folder lies in what serves as a checkout
    version: str = "VERSION"  # the file that states the version where there is no repository


def _of_rtopk(n: int, k: int) -> str:
    """RTop-K's reads and its authors' test: whole warps, a row in shared memory, fewer than all."""
    if n % 32:
        return "n is not a multiple of 32"
    return "n > 8192" if n > 8192 else "k = n" if k >= n else ""


def _of_bits(n: int, k: int) -> str:
    """The queues that bits-knn's kernel is compiled for; its indices have 32 bits."""
    return "k > 2048" if k > 2048 else "n >= 2^31" if n >= 1 << 31 else ""


def _of_raft(n: int, k: int) -> str:
    """The 32 bits of the indices that RAFT is compiled with here."""
    return "n >= 2^31" if n >= 1 << 31 else ""


SOURCES = (
    Source("rtopk", "https://github.com/xiexi51/RTopK", "rtopk_kernel.cu", (".",), "rtopk.cu",
           "rtopk_kernel, exact", ("largest",), _of_rtopk),
    Source("bits-knn", "https://github.com/jiriklepl/bits-knn-jpdc2024",
           "include/bits/topk/singlepass/detail/bits_kernel.cuh", ("include",), "bits_knn.cu",
           "bits_kernel with prefetching", ("smallest",), _of_bits,
           ("--expt-relaxed-constexpr", "--expt-extended-lambda")),
    Source("raft", "https://github.com/rapidsai/raft", "libraft/include/raft/matrix/select_k.cuh",
           ("libraft/include", "libraft/include/rapids", "librmm/include", "rapids_logger/include"), "raft.cu",
           "raft::matrix::select_k, its own choice", ("smallest", "largest"), _of_raft,
           ("--expt-relaxed-constexpr", "--expt-extended-lambda", "-DRAFT_LOG_ACTIVE_LEVEL=RAPIDS_LOGGER_LOG_LEVEL_INFO",
            "-DRAFT_SYSTEM_LITTLE_ENDIAN=1"),
           ("rapids_logger/lib64/librapids_logger.so", "librmm/lib64/librmm.so"), "libraft", "libraft/VERSION"),
)  # fmt: skip


def folders_of(options: Sequence[str]) -> dict[str, Path]:
    """Return the checkouts of --checkout NAME=DIR by name; end the program if a name is unknown."""
    known = [source.name for source in SOURCES]
    found = {}
    for option in options:
        name, _, folder = option.partition("=")
        if name not in known or not folder:
            raise SystemExit(f"peers.rivals: --checkout {option!r} is not NAME=DIR with a NAME of {', '.join(known)}")
        found[name] = Path(folder).expanduser()
    return found


def checkout_of(source: Source, checkouts: Mapping[str, Path]) -> Path:
    """Return the folder of a rival's sources: the one that is named, else where its package is installed. Raises Missing."""
    if source.name in checkouts:
        checkout = checkouts[source.name]
        if not (checkout / source.holds).is_file():
            raise Missing(f"{checkout} is no checkout of {source.repository}: it has no {source.holds}")
        return checkout
    package = importlib.util.find_spec(source.package) if source.package else None
    for place in (package.submodule_search_locations or []) if package else []:
        if (Path(place).parent / source.holds).is_file():
            return Path(place).parent
    if source.package:
        raise Missing(f"{source.package} is not installed, and no folder is named by --checkout {source.name}=DIR")
    raise Missing(f"no registry has it: clone {source.repository} and name the folder by --checkout {source.name}=DIR")


def state_of(checkout: Path, version: str = "VERSION") -> str:
    """Return the commit of a checkout, with "-dirty" if a file is changed; without a repository what its file says."""
    if (checkout / ".git").exists():
        asked = ["git", "-C", str(checkout), "describe", "--always", "--abbrev=12", "--dirty", "--exclude=*"]
        try:
            told = subprocess.run(asked, capture_output=True, text=True, check=False)
        except OSError:
            return "of unknown version"
        return told.stdout.strip() if told.returncode == 0 else "of unknown version"
    try:
        return (checkout / version).read_text().strip() or "of unknown version"
    except OSError:
        return "of unknown version"


def library(source: Source, checkouts: Mapping[str, Path], built: Path) -> Path:
    """Compile a rival into the folder `built`, unless that was done; return the shared object. Raises Missing."""
    checkout = checkout_of(source, checkouts)
    bridge = _HERE / source.bridge
    arch = os.environ.get("RIVALS_ARCH", "native")
    options = ["-std=c++20", "-O3", "-shared", "-Xcompiler", "-fPIC", f"-arch={arch}", *source.options]
    told = " ".join([state_of(checkout, source.version), *options]).encode()
    told += (checkout / source.holds).read_bytes() + bridge.read_bytes()
    target = built / f"{source.name}-{hashlib.sha256(told).hexdigest()[:12]}.so"
    if not target.exists():
        nvcc = os.environ.get("NVCC") or shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
        if nvcc is None:
            raise Missing("nvcc is not on PATH; put it there, or name it by the environment variable NVCC")
        built.mkdir(parents=True, exist_ok=True)
        paths = [word for folder in source.include for word in ("-I", str(checkout / folder))]
        linked = [str(checkout / file) for file in source.libraries]
        _compile([nvcc, *options, *paths, str(bridge), *linked], target)
    return target


def _compile(command: Sequence[str], target: Path) -> None:
    log, unfinished = target.with_suffix(".log"), target.with_suffix(".part")
    with log.open("w") as file:
        try:
            done = subprocess.run(
                [*command, "-o", str(unfinished)], stdout=file, stderr=subprocess.STDOUT, timeout=_SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as e:
            raise Missing(f"{command[0]}: {e}") from None
    if done.returncode != 0:
        lines = log.read_text(errors="replace").splitlines()
        first = next((line for line in lines if "error" in line.lower()), lines[-1] if lines else "no message")
        raise Missing(f"it does not compile: {first.strip()} (all of it: {log})")
    unfinished.rename(target)
    log.unlink()


def call_of(shared_object: Path, libraries: Sequence[Path] = ()) -> Callable[[Any, int, bool], Any]:
    """Return the call of a compiled rival: rows, k, largest give values and indices in fresh tensors.

    `libraries`: what it is linked with, wherever it was compiled. Raises Missing if one does not load.
    """
    torch = importlib.import_module("torch")
    try:
        for file in libraries:
            ctypes.CDLL(str(file), ctypes.RTLD_GLOBAL)
        function = ctypes.CDLL(str(shared_object)).kselect_peer
    except OSError as e:
        raise Missing(f"it does not load: {e}") from None
    pointer = ctypes.c_void_p
    function.argtypes = [pointer, pointer, pointer, *(ctypes.c_int,) * 4, pointer]

    def call(rows: Any, k: int, largest: bool) -> Any:
        q, n = rows.shape
        values = torch.empty((q, k), dtype=torch.float32, device=rows.device)
        indices = torch.empty((q, k), dtype=torch.int32, device=rows.device)
        stream = torch.cuda.current_stream().cuda_stream
        failed = function(rows.data_ptr(), values.data_ptr(), indices.data_ptr(), q, n, k, int(largest), stream)
        if failed:
            raise RuntimeError(f"CUDA error {failed}")
        return values, indices

    return call
