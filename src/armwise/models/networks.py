"""Networks that predict the transition probabilities of a person's chain from her features (the paper's M_θ).

A model is any Equinox module that maps the ``Features`` of arms to ``[arms, states, actions, states]``. The three sizes
of the paper's Table 2 are ``Linear``, and ``MultiLayerPerceptron`` with 2 layers of 64 and with 4 layers of 500.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Integer, PRNGKeyArray

from armwise._hardware import on_cpu
from armwise._validation import check_count
from armwise.data import Features
from armwise.errors import InvalidInputError

Transitions = Float[Array, "arms states actions states"]
Levels = tuple[int, ...]  # the number of levels of each category
Codes = Integer[Array, "arms categorical"]

# The number of arms per lookup on a CPU. XLA spreads the sum of a larger lookup over the cores and then writes the
# contribution of each category to memory: with 44 categories, 256 arms took 8 µs and 512 arms took 188 µs.
_CPU_FORWARD_BLOCK = 256
# The number of arms whose one-hot rows are in memory at a time. On a CPU, 1,024 took 5 % longer than 4,096. An
# accelerator needs more arms to be busy.
_CPU_BACKWARD_BLOCK = 4096
_ACCELERATOR_BLOCK = 2**18


class FeatureLayer(eqx.Module):
    """An affine map of features: a matrix for the numeric columns, one row of a table per categorical level.

    The table holds the weights of the one-hot columns, and a code selects a row of it. So the layer gives the same
    result as a layer on one-hot columns, without building them.
    """

    weights: Float[Array, "numeric outputs"]
    table: Float[Array, "levels outputs"]
    bias: Float[Array, " outputs"]
    levels: tuple[int, ...] = eqx.field(static=True)

    def __init__(self, key: PRNGKeyArray, num_numeric: int, levels: tuple[int, ...], num_outputs: int):
        # Each numeric column and each categorical column contributes one active input.
        bound = 1 / max(1, num_numeric + len(levels)) ** 0.5
        shape = (num_numeric + sum(levels), num_outputs)
        weights = jax.random.uniform(key, shape, minval=-bound, maxval=bound)
        self.weights, self.table = weights[:num_numeric], weights[num_numeric:]
        self.bias = jnp.zeros(num_outputs)
        self.levels = levels

    def __call__(self, features: Features) -> Float[Array, "arms outputs"]:
        """The affine map of each arm's features."""
        if features.levels != self.levels or features.numeric.shape[-1] != self.weights.shape[0]:
            raise InvalidInputError(
                f"The model was made for {self.weights.shape[0]} numeric columns and levels {self.levels}, not for "
                f"{features.numeric.shape[-1]} and {features.levels}. Encode the features as for training."
            )
        outputs = features.numeric @ self.weights + self.bias[None]
        return outputs + look_up(self.levels, self.table, features.codes) if self.levels else outputs


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def look_up(levels: Levels, table: Float[Array, "levels outputs"], codes: Codes) -> Float[Array, "arms outputs"]:
    """The sum, over an arm's categories, of the table rows that its codes select.

    Args:
        levels: how many rows of the table belong to each category.
        table: the rows of all categories, one category after the other.
        codes: for each arm and category, the selected row within the category.
    """
    rows = partial(_rows_selected, levels, table)
    whole = len(codes) // _CPU_FORWARD_BLOCK * _CPU_FORWARD_BLOCK if on_cpu() else 0
    if not whole:
        return rows(codes)
    blocks = jax.lax.map(rows, codes[:whole].reshape(-1, _CPU_FORWARD_BLOCK, codes.shape[1]))
    return jnp.concatenate([blocks.reshape(whole, -1), rows(codes[whole:])])


def _rows_selected(levels: Levels, table: Float[Array, "levels outputs"], codes: Codes) -> Float[Array, "arms outputs"]:
    ends = np.cumsum(levels)
    return sum(
        (
            table[end - size : end][codes[:, column]]
            for column, (size, end) in enumerate(zip(levels, ends, strict=True))
        ),
        start=jnp.zeros((codes.shape[0], table.shape[1]), table.dtype),
    )


