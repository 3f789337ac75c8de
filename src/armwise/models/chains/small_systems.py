"""Inverses of many small symmetric matrices at once, with people as the last axis."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from armwise.rmab.elimination import LARGEST_WRITTEN_OUT

Matrices = Float[Array, "size size people"]
Vectors = Float[Array, "size people"]


def cholesky(matrices: Matrices) -> Matrices:
    """The lower triangular L with ``matrix = L Lᵀ``, for positive definite matrices.

    The code is written out entry by entry, so that each operation is one vector operation over all people (see
    ``rmab.elimination``). For larger matrices this does not pay off, and they go to ``jnp.linalg.cholesky``.
    """
    size = len(matrices)
    if size > LARGEST_WRITTEN_OUT:
        return jnp.moveaxis(jnp.linalg.cholesky(jnp.moveaxis(matrices, -1, 0)), 0, -1)
    zero = jnp.zeros_like(matrices[0, 0])
    rows: list[list[Array]] = [[zero] * size for _ in range(size)]
    for column in range(size):
        for row in range(column, size):
            rest = matrices[row, column] - sum((rows[row][k] * rows[column][k] for k in range(column)), start=zero)
            rows[row][column] = jnp.sqrt(rest) if row == column else rest / rows[column][column]
    return jnp.stack([jnp.stack(row) for row in rows])


def inverse(matrices: Matrices) -> Matrices:
    """The inverses of positive definite matrices."""
    size = len(matrices)
    lower = cholesky(matrices)
    zero = jnp.zeros_like(matrices[0, 0])
    # M = L⁻¹ by forward substitution, then the inverse is MᵀM.
    solved: list[list[Array]] = [[zero] * size for _ in range(size)]
    for column in range(size):
        for row in range(column, size):
            unit = zero + float(row == column)
            rest = unit - sum((lower[row, k] * solved[k][column] for k in range(column, row)), start=zero)
            solved[row][column] = rest / lower[row, row]
    half = jnp.stack([jnp.stack(row) for row in solved])
    return jnp.sum(half[:, :, None] * half[:, None, :], axis=0)


def apply(matrices: Matrices, vectors: Vectors) -> Vectors:
    """The products of each matrix with its vector."""
    return jnp.sum(matrices * vectors[None], axis=1)
