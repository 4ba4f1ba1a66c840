"""Reads a tensor of a safetensors file: a length of 8 bytes, a JSON header, then the data."""

import json
from pathlib import Path

import numpy as np

_TYPES = {"F64": np.float64, "F32": np.float32, "F16": np.float16}
_MOST_HEADER = 100_000_000  # bytes, the format's own limit


def read(file: Path, key: str) -> np.ndarray:
    """The tensor of that key. Raises ValueError, which names the file, if it is not there."""
    try:
        whole = file.read_bytes()
    except OSError as why:
        raise ValueError(f"{file}: {why.strerror}") from None
    size = int.from_bytes(whole[:8], "little")
    if len(whole) < 8 or size > min(_MOST_HEADER, len(whole) - 8):
        raise ValueError(f"{file}: is no safetensors file, or is cut off")
    try:
        header = json.loads(whole[8 : 8 + size])
        tensor = header[key]
        begin, end = tensor["data_offsets"]
        shape, dtype = tuple(tensor["shape"]), tensor["dtype"]
    except (ValueError, KeyError, TypeError) as why:
        raise ValueError(f"{file}: has no tensor {key!r}: {why}") from None
    if dtype not in _TYPES:
        raise ValueError(f"{file}: {key} has dtype {dtype}; {', '.join(_TYPES)} are read")
    data = whole[8 + size + begin : 8 + size + end]
    wanted = np.dtype(_TYPES[dtype]).newbyteorder("<")
    if begin < 0 or len(data) != end - begin or len(data) != int(np.prod(shape)) * wanted.itemsize:
        raise ValueError(f"{file}: {key} is cut off, or its shape is another one than its size")
    return np.frombuffer(data, wanted).reshape(shape).astype(_TYPES[dtype], copy=False)
