"""Reads journals: each line is a finished object that ends in its checksum.

The file is append-only. An interrupted append leaves a torn tail at the end; it is reported and
ignored. Any other line with a wrong checksum is an error with its number, because a figure drawn
from damaged data looks like any other figure. The rule for a torn tail is that of the journal
writer in harness/record.
"""

import json
import re
import zlib
from pathlib import Path
from typing import Any, NoReturn

from plots.errors import Failure, PlotError
from plots.files import read_bytes

SCHEMA = 1
_NEVER_IN_JSON = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\xc0\xc1\xf5-\xff]")
_CHECKSUM = re.compile(rb',"crc32":"([0-9a-f]{8})"}\Z')


def read_journal(path: Path) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """Return the objects of a journal of any kind, and warnings about the file."""
    lines, torn = split(read_bytes(path), str(path))
    objects = [decode(line, f"{path}:{i}") for i, line in enumerate(lines, 1)]
    told = f"{path}:{len(lines) + 1}: ignored an unfinished line ({torn} bytes)"
    return objects, (told,) if torn else ()


def split(data: bytes, where: str) -> tuple[list[bytes], int]:
    """Return the valid lines and the length of the torn tail."""
    lines: list[bytes] = []
    rest = data
    while rest:
        line, newline, after = rest.partition(b"\n")
        if not newline or not _is_intact(line):
            if not _is_torn(rest):
                message = (
                    f"{where}:{len(lines) + 1}: the checksum does not match; restore the file, or "
                    "delete the line to measure its cell again"
                )
                raise PlotError(Failure.INPUT, message)
            break
        lines.append(line)
        rest = after
    return lines, len(rest)


def _is_torn(rest: bytes) -> bool:
    """Tell whether `rest`, which begins with an invalid line, is a torn tail.

    A torn tail is one line, or bytes that no JSON text holds (power failures leave zeros).
    """
    _, newline, after = rest.partition(b"\n")
    if not newline or not after:
        return True
    if any(_is_intact(line) for line in after.split(b"\n")[:-1]):
        return False
    return _NEVER_IN_JSON.search(rest) is not None


def _is_intact(line: bytes) -> bool:
    found = _CHECKSUM.search(line)
    if found is None:
        return False
    return zlib.crc32(line[: found.start()] + b"}") == int(found[1], 16)


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def decode(text: bytes, where: str) -> dict[str, Any]:
    """Return the JSON object of a line or a file; raises PlotError(INPUT)."""
    try:
        value = json.loads(text.decode("utf-8"), parse_constant=_reject_constant)
    except ValueError as e:
        raise PlotError(Failure.INPUT, f"{where}: not JSON: {e}") from e
    except RecursionError as e:
        raise PlotError(Failure.INPUT, f"{where}: is nested too deeply to be a record") from e
    if not isinstance(value, dict):
        raise PlotError(Failure.INPUT, f"{where}: not a JSON object")
    schema = value.get("schema")
    if type(schema) is not int or schema != SCHEMA:  # neither true nor 1.0
        message = f"{where}: schema {schema!r} is not known, this reads {SCHEMA}"
        raise PlotError(Failure.INPUT, message)
    return value
