"""The bits of a call's flags (python/extension/request.hpp)."""

LARGEST = 1
SORTED = 2
STABLE = 4
BFLOAT16 = 8  # rows and values are uint16, because NumPy's buffers have no bfloat16
WIDE_INDICES = 16
NAN_LAST = 32
FLOAT8_E4M3FN = 64  # rows and values are uint8
FLOAT8_E5M2 = 128

# The flag of a dtype whose arrays are exported as unsigned integers (`exported` of the libraries).
OF_TYPE = {"bfloat16": BFLOAT16, "float8_e4m3fn": FLOAT8_E4M3FN, "float8_e5m2": FLOAT8_E5M2}

_NAN = {"total_order": 0, "last": NAN_LAST}

_MODES = {"largest": LARGEST, "smallest": 0}


def of(mode: str, in_order: bool, stable: bool, nan: str = "total_order") -> int:
    """The flags of these options. Raises ValueError if the mode or the policy is unknown."""
    if not isinstance(mode, str) or mode not in _MODES:
        raise ValueError(f"mode is {mode!r}, but must be 'largest' or 'smallest'")
    if not isinstance(nan, str) or nan not in _NAN:
        raise ValueError(f"nan is {nan!r}, but must be 'total_order' or 'last'")
    return _MODES[mode] | _NAN[nan] | (SORTED if in_order else 0) | (STABLE if stable else 0)
