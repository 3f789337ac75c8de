"""Rules of thumb: what programmes do without a model. Every comparison shows them next to the learned model."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from armwise._validation import ArrayLike, as_float_array
from armwise.data.counts import estimate_transitions
from armwise.errors import InvalidInputError
from armwise.rmab import LongestFirst, Problem, RandomCalls, RoundRobin, whittle_indices
from armwise.rmab.choices import Schedule

Priorities = Float[Array, "cohorts arms states"]

RULES_OF_THUMB = {
    "never": "No one is called.",
    "random": "People are drawn by lot each week.",
    "round robin": "Everyone is called in turn.",
    "disengaged first": "Whoever is in the lowest state comes first, of them whoever has been there longest.",
    "population index": "People are ranked by the Whittle index of their state, one chain for all.",
    "least likely to engage": "Whoever is predicted to be worst off next week without a call comes first.",
}


def rules_of_thumb(
    problem: Problem, predicted_transitions: ArrayLike, training_counts: ArrayLike
) -> dict[str, Priorities | Schedule]:
    """The priorities of each rule of thumb, for ``priority_decision_quality``.

    Args:
        problem: rewards, discount and first states.
        predicted_transitions: ``[cohorts, arms, states, 2, states]`` of the test cohorts, by any model. Only "least
            likely to engage" uses their values, and only those without a call.
        training_counts: how often each transition was observed, ``[..., states, 2, states]``, added up over all
            leading axes. Only "population index" uses them. Leave out the test cohorts.

    Returns:
        Priorities ``[cohorts, arms, states]`` or a schedule, by the names in ``RULES_OF_THUMB``.

    Example:
        >>> predicted = np.array([[[[[0.9, 0.1], [0.4, 0.6]], [[0.5, 0.5], [0.2, 0.8]]]] * 3])
        >>> ways = rules_of_thumb(Problem(), predicted, training_counts=100 * predicted)
        >>> list(ways) == list(RULES_OF_THUMB)
        True
        >>> print(ways["least likely to engage"][0, 0])
        [-0.1 -0.5]
    """
    predicted = as_float_array("predicted_transitions", predicted_transitions)
    if predicted.ndim != 5:
        raise InvalidInputError(
            "predicted_transitions must have the shape [cohorts, arms, states, actions, states], not "
            f"{list(predicted.shape)}. For one cohort, add an axis: [None]."
        )
    shape = predicted.shape[:3]
    rewards = jnp.broadcast_to(problem.rewards, shape[1:])
    return {
        "never": jnp.full(shape, -jnp.inf),
        "random": RandomCalls(),
        "round robin": RoundRobin(),
        "disengaged first": LongestFirst(),
        "population index": jnp.broadcast_to(_population_indices(training_counts, problem, shape[1]), shape),
        "least likely to engage": -jnp.einsum("cisn,in->cis", predicted[..., 0, :], rewards),
    }


def _population_indices(counts: ArrayLike, problem: Problem, num_arms: int) -> Float[Array, "arms states"]:
    """The Whittle indices of the pooled chain, for each arm, because rewards may differ between arms."""
    array = np.asarray(counts, dtype=float)
    pooled = array.reshape(-1, *array.shape[-3:]).sum(axis=0, keepdims=True)
    chain = estimate_transitions(pooled)[0]
    return whittle_indices(jnp.broadcast_to(chain, (num_arms, *chain.shape)), problem)
