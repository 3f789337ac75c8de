"""Predictors: from a person's features to the transition probabilities of her chain (the paper's M_θ).

A model is any Equinox module that maps ``Features`` of some arms to ``[arms, states, actions, states]``. The three
sizes of the paper's Table 2 are ``Linear``, ``MultiLayerPerceptron`` with 2 layers of 64, and with 4 layers of 500.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from armwise.data import Features
from armwise.errors import InvalidInputError
from armwise.rmab.checks import check_count

Transitions = Float[Array, "arms states actions states"]


class FeatureLayer(eqx.Module):
    """An affine map of features: a matrix for the numeric columns, one row of a table per categorical level.

    The table is the part of a one-hot matrix's weights that a code selects, so the layer equals one on one-hot columns
    without ever building them.
    """

    weights: Float[Array, "numeric outputs"]
    table: Float[Array, "levels outputs"]
    bias: Float[Array, " outputs"]
    levels: tuple[int, ...] = eqx.field(static=True)

    def __init__(self, key: PRNGKeyArray, num_numeric: int, levels: tuple[int, ...], num_outputs: int):
        # One numeric column or one categorical column contributes one active input each.
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
        start = 0
        for column, size in enumerate(self.levels):
            outputs = outputs + self.table[start : start + size][features.codes[..., column]]
            start += size
        return outputs


class Linear(eqx.Module):
    """Logits that are affine in the features; the paper's "small" model.

    Args:
        key: a random key for the first weights.
        features: features of the kind to predict from; only their columns matter.
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
        features: features of the kind to predict from; only their columns matter.
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


def _probabilities(logits: Float[Array, "arms outputs"], num_states: int, num_actions: int) -> Transitions:
    return jax.nn.softmax(logits.reshape(-1, num_states, num_actions, num_states), axis=-1)
