"""Whom to call this week, and what it gains: a made-up programme of 500 mothers and 25 calls a week.

Each mother is engaged (state 1) or not (state 0), and her chain of weeks, made up here, is assumed to be known. Her
Whittle index is the price at which a call to her stops being worth it, so the 25 highest indices are the call list.
"""

import jax
import jax.numpy as jnp
import numpy as np

import armwise as aw

NUM_MOTHERS, CALLS_A_WEEK, SEED = 500, 25, 0


def made_up_transitions(rng: np.random.Generator) -> np.ndarray:
    """Chains in which engagement fades, and a call helps most mothers a little and some a lot: [arms, 2, 2, 2]."""
    returns_alone = rng.beta(1.5, 10, NUM_MOTHERS)  # chance to come back by herself
    stays_alone = rng.beta(9, 2, NUM_MOTHERS)  # chance to stay by herself
    response = rng.beta(0.7, 2, NUM_MOTHERS)  # share of the remaining way that a call takes her
    engaged = np.stack([returns_alone, stays_alone], axis=1)[:, :, None]  # [arms, states, actions]
    engaged = np.concatenate([engaged, engaged + response[:, None, None] * (1 - engaged)], axis=2)
    return np.stack([1 - engaged, engaged], axis=-1)


def main() -> None:
    rng = np.random.default_rng(SEED)
    transitions, problem = made_up_transitions(rng), aw.Problem(discount=0.9, initial=[0.4, 0.6])
    indices = aw.whittle_indices(transitions, problem)
    state = rng.integers(0, 2, NUM_MOTHERS)
    current = np.asarray(indices)[np.arange(NUM_MOTHERS), state]

    print(f"This week's call list: the first 10 of {CALLS_A_WEEK}, out of {NUM_MOTHERS} mothers\n")
    print("rank  mother  engaged   index")
    for rank, mother in enumerate(np.argsort(-current, kind="stable")[:10], start=1):
        print(f"{rank:4d}  {mother:6d}  {'yes' if state[mother] else 'no':>7}  {current[mother]:6.3f}")

    priorities = {
        "calls in a fixed random order": jnp.asarray(rng.random(indices.shape)),
        "calls to whoever is not engaged": jnp.tile(jnp.array([1.0, 0.0]), (NUM_MOTHERS, 1)),
        "calls by Whittle index": indices,
    }
    key = jax.random.key(SEED)
    nobody = aw.simulate(key, transitions, indices, problem, budget=0)
    exact = float(aw.passive_returns(transitions, problem).sum())
    weeks = aw.default_horizon(0.9)
    print(f"\nDiscounted engaged weeks of all mothers, 1,000 simulations of {weeks} weeks\n")
    print(f"{'no calls':32} {nobody.mean():8.1f}    (exact, for ever: {exact:.1f})")
    for name, priority in priorities.items():
        gain = aw.simulate(key, transitions, priority, problem, CALLS_A_WEEK) - nobody
        error = gain.std() / np.sqrt(len(gain))
        print(f"{name:32} {nobody.mean() + gain.mean():8.1f}    gain {gain.mean():6.1f} ± {error:.1f}")


if __name__ == "__main__":
    main()
