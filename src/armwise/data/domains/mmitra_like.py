"""A simulated domain with the shape of the paper's private data. No number in it comes from a real person."""

from typing import Any

import jax.numpy as jnp

from armwise._validation import generator
from armwise.data.cohorts import partition
from armwise.data.counts import estimate_transitions, transition_counts
from armwise.data.domains.domain import Domain, left_over_note, split_sizes
from armwise.data.domains.programme import simulated_programme
from armwise.data.trajectories import first_state_shares
from armwise.rmab import Problem

# The behaviour behind the published results of this domain. It differs from simulated_programme's defaults: more people
# start engaged than stay engaged, engagement declines, and a call has the same effect in both states.
PUBLISHED_BEHAVIOUR: dict[str, Any] = {
    "explained": 0.1,
    "first_engaged": 0.7,
    "come_back": 0.2,
    "stay": 0.8,
    "spread": 1.0,
    "trait_correlation": 0.5,
    "weekly_decline": 0.05,
    "call_effect": 0.5,
    "call_effect_spread": 0.6,
    "unaffected": 0.3,
    "past_calls": "random",
    "unobserved": 0.0,
}


def mmitra_like(
    seed: Any = 0, *, size: int = 76, budget: int = 3, prior_strength: float = 5.0, discount: float = 0.9, **knobs: Any
) -> Domain:
    """A SIMULATED programme with the shape of the paragraph "Real-World Dataset", whose data are private.

    The shape is the paper's: 7,668 people, 44 categorical features, 7 weeks, two states, cohorts of 76 with a budget
    of 3, split 60/20/20. The behaviour is assumed; ``simulated_programme`` lists the assumptions, and each is an
    argument. The "true" transitions are estimates from the 7 weeks with the pooled prior, exactly as in the paper. A
    person is called about once in 25 weeks, so most rows for a call are the pool's. The domain's ``behaviour`` holds
    the chains that people really follow in the last week.

    Args:
        seed: a whole number or a JAX key.
        size: people in a cohort.
        budget: calls per cohort and week.
        prior_strength: the number of observations that the pool counts for.
        discount: weight of next week's reward.
        knobs: arguments of ``simulated_programme``; by default those of ``PUBLISHED_BEHAVIOUR``.
    """
    rng = generator(seed)
    programme = simulated_programme(rng, **(PUBLISHED_BEHAVIOUR | knobs))
    counts = transition_counts(programme.trajectories)
    transitions = estimate_transitions(counts, prior_strength)
    people = partition(int(rng.integers(2**32)), programme.features, transitions, counts, size, budget)
    problem = Problem(discount=discount, initial=first_state_shares(programme.trajectories))
    note = (
        "Simulated: shaped like the paper's private data, with assumed behaviour; no real person. True transitions "
        f"are estimates with a prior of strength {prior_strength:g}. {left_over_note(people.left_over, size)}"
    )
    behaviour = jnp.asarray(programme.transitions[people.cohorts.ids], people.cohorts.true_transitions.dtype)
    sizes = split_sizes(people.cohorts.num_cohorts)
    return Domain(people.cohorts, problem, sizes, "mMitra-like (simulated)", note, behaviour)
