"""The known part of a restless bandit: rewards, discount, first states and costs, but not the transitions."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from armwise._validation import (
    ArrayLike,
    as_float_array,
    check_count,
    check_distributions,
    check_finite,
    first_offender,
    is_concrete,
)
from armwise.errors import InvalidInputError


class Problem(eqx.Module):
    """The known part of a restless bandit (Section 2): everything except the transitions.

    It is immutable, and a pytree whose leaves are the four arrays, so it can pass through ``jit``, ``vmap`` and
    ``grad``. Rewards and first states are shared by all arms or given per arm.

    Args:
        rewards: reward of being in each state, ``[states]`` or ``[arms, states]``; by default the paper's
            ``s / (states - 1)``: 0 for the least engaged state, 1 for the most engaged.
        discount: weight γ of next week's reward relative to this week's, in ``[0, 1)``.
        initial: distribution of the first state, ``[states]`` or ``[arms, states]``; uniform by default.
        costs: budget that each action uses, ``[actions]``; by default no call costs 0 and a call costs 1.
        num_states: the number of states, needed if neither rewards nor initial gives it; 2 by default.

    Example:
        >>> problem = Problem(discount=0.9, num_states=3)
        >>> problem.rewards.tolist(), problem.costs.tolist()
        ([0.0, 0.5, 1.0], [0.0, 1.0])
        >>> Problem(rewards=[0.0, 1.0], discount=1.0)
        Traceback (most recent call last):
        armwise.errors.InvalidInputError: discount must be in [0, 1), not 1. ...
    """

    rewards: Float[Array, "*arms states"]
    discount: Float[Array, ""]
    initial: Float[Array, "*arms states"]
    costs: Float[Array, " actions"]

    def __init__(
        self,
        rewards: ArrayLike | None = None,
        discount: ArrayLike = 0.9,
        initial: ArrayLike | None = None,
        costs: ArrayLike = (0.0, 1.0),
        *,
        num_states: int | None = None,
    ):
        states = _infer_num_states(rewards, initial, num_states)
        self.rewards = as_float_array("rewards", jnp.linspace(0, 1, states) if rewards is None else rewards)
        uniform = np.full(states, 1 / states)
        self.initial = as_float_array("initial", uniform if initial is None else initial)
        self.discount = as_float_array("discount", discount)
        self.costs = as_float_array("costs", costs)
        _check_problem(self, states)

    @property
    def num_states(self) -> int:
        """How many states each arm has."""
        return self.rewards.shape[-1]


def _infer_num_states(rewards: object, initial: object, num_states: int | None) -> int:
    if num_states is not None:
        return check_count("num_states", num_states, minimum=1)
    for name, value in (("rewards", rewards), ("initial", initial)):
        if value is not None:
            array = as_float_array(name, value)
            if array.ndim not in (1, 2) or array.shape[-1] == 0:
                raise InvalidInputError(
                    f"{name} must have the shape [states] or [arms, states], not {list(array.shape)}."
                )
            return array.shape[-1]
    return 2


def _check_problem(problem: Problem, num_states: int) -> None:
    for name, value in (("rewards", problem.rewards), ("initial", problem.initial)):
        if value.ndim not in (1, 2) or value.shape[-1] != num_states:
            raise InvalidInputError(
                f"{name} must have the shape [{num_states}] or [arms, {num_states}], since there are {num_states} "
                f"states, not {list(value.shape)}."
            )
        check_finite(name, value, "arm", "state")
    check_distributions("initial", problem.initial, "arm", "state")
    check_discount(problem.discount)
    _check_costs(problem.costs)


def check_discount(discount: Float[Array, "..."]) -> None:
    """Refuse a discount that is not one number in [0, 1)."""
    if discount.ndim:
        raise InvalidInputError(f"discount must be one number, not an array of shape {list(discount.shape)}.")
    if is_concrete(discount) and not 0 <= float(discount) < 1:
        raise InvalidInputError(
            f"discount must be in [0, 1), not {float(discount):.7g}. An undiscounted return is infinite; try 0.99."
        )


def _check_costs(costs: Float[Array, "..."]) -> None:
    if costs.ndim != 1 or costs.shape[0] == 0:
        raise InvalidInputError(f"costs must have the shape [actions], not {list(costs.shape)}.")
    check_finite("costs", costs, "action")
    if is_concrete(costs) and bool(jnp.any(costs < 0)):
        array = np.asarray(costs)
        index = first_offender(array < 0)
        raise InvalidInputError(f"costs must not be negative, but action {index[0]} costs {array[index]}.")
