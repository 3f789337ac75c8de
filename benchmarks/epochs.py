"""What is trained when training is timed: the paper's shapes, the losses, and an epoch as ``train`` compiles it.

An epoch is one pass over the training cohorts, one gradient step each, inside ``train``'s own compiled program;
validation is left out, as it is in the paper's table.
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import armwise as aw
from armwise.data import Cohorts, Features
from armwise.models import Linear
from armwise.training import TrainConfig
from armwise.training.engine import advance_many, prepare_cohorts
from armwise.training.optimizer import AdamW
from armwise.training.run import Run, State, first_state
from reproduction.paper.times import compiled_epochs

# Training cohorts, arms, states, budget, categorical features, numeric features.
Shape = tuple[int, int, int, int, int, int]
SHAPES: dict[str, Shape] = {
    "real-world": (60, 76, 2, 3, 44, 0),
    "synthetic, 2 states": (20, 100, 2, 10, 0, 16),
    "synthetic, 5 states": (20, 100, 5, 10, 0, 16),
}
LEVELS, TEMPERATURE = 6, 0.1
MSE, FAST = "MSE", "Fast DEC-DFL (entropy)"
LOSSES: dict[str, aw.Loss] = {
    MSE: aw.MeanSquaredError(),
    "NLL": aw.NegativeLogLikelihood(),
    FAST: aw.DecDFL(aw.EntropyMixture(TEMPERATURE)),
    "Fast DEC-DFL (L2)": aw.DecDFL(aw.QuadraticMixture(TEMPERATURE)),
    "SIM-DFL (1 trajectory)": aw.SimDFL(1),
    "SIM-DFL (10 trajectories)": aw.SimDFL(10),
    "SIM-DFL (100 trajectories)": aw.SimDFL(100),
    "SIM-DFL (1,000 trajectories)": aw.SimDFL(1000),
}
FULL_ONLY = ("SIM-DFL (10 trajectories)",)  # measured with --full alone: it lies between its neighbours


def size_of(name: str) -> str:
    """How a shape is written in tables."""
    return f"{name}: {SHAPES[name][0]} × {SHAPES[name][1]} arms"


def cohorts(num_cohorts: int, arms: int, states: int, budget: int, categorical: int, numeric: int) -> Cohorts:
    """Cohorts of the given shape with made-up content: only the time matters here."""
    rng = np.random.default_rng(0)
    people = (num_cohorts, arms)
    true = rng.dirichlet(np.ones(states), (*people, states, 2)).astype(np.float32)
    features = Features(
        rng.standard_normal((*people, numeric), dtype=np.float32),
        rng.integers(0, LEVELS, (*people, categorical), dtype=np.uint8),
        (LEVELS,) * categorical,
    )
    return Cohorts(features, true, rng.poisson(3 * true).astype(np.float32), budget)


def first_model(data: Cohorts) -> Linear:
    return Linear(jax.random.key(0), data.features, data.true_transitions.shape[-1])


def one_run(data: Cohorts, loss: aw.Loss, num_epochs: int) -> Callable[[], State]:
    """A function that trains one model for so many epochs."""
    problem = aw.Problem(num_states=data.true_transitions.shape[-1])
    epochs = compiled_epochs(loss, data, first_model(data), problem, most=num_epochs)
    return lambda: epochs(num_epochs)


def many_runs(data: Cohorts, loss: aw.Loss, num_epochs: int, num_runs: int) -> Callable[[], State]:
    """A function that trains so many models side by side, each with its own weights and learning rate."""
    config, states = TrainConfig(num_epochs=num_epochs), data.true_transitions.shape[-1]
    models = eqx.filter_vmap(lambda key: Linear(key, data.features, states))(
        jax.random.split(jax.random.key(0), num_runs)
    )
    frozen = eqx.partition(first_model(data), eqx.is_inexact_array)[1]
    prepared = prepare_cohorts(data, [loss], frozen, aw.Problem(num_states=states), config)
    rates, optimizer = jnp.geomspace(1e-5, 1e-2, num_runs), AdamW(config.weight_decay)
    start = jax.vmap(lambda weights, rate: first_state(weights, rate, config, optimizer))
    state = start(eqx.filter(models, eqx.is_inexact_array), rates)
    train = jnp.tile(jnp.arange(data.num_cohorts), (num_runs, 1))
    run = Run(jax.random.split(jax.random.key(1), num_runs), rates, jnp.zeros(num_runs, int), train, train[:, :0])
    return lambda: advance_many(state, run, prepared, config, optimizer, jnp.asarray(num_epochs))
