"""A correction of people's posterior chains, learned with a loss.

The posterior of a chain is as good as its assumptions: Gaussian differences between people, linear effects of features.
If they fail, a model trained with a loss can do better. The correction adds the log-probabilities of a network of
features and history to those of the posterior. A network that predicts uniform probabilities leaves it as it is.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from armwise.data import Features, Trajectories
from armwise.models.chains import ChainModel, PersonPosterior
from armwise.models.networks import Linear, MultiLayerPerceptron

Transitions = Float[Array, "arms states actions states"]


class Correction(eqx.Module):
    """A network whose log-probabilities are added to those of a known chain.

    Its features are those of ``known_chains``: the numbers of a person's history, then the logarithms of her chain.

    Args:
        network: maps features, without the columns of the known chain, to transitions.
        num_history: the number of history columns.
    """

    network: Any
    num_history: int = eqx.field(static=True)

    def __call__(self, features: Features) -> Transitions:
        """Transition probabilities of each arm."""
        history, known = features.numeric[..., : self.num_history], features.numeric[..., self.num_history :]
        said = self.network(eqx.tree_at(lambda each: each.numeric, features, history))
        tiny = jnp.finfo(said.dtype).tiny
        return jax.nn.softmax(known.reshape(said.shape) + jnp.log(jnp.maximum(said, tiny)), axis=-1)


def silent(network: Any) -> Any:
    """The network with the weights of its last layer set to 0, so that it corrects nothing.

    Then it predicts a uniform distribution for everyone. Networks of other types are returned unchanged.
    """
    if isinstance(network, Linear):
        return jax.tree.map(lambda leaf: jnp.zeros_like(leaf) if eqx.is_inexact_array(leaf) else leaf, network)
    if isinstance(network, MultiLayerPerceptron):
        last = jax.tree.map(lambda leaf: jnp.zeros_like(leaf) if eqx.is_inexact_array(leaf) else leaf, network.output)
        return eqx.tree_at(lambda each: each.output, network, last)
    return network


def num_history(num_states: int) -> int:
    """How many history columns ``known_chains`` puts first."""
    return 2 * num_states


def known_chains(posterior: PersonPosterior, features: Features) -> Features:
    """The features for a ``Correction``: what is known about each person from her own weeks, and her features.

    The history columns are her log-odds in each state and her responses to calls. Each is the difference from the
    average person, in standard deviations between people.
    """
    population = posterior.population
    scale = np.sqrt(np.diag(np.asarray(population.covariance)))
    own = (posterior.means - np.asarray(population.weights)[:, 0]) / scale
    chains = posterior.transitions()
    tiny = np.finfo(chains.dtype).tiny
    known = np.log(np.maximum(chains, tiny)).reshape(len(chains), -1)
    return Features(np.concatenate([own, known], axis=1), np.asarray(features.codes), features.levels)


class CorrectedChains(eqx.Module):
    """A model of each person's chain, and a correction of it that was learned with a loss.

    Attributes:
        chains: gives the posterior.
        correction: takes the features of ``known_chains``. In training, these come from early weeks, and the truth
            comes from all weeks.
    """

    chains: ChainModel
    correction: Any

    @property
    def num_states(self) -> int:
        """How many states there are."""
        return self.chains.num_states

    def transitions(
        self, features: Features, history: Trajectories | None
    ) -> Float[np.ndarray, "people states 2 states"]:
        """The corrected chain of each person from now on."""
        return self.correct(self.chains.posterior(features, history), features)

    def correct(self, posterior: PersonPosterior, features: Features) -> Float[np.ndarray, "people states 2 states"]:
        """The chains of people whose posterior is known already."""
        return np.asarray(_corrected(self.correction, known_chains(posterior, features)))


@eqx.filter_jit
def _corrected(correction: Any, features: Features) -> Transitions:
    return correction(features)
