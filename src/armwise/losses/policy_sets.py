"""The policies of each arm that a decision-focused loss mixes, and their returns."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Int32

from armwise.rmab import Problem, all_policies, policy_returns, threshold_policies
from armwise.rmab.index_policies import index_policy_returns
from armwise.rmab.whittle import departure_ranks

Transitions = Float[Array, "arms states actions states"]
StateRanks = Int32[Array, "arms states"] | None  # of each state in its arm's order; None where no order is needed
POLICY_SETS = ("all", "threshold", "index", "near-index")
UNITS = ("return", "spread")


def state_ranks(policies: str, true_transitions: Transitions, problem: Problem) -> StateRanks:
    """The true order of each arm's states if its policies depend on it, else None. Predictions do not change it."""
    return departure_ranks(true_transitions, problem) if "index" in policies else None


def returns_of(
    policies: str, transitions: Transitions, problem: Problem, ranks: StateRanks
) -> tuple[Float[Array, "arms policies"], Float[Array, "arms policies"]]:
    """The reward and budget returns of the per-arm policies that a loss mixes."""
    if ranks is not None:
        return index_policy_returns(transitions, problem, ranks, neighbours=policies == "near-index")
    return policy_returns(transitions, problem, policies_of(policies, *transitions.shape[1:3]))


def policies_of(policies: str, num_states: int, num_actions: int) -> Int[np.ndarray, "policies states"]:
    """The policies of a set that is the same for all arms."""
    return threshold_policies(num_states) if policies == "threshold" else all_policies(num_states, num_actions)


def num_policies(policies: str, num_states: int, num_actions: int) -> int:
    """The number of policies in a set that is the same for all arms; 0 if each arm has its own policies."""
    if "index" in policies:
        return 0
    return num_states + 1 if policies == "threshold" else num_actions**num_states


def spread(returns: Float[Array, "arms policies"]) -> Float[Array, ""]:
    """The standard deviation of the returns of an arm's policies, averaged over arms. It is never 0."""
    return jnp.maximum(jnp.mean(jnp.std(returns, axis=-1)), jnp.finfo(returns.dtype).tiny)