def _look_up_forward(levels, table, codes):  # type: ignore[no-untyped-def]
    return look_up(levels, table, codes), codes


def _look_up_backward(levels, codes, cotangent):  # type: ignore[no-untyped-def]
    """The transpose of the one-hot matrix times the cotangent, a block of arms at a time.

    By default XLA would scatter one number after the other. With 44 categories that took 2 to 3 times as long, both for
    76 arms and for a million.
    """
    of_block = partial(_hot_transpose_times, levels)
    size = _CPU_BACKWARD_BLOCK if on_cpu() else _ACCELERATOR_BLOCK
    num_blocks = len(codes) // size
    to_table = of_block(codes[num_blocks * size :], cotangent[num_blocks * size :])
    if num_blocks:
        blocks = (array[: num_blocks * size].reshape(num_blocks, size, -1) for array in (codes, cotangent))
        to_table, _ = jax.lax.scan(lambda total, block: (total + of_block(*block), None), to_table, tuple(blocks))
    return to_table, None


look_up.defvjp(_look_up_forward, _look_up_backward)


def _hot_transpose_times(
    levels: Levels, codes: Codes, cotangent: Float[Array, "arms outputs"]
) -> Float[Array, "levels outputs"]:
    """The transpose of the one-hot matrix times the cotangent, by the method that is faster on the device."""
    gathered, compared = partial(_by_gathering, levels), partial(_by_comparing, levels)
    if len(levels) * max(levels) > 2 * sum(levels):  # comparing would do more than twice the work
        return gathered(codes, cotangent)
    return jax.lax.platform_dependent(codes, cotangent, cpu=gathered, default=compared)


def _by_gathering(
    levels: Levels, codes: Codes, cotangent: Float[Array, "arms outputs"]
) -> Float[Array, "levels outputs"]:
    """The product with a code gathered for each level: cheap on a CPU, but most of the step on an accelerator."""
    category, level = _of_each_row(levels)
    return _transpose_times(codes[:, category] == level[None], cotangent)


def _by_comparing(
    levels: Levels, codes: Codes, cotangent: Float[Array, "arms outputs"]
) -> Float[Array, "levels outputs"]:
    """The product with all categories padded to the widest, so that nothing is gathered.

    For 3,000,000 arms × 44 categories on an H200 it took 2.5 ms instead of 7.5.
    """
    category, level = _of_each_row(levels)
    hot = codes[:, :, None] == jnp.arange(max(levels), dtype=codes.dtype)[None, None]
    return _transpose_times(hot.reshape(len(codes), len(levels) * max(levels)), cotangent)[
        category * max(levels) + level
    ]


def _of_each_row(levels: Levels) -> tuple[Int[np.ndarray, " levels"], Int[np.ndarray, " levels"]]:
    """The category and the level of each row of a table."""
    category = np.repeat(np.arange(len(levels)), levels)
    return category, np.concatenate([np.arange(size) for size in levels])


def _transpose_times(
    hot: Bool[Array, "arms columns"], cotangent: Float[Array, "arms outputs"]
) -> Float[Array, "columns outputs"]:
    return jnp.matmul(hot.astype(cotangent.dtype).T, cotangent, precision=jax.lax.Precision.HIGHEST)


class Linear(eqx.Module):
    """Logits that are affine in the features; the paper's "small" model.

    Args:
        key: a random key for the first weights.
        features: an example of the features to predict from; only the layout of the columns matters.
        num_states: states of each chain.
        num_actions: actions of each chain.
    """

    layer: FeatureLayer
    num_states: int = eqx.field(static=True)
    num_actions: int = eqx.field(static=True)

    def __init__(self, key: PRNGKeyArray, features: Features, num_states: int, num_actions: int = 2):
        num_outputs = num_states * num_actions * num_states
        self.layer = FeatureLayer(key, features.numeric.shape[-1], features.levels, num_outputs)
        self.num_states, self.num_actions = num_states, num_actions

    def __call__(self, features: Features) -> Transitions:
        """Transition probabilities of each arm."""
        return _probabilities(self.layer(features), self.num_states, self.num_actions)


