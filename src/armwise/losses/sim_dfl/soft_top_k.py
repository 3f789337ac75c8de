"""A smooth top-k: the probability of each item to be among the k chosen."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

MAX_STEPS = 60

Scores = Float[Array, "*batch items lanes"]
Thresholds = Float[Array, "*batch lanes"]
Numbers = Float[Array, "..."]
Bracket = tuple[Numbers, Numbers, Numbers]


def soft_top_k(
    scores: Scores, k: Float[Array, ""], temperature: Float[Array, ""], start: Thresholds | None = None
) -> tuple[Scores, Thresholds]:
    """Probabilities that sum to k along the items and approach the top k as the temperature falls.

    Wang et al. (2023) use the optimal-transport top-k of Xie et al. (2020): Sinkhorn's algorithm between the items
    and two targets, "chosen" and "not chosen". With two targets its fixed point is known up to one number,

        probability = sigmoid((score − threshold) / temperature),   Σ probability = k.

    So Newton's method in a bracket finds the threshold, in a few steps instead of a hundred sweeps. The probabilities
    also solve max ⟨p, scores⟩ + temperature · H(p, 1 − p) subject to Σp = k, an entropy mixture of two policies of
    cost 0 and 1.

    Args:
        scores: ``[..., items, lanes]``: the items compete within each lane.
        k: how many are chosen; 0 gives zeros, the number of items gives ones.
        temperature: the ε of Sinkhorn, in units of the scores.
        start: thresholds to begin the search with, such as those of similar scores; they change only the speed.

    Returns:
        Probabilities, of the shape of the scores, and the thresholds of the lanes.
    """
    num_items = scores.shape[-2]
    low, high = outer_thresholds(scores, temperature, -2)
    wanted = jnp.clip(k, 0.5, num_items - 0.5)  # only k = 1 … items − 1 need a search

    def step(state):  # type: ignore[no-untyped-def]
        place, _, count = state
        place, settled = narrow(scores, place, -2, wanted, temperature)
        return place, jnp.all(settled), count + 1

    first = (low + high) / 2 if start is None else jnp.clip(start, low, high)
    state = ((low, high, first), jnp.zeros((), bool), 0)
    (_, _, threshold), _, _ = jax.lax.while_loop(lambda state: ~state[1] & (state[2] < MAX_STEPS), step, state)
    share = _shares(scores, jnp.expand_dims(threshold, -2), temperature)
    return jnp.where(k <= 0, 0, jnp.where(k >= num_items, 1, share)), threshold


def outer_thresholds(scores: Numbers, temperature: Float[Array, ""], axis: int) -> tuple[Numbers, Numbers]:
    """A threshold at which the probabilities sum to more than items − 1/2, and one at which to less than 1/2."""
    margin = temperature * (jnp.log(jnp.asarray(2.0 * scores.shape[axis], scores.dtype)) + 1)
    return jnp.min(scores, axis) - margin, jnp.max(scores, axis) + margin


def narrow(
    scores: Numbers, bracket: Bracket, axis: int, wanted: Float[Array, ""], temperature: Float[Array, ""]
) -> tuple[Bracket, Bool[Array, "..."]]:
    """One step of Newton's method, or of bisection if Newton's leaves the bracket; and whether it was the last.

    Args:
        scores: of the items, which lie along ``axis``.
        bracket: thresholds below and above the solution, and the one to try.
        axis: along which the probabilities are summed.
        wanted: what their sum should be.
        temperature: of the probabilities.
    """
    low, high, threshold = bracket
    share = _shares(scores, jnp.expand_dims(threshold, axis), temperature)
    total = jnp.sum(share, axis)
    low, high = jnp.where(total > wanted, threshold, low), jnp.where(total > wanted, high, threshold)
    # Newton's method on the logarithm of the sum, which far above the scores falls exponentially in the threshold.
    spread = jnp.maximum(jnp.sum(share * (1 - share), axis), jnp.finfo(scores.dtype).tiny)
    newton = threshold + temperature * jnp.log(total / wanted) * total / spread
    following = jnp.where((newton >= low) & (newton <= high), newton, (low + high) / 2)
    # Newton's error is about the square of its step, so a step this short is the last.
    settled = jnp.abs(following - threshold) <= jnp.sqrt(jnp.finfo(scores.dtype).eps) * temperature
    return (low, high, following), settled


def _shares(scores: Numbers, threshold: Numbers, temperature: Float[Array, ""]) -> Numbers:
    return jax.nn.sigmoid((scores - threshold) / temperature)
