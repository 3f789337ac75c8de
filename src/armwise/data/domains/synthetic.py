"""The paper's synthetic domain: random transitions, with features from a random network."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from armwise._validation import check_count, check_not_negative, generator
from armwise.data.cohorts import Cohorts
from armwise.data.counts import transition_counts
from armwise.data.domains.domain import Domain, split_sizes
from armwise.data.domains.history import follow, random_calls
from armwise.data.features import Features
from armwise.rmab import Problem

# "Synthetic Dataset": 20 train, 20 validation and 60 test cohorts of 100.
PAPER_SHARES = (0.2, 0.2, 0.6)


def synthetic(
    seed: Any = 0,
    num_states: int = 2,
    num_cohorts: int = 100,
    num_arms: int = 100,
    budget: int = 10,
    num_steps: int = 10,
    num_layers: int = 8,
    width: int = 1000,
    num_features: int = 16,
    standardise: bool = True,
    noise: float = 0.0,
    discount: float = 0.9,
    calls_per_step: int | None = None,
) -> Domain:
    """The domain of the paragraph "Synthetic Dataset"; all of it is simulated and known exactly.

    Every row of every transition matrix is uniform on the simplex, and the first state is uniform. The true transitions
    are the generated ones, not estimates, so they are also the domain's ``behaviour``. The paper does not say how past
    actions were chosen. Here each past step called ``calls_per_step`` random arms of each cohort.

    Args:
        seed: a whole number or a JAX key.
        num_states: 2 or 5 in the paper; any number of at least 2.
        num_cohorts: how many cohorts.
        num_arms: people in each cohort.
        budget: how many people of a cohort can be called in a step.
        num_steps: states in each trajectory; the counts hold one transition fewer.
        num_layers: linear layers of the random network, with ReLU between them.
        width: the hidden width of the network.
        num_features: the outputs of the network (not in the paper).
        standardise: whether to centre each feature and scale it to variance 1 over all people. The raw outputs of a
            deep random network are nearly constant, so a linear model hardly learns from them.
        noise: standard deviation of Gaussian noise added to each feature, after standardising.
        discount: weight of the next step's reward.
        calls_per_step: arms of each cohort called in each past step; by default the budget.
    """
    states = check_count("num_states", num_states, minimum=2)
    arms, cohorts = check_count("num_arms", num_arms, minimum=1), check_count("num_cohorts", num_cohorts, minimum=1)
    calls = check_count("calls_per_step", budget if calls_per_step is None else calls_per_step, minimum=0)
    steps = check_count("num_steps", num_steps, minimum=2)
    rng = generator(seed)
    transitions = rng.dirichlet(np.ones(states), size=(cohorts * arms, states, 2))
    actions = random_calls(rng, cohorts, arms, calls, steps)
    history = follow(rng, transitions[None], actions, np.full(states, 1 / states))
    flat = transitions.reshape(len(transitions), -1)
    outputs = random_network(rng, flat, num_layers, width, num_features)
    features = _finish(rng, outputs, standardise, check_not_negative("noise", noise))
    shape = (cohorts, arms)
    stacked = Cohorts(
        Features(numeric=jnp.asarray(features.reshape(*shape, -1), dtype=float)),
        transitions.reshape(*shape, *transitions.shape[1:]),
        np.asarray(transition_counts(history)).reshape(*shape, *transitions.shape[1:]),
        budget,
    )
    note = f"Simulated throughout; {calls} of {arms} arms of each cohort called at random in each past step."
    sizes = split_sizes(cohorts, PAPER_SHARES)
    problem = Problem(num_states=states, discount=discount)
    name = f"synthetic ({states} states)"
    return Domain(stacked, problem, sizes, name, note, behaviour=stacked.true_transitions)


def random_network(
    rng: np.random.Generator, inputs: Float[np.ndarray, "arms inputs"], num_layers: int, width: int, num_outputs: int
) -> Float[np.ndarray, "arms outputs"]:
    """The outputs of a randomly initialised feed-forward ReLU network.

    Weights and biases are uniform in ± 1/√(inputs of the layer), the usual initialisation of a linear layer. NumPy
    computes them, so that machines with and without an accelerator get the same features.
    """
    layers = check_count("num_layers", num_layers, minimum=1)
    hidden = [check_count("width", width, minimum=1)] * (layers - 1)
    sizes = [inputs.shape[1], *hidden, check_count("num_features", num_outputs, minimum=1)]
    values = inputs.astype(np.float32)
    for layer in range(layers):
        bound = 1 / np.sqrt(sizes[layer])
        weights = rng.uniform(-bound, bound, (sizes[layer], sizes[layer + 1])).astype(np.float32)
        biases = rng.uniform(-bound, bound, sizes[layer + 1]).astype(np.float32)
        values = (np.maximum(values, 0) if layer else values) @ weights + biases
    return values.astype(float)


def _finish(rng: np.random.Generator, outputs: np.ndarray, standardise: bool, noise: float) -> np.ndarray:
    if standardise:
        spread = outputs.std(axis=0)
        outputs = (outputs - outputs.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return outputs + noise * rng.standard_normal(outputs.shape)