class MultiLayerPerceptron(eqx.Module):
    """A feed-forward ReLU network; the paper's "medium" is 2 layers of 64 and its "large" 4 layers of 500.

    Args:
        key: a random key for the first weights.
        features: an example of the features to predict from; only the layout of the columns matters.
        num_states: states of each chain.
        num_actions: actions of each chain.
        width: units of each hidden layer.
        depth: number of hidden layers.
    """

    layer: FeatureLayer
    hidden: tuple[eqx.nn.Linear, ...]
    output: eqx.nn.Linear
    num_states: int = eqx.field(static=True)
    num_actions: int = eqx.field(static=True)

    def __init__(
        self,
        key: PRNGKeyArray,
        features: Features,
        num_states: int,
        num_actions: int = 2,
        *,
        width: int = 64,
        depth: int = 2,
    ):
        check_count("width", width, minimum=1)
        first, last, *rest = jax.random.split(key, check_count("depth", depth, minimum=1) + 1)
        self.layer = FeatureLayer(first, features.numeric.shape[-1], features.levels, width)
        self.hidden = tuple(eqx.nn.Linear(width, width, key=key) for key in rest)
        self.output = eqx.nn.Linear(width, num_states * num_actions * num_states, key=last)
        self.num_states, self.num_actions = num_states, num_actions

    def __call__(self, features: Features) -> Transitions:
        """Transition probabilities of each arm."""
        values = jax.nn.relu(self.layer(features))
        for layer in self.hidden:
            values = jax.nn.relu(jax.vmap(layer)(values))
        return _probabilities(jax.vmap(self.output)(values), self.num_states, self.num_actions)


class Ensemble(eqx.Module):
    """Several models of one type that predict together, by the average of their log-probabilities.

    Args:
        members: one model in which every weight has a leading axis over the members; ``average_models`` makes it.
    """

    members: Any

    def __call__(self, features: Features) -> Transitions:
        """Transition probabilities of each arm."""

        def log_probabilities(member: Any) -> Transitions:
            predicted = member(features)
            # Two members may each give probability 1 to what the other gives 0: keep the logarithms finite.
            return jnp.log(jnp.maximum(predicted, jnp.finfo(predicted.dtype).tiny))

        return jax.nn.softmax(eqx.filter_vmap(log_probabilities)(self.members).mean(axis=0), axis=-1)


def average_models(models: Sequence[Any]) -> Any:
    """One model that predicts the average log-probabilities of several models of the same type and shape.

    Models of different training cohorts err differently, and their average usually errs less than one of them. The
    average of linear models is the linear model with their average weights. Other models become an ``Ensemble``.

    Args:
        models: at least one.
    """
    if not models:
        raise InvalidInputError("There are no models to average.")
    kinds = (jax.tree.map(lambda leaf: jnp.shape(leaf) if eqx.is_array(leaf) else leaf, model) for model in models)
    first, *others = kinds
    if any(other != first for other in others):
        raise InvalidInputError("Only models of one kind and shape can be averaged.")
    if len(models) == 1:
        return models[0]
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves) if eqx.is_array(leaves[0]) else leaves[0], *models)
    if type(models[0]) is Linear:
        return jax.tree.map(lambda weights: weights.mean(axis=0), stacked)
    return Ensemble(stacked)


def _probabilities(logits: Float[Array, "arms outputs"], num_states: int, num_actions: int) -> Transitions:
    """The softmax over next states, computed with the arms as the last axis.

    So XLA divides whole rows instead of the few numbers of one arm after the other, and the losses get rows too. An
    epoch at the paper's shapes takes a fifth to a third less time.
    """
    rows = logits.reshape(-1, num_states, num_actions, num_states).transpose(1, 2, 3, 0)
    return jax.nn.softmax(rows, axis=2).transpose(3, 0, 1, 2)
