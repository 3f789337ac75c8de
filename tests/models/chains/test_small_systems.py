"""Inverses and roots of many small matrices, against numpy.linalg."""

import jax.numpy as jnp
import numpy as np
import pytest

from armwise.models.chains.small_systems import apply, cholesky, inverse


def some(size, seed=0, people=40):
    """Positive definite matrices, people first, from well to badly conditioned."""
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(people, size, size))
    return roots @ roots.transpose(0, 2, 1) + np.geomspace(1e-4, 1, people)[:, None, None] * np.eye(size)


@pytest.mark.parametrize("size", [2, 4, 6, 10])
def test_equal_those_of_numpy(size):
    matrices = some(size)
    last = jnp.asarray(np.moveaxis(matrices, 0, -1))
    lower = np.moveaxis(np.asarray(cholesky(last)), -1, 0)
    np.testing.assert_allclose(lower, np.linalg.cholesky(matrices), rtol=1e-8, atol=1e-10)
    found = np.moveaxis(np.asarray(inverse(last)), -1, 0)
    scale = np.abs(np.linalg.inv(matrices)).max(axis=(1, 2), keepdims=True)
    np.testing.assert_allclose(found / scale, np.linalg.inv(matrices) / scale, atol=1e-9)


def test_products():
    matrices, vectors = some(4), np.random.default_rng(1).normal(size=(40, 4))
    found = apply(jnp.asarray(np.moveaxis(matrices, 0, -1)), jnp.asarray(vectors.T))
    np.testing.assert_allclose(np.asarray(found).T, np.einsum("nab,nb->na", matrices, vectors), rtol=1e-12)
