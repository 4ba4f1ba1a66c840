"""The records of a run as files have them.

Without pytest and schemas: slowed.py needs this for every turn, and both take ten times as long to import.
"""

import json
import zlib


def read_records(directory):
    """The records of a run, each checked against its checksum."""
    lines = (directory / "runs.jsonl").read_text().splitlines()
    for line in lines:
        text, _, tail = line.rpartition(',"crc32":"')
        assert zlib.crc32((text + "}").encode()) == int(tail[:8], 16)
    return [json.loads(line) for line in lines]


def write_records(directory, found):
    """Writes records (as `read_records` returns them, perhaps changed) with their checksums."""
    lines = []
    for record in found:
        text = json.dumps({name: value for name, value in record.items() if name != "crc32"})
        lines.append(f'{text[:-1]},"crc32":"{zlib.crc32(text.encode()):08x}"}}\n')
    (directory / "runs.jsonl").write_text("".join(lines))
