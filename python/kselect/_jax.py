"""JAX's arrays in host memory, seen as NumPy's (_libraries.py says what each function does)."""

from typing import Any

import jax
import numpy as np

from kselect import _numpy
from kselect._numpy import (  # noqa: F401
    dense_copy,
    empty,
    exported,
    is_dense,
    may_overlap,
    moved,
    refuse_out,
)

DEFAULT_WIDE = False  # as jax.lax.top_k


def check(a: Any) -> bool:
    if isinstance(a, jax.core.Tracer):
        raise TypeError("a is being traced by JAX; call kselect outside of jit, grad and vmap")
    if any(device.platform != "cpu" for device in a.devices()):
        raise TypeError("a is JAX's and on a GPU; pass torch.from_dlpack(a) or cupy.from_dlpack(a)")
    return False


type_name = _numpy.type_name


def prepared(a: Any) -> Any:
    return np.asarray(a)  # no copy


def as_numpy(a: Any) -> Any:
    check(a)
    return prepared(a)


def empty_indices(shape: tuple[int, ...], wide: bool, a: Any) -> Any:
    if wide and not jax.config.jax_enable_x64:
        raise ValueError("index_dtype is int64, which JAX has only with jax_enable_x64")
    return _numpy.empty_indices(shape, wide, a)


def returned(values: Any, indices: Any, a: Any, axis: int, ragged: Any = None) -> tuple[Any, Any]:
    return jax.numpy.asarray(values), jax.numpy.asarray(indices)
