"""kselect.top_k on JAX's arrays in host memory. Skipped where JAX is absent."""

import numpy as np
import pytest
import reference

import kselect

jax = pytest.importorskip("jax")
jax.config.update("jax_platforms", "cpu")  # also beside a GPU, where JAX would take most of the memory
jnp = jax.numpy


@pytest.mark.parametrize("dtype", [jnp.float16, jnp.bfloat16, jnp.float32])
@pytest.mark.parametrize("axis", [0, -1])
def test_like_jax(dtype, axis):
    a = jax.random.normal(jax.random.key(3), (40, 30)).astype(dtype)
    found = kselect.top_k(a, 7, axis=axis, stable=True)
    wanted = jax.lax.top_k(jnp.moveaxis(a, axis, -1), 7)
    for got, of_jax in zip(found, wanted, strict=True):
        assert isinstance(got, jax.Array) and got.dtype == of_jax.dtype
        assert jnp.array_equal(got, jnp.moveaxis(of_jax, -1, axis))


def test_refusals():
    a = jnp.ones((3, 4))
    with pytest.raises(TypeError, match="a is being traced by JAX"):
        jax.jit(lambda rows: kselect.top_k(rows, 2))(a)
    with pytest.raises(ValueError, match="index_dtype is int64"):
        kselect.top_k(a, 2, index_dtype=np.int64)
    with pytest.raises(ValueError, match="k = 5"):
        kselect.top_k(a, 5)


def test_an_answer_in_arrays_of_numpy():
    a = jnp.asarray(np.random.default_rng(1).random((3, 50), np.float32))
    out = np.empty((3, 4), np.float32), np.empty((3, 4), np.int64)
    assert kselect.top_k(a, 4, out=out).values is out[0]
    reference.check(np.asarray(a), out, 4, -1, "largest", True, False)


def test_masks():
    a = jax.random.normal(jax.random.key(3), (40, 30))
    mask = jnp.arange(30) % 3 == 0
    found = kselect.top_k(a, 7, mask=mask)
    wanted, at = jax.lax.top_k(a[:, ::3], 7)
    assert jnp.array_equal(found.values, wanted) and jnp.array_equal(found.indices, 3 * at)
    turned = kselect.top_k(a.T, 7, axis=0, mask=jnp.broadcast_to(mask[:, None], (30, 40)))
    assert jnp.array_equal(turned.values, wanted.T)
