"""Packs rows into columns, and runs into compressed scripts, so that a site stays small."""

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from plots.report.data import script_text

Row = Mapping[str, Any]
_ENCODER = json.JSONEncoder(separators=(",", ":"))  # json.dumps would make one for every value


def pack(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the columns of rows; `unpack` of page/data.js undoes it. A member that a row lacks is null.

    A column is {"same": value}, {"of": [distinct values], "at": [a place in these for each row]},
    {"steps": [a first number, a step and a length for each run of numbers]} or {"is": [a value for each row]},
    whichever is short.
    """
    names = dict.fromkeys(name for row in rows for name in row)
    return {"rows": len(rows), "columns": {name: _column([row.get(name) for row in rows]) for name in names}}


def _column(values: Sequence[Any]) -> dict[str, Any]:
    texts = [_text(value) for value in values]
    places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    if len(places) == 1:
        return {"same": values[0]}
    length = sum(map(len, texts))
    if all(type(value) is int for value in values):
        steps = _steps(values)
        if 2 * len(json.dumps(steps, separators=(",", ":"))) < length:
            return {"steps": steps}
    if sum(map(len, places)) + len(values) * len(str(len(places))) < length:
        first = {text: value for text, value in zip(reversed(texts), reversed(values), strict=True)}
        return {"of": [first[text] for text in places], "at": [places[text] for text in texts]}
    return {"is": list(values)}


def _text(value: Any) -> str:
    """Return the JSON of a value."""
    # Numbers and nothing are most of the values; the encoder takes five times as long for them.
    if type(value) is int:
        return repr(value)
    return "null" if value is None else _ENCODER.encode(value)


def _steps(values: Sequence[int]) -> list[int]:
    """Return the first number, the step and the length of each run of numbers that are equally far apart."""
    steps: list[int] = []
    for value in values:
        if steps and (steps[-1] == 1 or value == steps[-3] + steps[-2] * steps[-1]):
            if steps[-1] == 1:
                steps[-2] = value - steps[-3]
            steps[-1] += 1
        else:
            steps += [value, 0, 1]
    return steps


def script(name: str, data: Mapping[str, Any]) -> bytes:
    """Return a script that defines a constant."""
    return f"const {name} = {script_text(data)};\n".encode()


def packed_script(call: str, number: int, data: Mapping[str, Any]) -> bytes:
    """Return a script that hands data, as JSON compressed by zlib and in base 64, to a function."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    packed = base64.b64encode(zlib.compress(text.encode(), 9)).decode()
    return f'{call}({number}, "{packed}");\n'.encode()
