"""The model of ``models/chains`` written a second time, for NumPyro; states that were not observed are summed over."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from numpyro.distributions import HalfNormal, LKJCholesky, Normal
from numpyro.infer import MCMC, NUTS

from armwise.data import Trajectories
from tests.models.chains.worlds import row_covariates


class Weeks(NamedTuple):
    """What the likelihood needs of a history, weeks first."""

    first: jax.Array  # [people], the first week that was observed
    possible: jax.Array  # [weeks, people, states], log of 1 where a state may have been
    called: jax.Array  # [weeks, people]
    covariates: jax.Array  # [weeks, people, states, 5]


def weeks_of(history: Trajectories) -> Weeks:
    states, observed = np.asarray(history.states), np.asarray(history.observed)
    num_weeks, size = states.shape[1], history.num_states
    each = [row_covariates(states[:, : week + 1], observed[:, : week + 1], size) for week in range(num_weeks)]
    possible = np.where(observed[:, :, None] & (np.eye(size)[states] == 0), -np.inf, 0.0)
    called = jnp.asarray(np.asarray(history.actions).T, float)
    return Weeks(
        jnp.asarray(observed.argmax(axis=1)), jnp.asarray(possible.transpose(1, 0, 2)), called, jnp.asarray(each)
    )


def log_rows(odds: jax.Array, cuts: jax.Array) -> jax.Array:
    """The logarithms of the sequential logit, ``[people, states, next states]``."""
    climbs = jax.nn.log_sigmoid(odds[..., None] - cuts)
    stays = jax.nn.log_sigmoid(cuts - odds[..., None])
    nothing = jnp.zeros_like(climbs[..., :1])
    reached = jnp.concatenate([nothing, jnp.cumsum(climbs, axis=-1)], axis=-1)
    return reached + jnp.concatenate([stays, nothing], axis=-1)


def log_likelihood(weeks: Weeks, theta: jax.Array, slopes: jax.Array, cuts: jax.Array) -> jax.Array:
    """Of each person's weeks after her first observed one: the forward algorithm."""
    size = len(cuts)

    def move(log_belief: jax.Array, week: tuple[Any, ...]) -> tuple[jax.Array, None]:
        number, here, there, called, covariates = week
        # Before and in her first observed week, what is possible there is all that is known.
        log_belief = jnp.where((number <= weeks.first)[:, None], here, log_belief)
        odds = theta[:, :size] + called[:, None] * theta[:, size:] + jnp.sum(slopes * covariates, axis=-1)
        moved = jax.nn.logsumexp(log_belief[:, :, None] + log_rows(odds, cuts), axis=1)
        return moved + there, None

    numbers = jnp.arange(len(weeks.called) - 1)
    steps = (numbers, weeks.possible[:-1], weeks.possible[1:], weeks.called[:-1], weeks.covariates[:-1])
    log_belief, _ = jax.lax.scan(move, weeks.possible[0], steps)
    return jax.nn.logsumexp(log_belief, axis=1)


def given_population(weeks: Weeks, prior_means: Any, covariance: Any, slopes: Any, cuts: Any) -> None:
    """Everyone's θ, for known shared parameters."""
    draws = numpyro.sample("draws", Normal(0, 1).expand(prior_means.shape).to_event(2))
    theta = numpyro.deterministic("theta", prior_means + draws @ jnp.linalg.cholesky(covariance).T)
    numpyro.factor("weeks", log_likelihood(weeks, theta, slopes, cuts).sum())


def whole_population(weeks: Weeks, num_people: int, num_states: int) -> None:
    """The shared parameters too: their priors are those of ``fitting.py`` where these are fixed, and weak ones."""
    size = 2 * num_states
    scales = jnp.array([3.0] * num_states + [1.0] * num_states)
    means = numpyro.sample("means", Normal(0, scales).to_event(1))
    spreads = numpyro.sample("spreads", HalfNormal(1.5).expand([size]).to_event(1))
    lower = numpyro.sample("correlations", LKJCholesky(size, 2.0))
    streak = numpyro.sample("streak", Normal(0, 1).expand([num_states]).to_event(1))
    slopes = jnp.zeros((num_states, 5)).at[:, 0].set(streak)
    draws = numpyro.sample("draws", Normal(0, 1).expand([num_people, size]).to_event(2))
    theta = means + draws @ (spreads[:, None] * lower).T
    numpyro.factor("weeks", log_likelihood(weeks, theta, slopes, jnp.zeros((num_states, num_states - 1))).sum())


def sample(seed: int, program: Any, *arguments: Any, warmup: int, draws: int, chains: int = 4) -> MCMC:
    """Draws of NUTS, the chains side by side in one program."""
    sampler = MCMC(
        NUTS(program),
        num_warmup=warmup,
        num_samples=draws,
        num_chains=chains,
        chain_method="vectorized",
        progress_bar=False,
    )
    # NumPyro's own code broadcasts as NumPy does.
    with jax.numpy_rank_promotion("allow"):
        sampler.run(jax.random.key(seed), *arguments)
    return sampler
