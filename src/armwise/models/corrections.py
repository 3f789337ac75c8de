"""A correction of people's posterior chains, learned by a loss.

The posterior of a chain is as good as its assumptions: Gaussian differences, linear effects of features. Where they
fail, a model trained by a loss can do better. It starts from the posterior and adds to its log-probabilities what a
network of features and history says, so that a network that says nothing leaves the posterior as it is.
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
    """A network whose log-probabilities are added to those of a chain that is known already.

    Its features are those of ``known_chains``: the numbers of a person's history, then the logarithms of her chain.

    Args:
        network: features to transitions, without the columns of the known chain.
        num_history: how many numbers of history there are.
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
    """The network with its last weights at 0: it says the same of everyone, and the correction is none."""
    if isinstance(network, Linear):
        return jax.tree.map(lambda leaf: jnp.zeros_like(leaf) if eqx.is_inexact_array(leaf) else leaf, network)
    if isinstance(network, MultiLayerPerceptron):
        last = jax.tree.map(lambda leaf: jnp.zeros_like(leaf) if eqx.is_inexact_array(leaf) else leaf, network.output)
        return eqx.tree_at(lambda each: each.output, network, last)
    return network


def num_history(num_states: int) -> int:
    """How many numbers of history ``known_chains`` puts in front."""
    return 2 * num_states


def known_chains(posterior: PersonPosterior, features: Features) -> Features:
    """The features that a ``Correction`` takes: what is known of each person from her own weeks beside who she is.

    The numbers of history are her log-odds in each state and her answers to calls, as far as they differ from the
    average person's, in units of the standard deviation between people.
    """
    population = posterior.population
    scale = np.sqrt(np.diag(np.asarray(population.covariance)))
    own = (posterior.means - np.asarray(population.weights)[:, 0]) / scale
    chains = posterior.transitions()
    tiny = np.finfo(chains.dtype).tiny
    known = np.log(np.maximum(chains, tiny)).reshape(len(chains), -1)
    return Features(np.concatenate([own, known], axis=1), np.asarray(features.codes), features.levels)


class CorrectedChains(eqx.Module):
    """A model of each person's chain, and what a loss taught on top of it.

    Attributes:
        chains: the posterior comes from this.
        correction: takes the features of ``known_chains``; trained on early weeks against all of them.
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
        """The corrected chain of each person from here on."""
        return self.correct(self.chains.posterior(features, history), features)

    def correct(self, posterior: PersonPosterior, features: Features) -> Float[np.ndarray, "people states 2 states"]:
        """The chains of people whose posterior is known already."""
        return np.asarray(_corrected(self.correction, known_chains(posterior, features)))


@eqx.filter_jit
def _corrected(correction: Any, features: Features) -> Transitions:
    return correction(features)
