"""Makes meta.json for a run without the kselect program: time, sources and machine."""

import os
import platform
import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from plots.journal import SCHEMA


def processor() -> str:
    """Return the processor's model name, as kselect records it."""
    found = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return found[1].strip() if found else ""


def driver() -> str:
    """Return the version of the GPU's driver; empty if none is loaded."""
    loaded = Path("/proc/driver/nvidia/version")
    found = re.search(r"Module.*?  (\d[\d.]+)", loaded.read_text()) if loaded.exists() else None
    return found[1] if found else ""


def sources() -> dict[str, Any]:
    """Return the commit of the sources, as kselect records it; empty without git."""

    def git(*arguments: str) -> str:
        root = Path(__file__).resolve().parents[1]
        try:
            command = ["git", "-C", str(root), *arguments]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError:
            return ""
        return done.stdout.strip() if done.returncode == 0 else ""

    return {"commit": git("rev-parse", "HEAD"), "dirty": git("status", "--porcelain") != ""}


def meta_of(config: dict[str, Any], gpus: list[dict[str, Any]] | None) -> dict[str, Any]:
    """Return meta.json for a run of a config on this machine, without name and state."""
    return {
        "schema": SCHEMA,
        "started": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        "config": config,
        "input": {"kind": "generated"},
        "git": sources(),
        "host": {
            "name": platform.node(),
            "cpu": processor(),
            "threads": len(os.sched_getaffinity(0)),
            "threads_online": os.cpu_count(),
            "kernel": f"{platform.system()} {platform.release()} {platform.machine()}",
        },
        "gpu": gpus,
    }
