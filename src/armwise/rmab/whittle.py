"""Whittle indices: for each state of each arm, the price of a call at which calling and not calling are equally good.

Let acting cost a price λ per unit of budget. Under a policy that acts in the states of an *active set*, an arm's
value is linear in λ. So is the advantage of acting over not acting in each state s:

    advantage(s) = gain(s) − λ · work(s)
    gain  = γ(T¹ − T⁰) · (I − γT_π)⁻¹ R             what acting now earns later
    work  = 1 + γ(T¹ − T⁰) · (I − γT_π)⁻¹ 1_active   the budget that acting now uses, now and later

At λ = −∞ it is best to act everywhere. As λ rises, the first active state whose advantage falls to zero leaves the
active set. The price at which it leaves is its index. Leaving changes one row of T_π, so one rank-one update gives the
whole new tableau ``[γ(T¹ − T⁰)(I − γT_π)⁻¹ | gain | work]``. There are S departures of O(S²) each: O(S³) for all
indices, exact to rounding. This is the algorithm of Gast, Gaujal and Khun (2023), *Testing indexability and computing
Whittle and Gittins index in subcubic time*, in the plain cubic form, which is the fastest for few states. See also
Niño-Mora (2020), *A fast-pivoting algorithm for Whittle's restless bandit index*.

**Conditioning.** (I − γT_π)⁻¹ has entries as large as 1/(1 − γ), but the rows of T¹ − T⁰ sum to zero, so a constant
added to the values cancels. Adding γ to one column of I − γT_π subtracts such a constant. The conditioning of the
resulting system depends on how well the chain mixes, not on the discount: chains that mix keep float32's digits at
γ = 0.999. (A chain that does not mix, such as a deterministic one with several ends, has indices that depend on 1 − γ
itself, and float32 holds only four digits of 1 − 0.999. Use float64 there.)

**Indexability.** An arm has indices if no state that has left the active set ever wants to return as λ rises. All
arms with two states have indices. For an arm without indices, each state's "index" is the price at which it leaves when
leaving is final. This price is finite and reproducible, and it is the true index up to the first return.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32

from armwise._hardware import on_cpu
from armwise._validation import ArrayLike, check_transitions, check_two_actions, is_concrete
from armwise.errors import InvalidInputError
from armwise.rmab.elimination import LARGEST_WRITTEN_OUT, solve
from armwise.rmab.problem import Problem
from armwise.rmab.returns import check_fits

OneArm = Float[Array, "states 2 states"]
PerState = Float[Array, " states"]
Scalar = Float[Array, ""]

# How many arms to handle together: few enough for the tableaus to stay in a core's cache (measured: 1,000,000 arms of
# 5 states take 0.42 s this way and 1.8 s all at once).
ARMS_AT_ONCE = 64
# Enough arms to fill an accelerator: on one H200 the same arms take 4 ms this way, and 1.05 s in batches of 64.
ARMS_AT_ONCE_ON_AN_ACCELERATOR = 2**16


class Departures(NamedTuple):
    """What happens to one arm as the price of acting rises from −∞ to ∞."""

    prices: PerState  # the price at which each state leaves the active set
    active_sets: Bool[Array, "states states"]  # row s: the active set at the moment state s leaves, s included
    returns: Bool[Array, ""]  # whether a state that has left wants to return: then there is no index


def whittle_indices(transitions: ArrayLike, problem: Problem) -> Float[Array, "arms states"]:
    """The Whittle index of each state of each arm, exact to rounding (the WI of Equation 3).

    The indices are differentiable almost everywhere in the transitions (along the simplex), the rewards and the
    discount. The derivative is implicit, under the policy that is greedy at the index. For an arm without indices
    (``is_indexable``) the values are finite too; the text of this module says what they are. Every value lies within
    ``±γ(max R − min R)/(1 − γ)``, divided by the cost of calling over not calling.

    Args:
        transitions: ``[arms, states, 2, states]``; action 1 is the call.
        problem: rewards, discount and costs; an index is a price per unit of the cost of calling over not calling.

    Returns:
        The indices, ``[arms, states]``, in the precision of transitions.

    Example:
        Example 4.1: a call in state 0 moves the arm to state 1 for good, worth γ/(1 − γ); in state 1 it has no effect.

        >>> transitions = jnp.array([[[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]]])
        >>> whittle_indices(transitions, Problem(discount=0.9)).round(4).tolist()
        [[9.0, 0.0]]
    """
    array, rewards, discount, unit = _prepare(transitions, problem)
    return _whittle_indices(array, rewards, discount) / unit


def is_indexable(transitions: ArrayLike, problem: Problem) -> Bool[Array, " arms"]:
    """Which arms have Whittle indices.

    This is the strict sense of Gast, Gaujal and Khun (2023): as the price rises, no optimal policy acts in a state in
    which an optimal policy at a lower price did not act. A state that becomes indifferent again at just one price also
    counts as a return. Such ties need exactly repeated numbers, as in deterministic chains.

    Args:
        transitions: ``[arms, states, 2, states]``.
        problem: rewards and discount.

    Returns:
        True for each arm that has indices, ``[arms]``. Always true with two states.
    """
    array, rewards, discount, _ = _prepare(transitions, problem)
    if array.shape[1] <= 2:
        return jnp.ones(array.shape[0], bool)
    return ~_all_departures(array, rewards, discount).returns


def departure_ranks(transitions: ArrayLike, problem: Problem) -> Int32[Array, "arms states"]:
    """Each state's rank in its arm's order of worth: 0 for the state that leaves the active set last."""
    array, rewards, discount, _ = _prepare(transitions, problem)
    active = _all_departures(array, rewards, discount).active_sets  # row s: states that leave with s or later
    return jnp.sum(active, axis=-1, dtype=jnp.int32) - 1


def _prepare(
    transitions: ArrayLike, problem: Problem
) -> tuple[Float[Array, "arms states 2 states"], Float[Array, "arms states"], Scalar, Scalar]:
    """Checked transitions, rewards per arm, the discount, and the cost of acting over not acting."""
    array = check_transitions(transitions)
    check_two_actions("A Whittle index", array.shape[2])
    check_fits(problem, array)
    unit = jnp.asarray(problem.costs[1] - problem.costs[0], array.dtype)
    if is_concrete(unit) and not unit > 0:
        raise InvalidInputError(
            f"A Whittle index is a price per unit of budget, so acting must cost more than not acting, "
            f"but costs is {problem.costs.tolist()}."
        )
    rewards = jnp.asarray(problem.rewards, array.dtype).reshape(-1, array.shape[1])
    # Subtracting a constant changes no index and avoids cancellation.
    rewards = rewards - jax.lax.stop_gradient(jnp.min(rewards, axis=1, keepdims=True))
    rewards = jnp.broadcast_to(rewards, array.shape[:2])
    return array, rewards, jnp.asarray(problem.discount, array.dtype), unit


@jax.jit
def _whittle_indices(
    transitions: Float[Array, "arms states 2 states"], rewards: Float[Array, "arms states"], discount: Scalar
) -> Float[Array, "arms states"]:
    if transitions.shape[1] == 2:
        return jax.vmap(_two_state_indices, in_axes=(0, 0, None))(transitions, rewards, discount)
    return _departure_prices(transitions, rewards, discount)


def _two_state_indices(transitions: OneArm, rewards: Float[Array, " 2"], discount: Scalar) -> Float[Array, " 2"]:
    """The indices of an arm with two states, in closed form.

    A call in state s shifts the probability of state 1 by ``effect[s]``. The state where that is worth less leaves
    the active set first, while the other is still active. At the moment a state leaves, acting in it or not makes no
    difference. So the first price follows from acting in both states, and the second from acting in neither.
    """
    engaged = transitions[:, :, 1]
    effect = engaged[:, 1] - engaged[:, 0]
    worth = discount * effect * (rewards[1] - rewards[0])
    persistence = engaged[1] - engaged[0]  # by action: how much more likely state 1 is after state 1 than after state 0
    without, acting = worth / (1 - discount * persistence[0]), worth / (1 - discount * persistence[1])
    return jnp.where(worth <= worth[::-1], acting, without)


@jax.custom_vjp
def _departure_prices(
    transitions: Float[Array, "arms states 2 states"], rewards: Float[Array, "arms states"], discount: Scalar
) -> Float[Array, "arms states"]:
    return _all_departures(transitions, rewards, discount).prices


def _departure_prices_forward(transitions, rewards, discount):  # type: ignore[no-untyped-def]
    departures = _all_departures(transitions, rewards, discount)
    return departures.prices, (transitions, rewards, discount, departures.active_sets)


def _departure_prices_backward(saved, cotangent):  # type: ignore[no-untyped-def]
    """The derivative of the price under a fixed active set, which almost everywhere does not move with the data."""
    transitions, rewards, discount, active_sets = saved
    of_arms = jax.vmap(_prices_of_indifference, in_axes=(0, 0, None, 0))
    _, pull_back = jax.vjp(lambda t, r, d: of_arms(t, r, d, active_sets), transitions, rewards, discount)
    return pull_back(cotangent)


_departure_prices.defvjp(_departure_prices_forward, _departure_prices_backward)


def _prices_of_indifference(
    transitions: OneArm, rewards: PerState, discount: Scalar, active_sets: Bool[Array, "states states"]
) -> PerState:
    """For each state, the price at which acting in it makes no difference, under a fixed active set for that state."""

    def price(state: Array, active: Bool[Array, " states"]) -> Scalar:
        chain = jnp.where(active[:, None], transitions[:, 1], transitions[:, 0])
        matrix = _deflated_system(chain, discount)
        value, use = _solve(matrix, rewards), _solve(matrix, active.astype(rewards.dtype))
        effect = discount * (transitions[state, 1] - transitions[state, 0])
        return jnp.sum(effect * value) / (1 + jnp.sum(effect * use))

    return jax.vmap(price)(jnp.arange(rewards.shape[0]), active_sets)


def _solve(matrix: Float[Array, "states states"], right_side: PerState) -> PerState:
    if len(right_side) > LARGEST_WRITTEN_OUT:
        return jnp.linalg.solve(matrix, right_side)
    return jnp.stack(solve([list(row) for row in matrix], list(right_side)))


def _deflated_system(chain: Float[Array, "states states"], discount: Scalar) -> Float[Array, "states states"]:
    """``I − γT + γ·1·eᵀ`` for the last state's unit vector e; its solutions differ from those of I − γT by a constant.

    Elimination in order needs no pivoting: without the last row and column the matrix is strictly diagonally dominant,
    and the last pivot is ``1 / ((1 − γ) · expected visits to the last state)``, which is at least 1.
    """
    identity = jnp.eye(chain.shape[0], dtype=chain.dtype)
    return (identity - discount * chain).at[:, -1].add(discount)


@jax.jit
def _all_departures(
    transitions: Float[Array, "arms states 2 states"], rewards: Float[Array, "arms states"], discount: Scalar
) -> Departures:
    """The departures of every arm, in batches of one size, so that other arms never change an arm's last digit."""
    num_arms = transitions.shape[0]
    # At least two batches, because XLA compiles the body of a one-step loop differently.
    size = ARMS_AT_ONCE
    if not on_cpu():  # under vmap, do not pad a small cohort to a large batch
        size = min(ARMS_AT_ONCE_ON_AN_ACCELERATOR, -(-num_arms // (2 * ARMS_AT_ONCE)) * ARMS_AT_ONCE)
    padding = max(2, -(-num_arms // size)) * size - num_arms

    def in_batches(values: Array) -> Array:
        padded = jnp.pad(values, [(0, padding)] + [(0, 0)] * (values.ndim - 1))
        return padded.reshape(-1, size, *values.shape[1:])

    of_batch = jax.vmap(_departures, in_axes=(0, 0, None))
    batches = jax.lax.map(
        lambda arms: of_batch(arms[0], arms[1], discount), (in_batches(transitions), in_batches(rewards))
    )
    return jax.tree.map(lambda values: values.reshape(-1, *values.shape[2:])[:num_arms], batches)


def _departures(transitions: OneArm, rewards: PerState, discount: Scalar) -> Departures:
    """The departures of one arm: its states leave the active set one by one as the price rises."""
    num_states = rewards.shape[0]
    tableau = _first_tableau(transitions, discount)
    gain, work = jnp.sum(tableau * rewards[None], axis=1), 1 + jnp.sum(tableau, axis=1)
    bound = discount * (jnp.max(rewards) - jnp.min(rewards)) / (1 - discount)

    def depart(carry, _):  # type: ignore[no-untyped-def]
        tableau, gain, work, active, last_price = carry
        # A rising price never makes an active state with work <= 0 leave. A state with work > 0 always exists: if
        # acting saved budget in every active state, acting nowhere would use a positive budget.
        leaves_at = jnp.where(active & (work > 0), gain / jnp.where(work > 0, work, 1), jnp.inf)
        leaver = jnp.arange(num_states) == jnp.argmin(leaves_at)
        price = jnp.clip(jnp.maximum(jnp.min(leaves_at), last_price), -bound, bound)
        returns = _wants_to_return(gain, work, active, leaver, last_price, price)
        column, row = (
            jnp.sum(jnp.where(leaver, tableau, 0), axis=1),
            jnp.sum(jnp.where(leaver[:, None], tableau, 0), 0),
        )
        # The pivot is a ratio of two expected numbers of visits, each in [1, 1/(1 − γ)].
        pivot = jnp.maximum(1 + jnp.sum(jnp.where(leaver, column, 0)), 1 - discount)
        factor = column / pivot
        carry = (
            tableau - factor[:, None] * row[None],
            gain - factor * jnp.sum(jnp.where(leaver, gain, 0)),
            work - factor * jnp.sum(jnp.where(leaver, work, 0)),
            active & ~leaver,
            price,
        )
        return carry, (leaver, price, active, returns)

    start = (tableau, gain, work, jnp.ones(num_states, bool), -bound)
    _, (leaver, price, active, returns) = jax.lax.scan(depart, start, length=num_states)
    turn = jnp.argmax(leaver, axis=0)  # the number of the departure at which each state left
    return Departures(price[turn], active[turn], jnp.any(returns))


def _first_tableau(transitions: OneArm, discount: Scalar) -> Float[Array, "states states"]:
    """``γ(T¹ − T⁰)(I − γT¹)⁻¹`` by column elimination, up to the constant that cancels in the rows of T¹ − T⁰."""
    num_states = transitions.shape[0]
    effect = discount * (transitions[:, 1] - transitions[:, 0])
    stacked = jnp.concatenate([_deflated_system(transitions[:, 1], discount), effect])
    for pivot in range(num_states):
        column = stacked[:, pivot] / stacked[pivot, pivot]
        row = stacked[pivot].at[pivot].set(0)
        stacked = (stacked - column[:, None] * row[None]).at[:, pivot].set(column)
    return stacked[num_states:]


def _wants_to_return(
    gain: PerState,
    work: PerState,
    active: Bool[Array, " states"],
    leaver: Bool[Array, " states"],
    last_price: Scalar,
    price: Scalar,
) -> Bool[Array, ""]:
    """Whether some state wants to return to the active set between two departures.

    A state that has left wants to return if acting in it becomes optimal again. An active state counts too if acting in
    it was indifferent at the last price and it still does not leave. Advantages are linear in the price, so their signs
    at the two ends decide. A return beyond rounding always counts. An advantage that only touches zero counts if the
    two prices are clearly apart, so that it cannot be one departure seen twice.
    """
    tiny = jnp.finfo(gain.dtype).eps ** 0.75
    scale = jnp.max(jnp.abs(gain)) + jnp.abs(price) * jnp.max(jnp.abs(work))
    before, after = gain - last_price * work, gain - price * work
    apart = price - last_price > 1e3 * tiny * scale
    returned = ~active & ((after > tiny * scale) | (apart & (after >= -tiny * scale)))
    lingered = active & ~leaver & apart & (before <= tiny * scale)
    return jnp.any(returned | lingered)
