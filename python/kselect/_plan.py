"""`plan`: what many calls on arrays of one shape have in common is made once."""

import math
import threading
from typing import Any

from kselect import _flags, _libraries, _ragged, _select
from kselect._arguments import is_wide, thread_count, whole
from kselect._call import Call, TopK


class Plan:
    """A call of `top_k` for arrays like the one that it was made for, with outputs of its own.

    Calling it selects. Every call writes the same `values` and `indices`, so it allocates nothing,
    and CUDA graphs of torch and CuPy can capture it. Two threads need two plans: in host memory, a
    call while another one runs raises RuntimeError.
    """

    def __init__(self, library: Any, call: Call, is_flat: bool) -> None:
        """Allocate outputs and workspace. `kselect.plan` makes plans. is_flat: axis was None."""
        self._library, self._call, self._on_gpu = library, call, call.on_gpu
        a = call.a
        self._shape, self._type = tuple(call.caller.shape), library.type_name(a)
        self._is_flat = is_flat
        self._kind, self._place = type(a), library.place(a)
        self._written = (
            library.empty(call.answer_shape, a),
            library.empty_indices(call.answer_shape, call.wide, a),
        )
        self._exported = tuple(map(library.exported, self._written))
        self._answer = TopK(*(call.moved(one) for one in self._written))
        self._copy: Any = None  # of rows that must lie otherwise
        self._idle = call.empty or call.hollow
        if call.hollow:
            call._fill(*self._written)
        self._workspace = library.empty_bytes(0 if self._idle else self._needed(a), a)
        self._kept = self._keep(a)
        self._is_free = threading.Lock()

    @property
    def values(self) -> Any:
        """The values of the last call: the shape of `a` with `k` for the length of the axis."""
        return self._answer.values

    @property
    def indices(self) -> Any:
        """Where they are along the axis; of the same shape."""
        return self._answer.indices

    @property
    def workspace_bytes(self) -> int:
        """The bytes of scratch memory that it keeps, which `top_k(workspace=...)` needs as well."""
        return int(self._workspace.shape[0])

    def __call__(self, a: Any) -> TopK:
        """Select from an array of the shape, dtype and device that the plan was made for.

        Returns the plan's own `values` and `indices`. Raises ValueError or TypeError if `a` is of
        another shape, dtype, kind or device, and RuntimeError if another thread is in a call of
        this plan.
        """
        if self._on_gpu:  # a call only queues its work, in the order of the stream
            return self._run(a)
        # Two calls at once would write one workspace, whose numbers say where a call writes.
        if not self._is_free.acquire(blocking=False):
            raise RuntimeError("another thread is in a call of this plan; two threads need two plans")
        try:
            return self._run(a)
        finally:
            self._is_free.release()

    def _run(self, a: Any) -> TopK:
        if self._kept is not None and _select.run_kept(self._kept, a):
            return self._answer
        library, call = self._library, self._call
        if not isinstance(a, self._kind):
            raise TypeError(f"a is a {type(a).__name__}, not a {self._kind.__name__}")
        a = library.prepared(a)
        if tuple(a.shape) != self._shape:
            raise ValueError(f"a has shape {tuple(a.shape)}, not {self._shape}")
        if library.type_name(a) != self._type:
            raise TypeError(f"a has dtype {library.type_name(a)}, not {self._type}")
        if library.place(a) != self._place:
            raise ValueError(f"a is on {library.place(a)}, not on {self._place}")
        if self._idle:
            return self._answer
        if self._is_flat:
            a = a.reshape(-1)
        if not self._select(a, call.axis):
            self._select(self._copied(a), call.last)
        return self._answer

    def _select(self, a: Any, axis: int) -> bool:
        library, call = self._library, self._call
        rows, scratch = library.exported(a), library.exported(self._workspace)
        stream = library.current_stream(a) if self._on_gpu else 0
        values, indices = self._exported
        return _select.top_k(
            rows, call.k, axis, call.flags, values, indices, scratch, call.threads, stream,
            *call.ragged_arguments(),
        )  # fmt: skip

    def _copied(self, a: Any) -> Any:
        moved = self._library.moved(a, self._call.axis, self._call.last)
        if self._copy is None:
            self._copy = self._library.dense_copy(moved)
        else:
            self._copy[...] = moved
        return self._copy

    def _needed(self, a: Any) -> int:
        """The bytes of workspace for `a` where it is, or for a copy of it, whichever are more."""
        library, call = self._library, self._call
        ragged = call.ragged_arguments()
        found = _select.workspace_bytes(
            library.exported(a), call.k, call.axis, call.flags, call.threads, True, *ragged
        )
        copied = _select.workspace_bytes(
            library.exported(self._copied(a)), call.k, call.last, call.flags, call.threads, True, *ragged
        )
        if found is not None:
            self._copy = None  # it may never be needed
        return max(found or 0, copied or 0)

    def _keep(self, a: Any) -> Any:
        """What the extension keeps of calls on torch's tensors; None: it keeps nothing."""
        call, rows = self._call, self._call.rows
        keep = getattr(self._library, "kept_call", None)
        if keep is None or self._idle or call.axis != call.last:
            return None
        options: dict[str, Any] = {}
        if rows is not None:
            options = rows.given._replace(mask=rows.mask)._asdict()
        return keep(a, call.k, call.flags, call.threads, TopK(*self._written), self._workspace, options)


def plan(
    a: Any,
    k: int,
    /,
    *,
    axis: int | None = -1,
    mode: str = "largest",
    sorted: bool = True,
    nan: str = "total_order",
    stable: bool = False,
    lengths: Any = None,
    starts: Any = None,
    offsets: Any = None,
    mask: Any = None,
    max_length: int | None = None,
    fill: int = -1,
    index_dtype: Any = None,
    threads: int | None = None,
) -> Plan:
    """Prepare calls of `top_k` on arrays like `a`: of its shape, dtype, library and device.

    The arguments are those of `top_k`. `a` may be NumPy's, torch's or CuPy's; its numbers are not
    looked at. Gradients are not followed.

    `lengths`, `starts` and `offsets` are kept, not copied, if they are dense and of int32 or int64:
    write other numbers into them, and the next call selects by these. In host memory a call raises
    ValueError if a row then is no part of the axis or longer than `max_length`. So are the words of
    a `mask` of uint32 or int32; booleans and bytes are packed once, when the plan is made. On a GPU
    that is on the library's current stream: a call on another one must wait for it.

        select = kselect.plan(scores, 10)
        for scores in batches:
            values, indices = select(scores)  # overwritten by the next call

    Raises what `top_k` raises.
    """
    flags = _flags.of(mode, sorted, stable, nan)
    library, a = _libraries.of(a)
    library.check(a)
    if not hasattr(library, "empty_bytes"):
        raise TypeError(
            f"a is a {type(a).__name__}; plans are for NumPy's, torch's and CuPy's arrays"
        )
    given = _ragged.given(lengths, starts, offsets, mask, fill, max_length)
    if given is not None and given.offsets is not None and max_length is None:
        # Later offsets may have longer rows than these.
        given = given._replace(max_length=max(1, math.prod(a.shape)))
    wide, count = is_wide(index_dtype), thread_count(threads)
    call = Call(library, a, whole("k", k), axis, flags, wide, None, count, given=given)
    return Plan(library, call, axis is None)
