"""Packs a wheel again, smaller: `python scripts/pack_wheel.py WHEEL`.

libdeflate searches longer for matches than zlib does. The format is the same, so pip reads the wheel as before. Names,
order and times of the files stay.
"""

import os
import sys
import zipfile
from pathlib import Path

import deflate

LEVEL = 12  # the highest


class Compressor:
    """What zipfile asks of a compressor, for a file that comes in parts."""

    def __init__(self, *_: object) -> None:
        """Begin a file."""
        self.parts: list[bytes] = []

    def compress(self, part: bytes) -> bytes:
        """Keep a part."""
        self.parts.append(bytes(part))
        return b""

    def flush(self) -> bytes:
        """Return the whole file, compressed."""
        return bytes(deflate.deflate_compress(b"".join(self.parts), LEVEL))


def pack(wheel: Path) -> None:
    """Replace the wheel by a smaller one with the same files."""
    packed = wheel.with_suffix(".packed")
    zipfile._get_compressor = Compressor  # type: ignore[attr-defined]  # zipfile knows no other way
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new:
        for file in old.infolist():
            new.writestr(file, old.read(file))
    with zipfile.ZipFile(packed) as new:
        if broken := new.testzip():
            raise SystemExit(f"{packed}: {broken} cannot be read back")
    os.replace(packed, wheel)


if __name__ == "__main__":
    pack(Path(sys.argv[1]))
