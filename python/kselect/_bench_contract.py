"""What a function promises, and what it takes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kselect import _libraries
from kselect._arguments import whole

_MODES = ("largest", "smallest", "both")
_MOST = (1 << 63) - 1


@dataclass(frozen=True)
class Contract:
    """What a function promises, and what it takes. The proof holds it to that."""

    mode: str = "largest"  #: or "smallest"; "both": it is called with `mode=` as well
    sorted: bool = False  #: best first
    stable: bool = False  #: of equal elements those with smaller indices
    nan: str = "unsupported"  #: "total_order": NaN is above all numbers (kselect.top_k)
    zeros: str = "merged"  #: "distinct": -0 is below +0
    infinities: bool = True  #: whether rows may have them
    dtypes: Sequence[str] = ("float32",)  #: of those that `kselect.top_k` takes
    index_dtypes: Sequence[str] = ("int32", "int64")
    max_n: int | None = None  #: the longest row
    max_q: int | None = None  #: the most rows
    max_k: int | None = None
    alignment: int = 0  #: of each row, in bytes, a power of 2; 0: one element
    threaded: bool = True  #: on the host: whether it may use threads
    synchronises: bool = False  #: on a GPU: whether it waits for its work
    modifies_input: bool = False  #: works in place

    def _facts(self) -> dict[str, Any]:
        """The members of an entry that this says (python/program/outside.hpp)."""
        self._check()
        ordering = "stable_sorted" if self.stable else "sorted"
        return {
            "contract": {
                "ordering": ordering if self.sorted else "unsorted",
                "tie_break": "prefer_smaller_index" if self.stable else "unspecified",
                "determinism": "not_guaranteed",
                "nan": self.nan,
                "zeros": self.zeros,
                "infinities": bool(self.infinities),
                "synchronises": bool(self.synchronises),
                "modifies_input": bool(self.modifies_input),
            },
            "limits": {
                "n": self.max_n,
                "q": self.max_q,
                "k": self.max_k,
                "alignment_bytes": self.alignment,
            },
            "dtypes": list(self.dtypes),
            "index_types": list(self.index_dtypes),
            "payloads": ["values_and_indices"],
            "directions": ["largest", "smallest"] if self.mode == "both" else [self.mode],
            "threaded": bool(self.threaded),
        }

    def _check(self) -> None:
        """Raises if a member makes no sense; the message names it."""
        words = {
            "mode": _MODES,
            "nan": ("unsupported", "total_order"),
            "zeros": ("merged", "distinct"),
        }
        for name, possible in words.items():
            if getattr(self, name) not in possible:
                raise ValueError(
                    f"contract.{name} is {getattr(self, name)!r}, but must be one of {possible}"
                )
        self._check_names("dtypes", tuple(_libraries.TYPES))
        self._check_names("index_dtypes", ("int32", "int64"))
        for name in ("max_n", "max_q", "max_k"):
            given = getattr(self, name)
            if given is not None and not 1 <= whole(f"contract.{name}", given) <= _MOST:
                raise ValueError(f"contract.{name} = {given}, but must be 1 to {_MOST}, or None")
        bytes_ = whole("contract.alignment", self.alignment)
        if bytes_ < 0 or bytes_ & (bytes_ - 1) or bytes_ > 1 << 30:
            raise ValueError(f"contract.alignment = {bytes_}, but must be 0 or a power of 2")

    def _check_names(self, name: str, possible: tuple[str, ...]) -> None:
        given = getattr(self, name)
        if isinstance(given, str) or not isinstance(given, Sequence):
            raise TypeError(f"contract.{name} is a {type(given).__name__}, not a list of names")
        if not given or any(one not in possible for one in given):
            raise ValueError(f"contract.{name} is {given!r}; name some of {', '.join(possible)}")


def contract_of(given: Contract | None) -> Contract:
    """The caller's contract, or the usual one. Raises TypeError if it is none."""
    if given is None:
        return Contract()
    if not isinstance(given, Contract):
        raise TypeError(f"contract is a {type(given).__name__}, not a kselect.bench.Contract")
    return given
