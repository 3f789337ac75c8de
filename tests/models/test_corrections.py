"""A correction starts as none, changes what it is taught to change, and predicts from features and history."""

import equinox as eqx
import jax
import numpy as np
import pytest

import armwise as aw
from armwise.losses import MeanSquaredError
from armwise.models.chains import fit_chains
from armwise.models.corrections import CorrectedChains, Correction, known_chains, num_history, silent


@pytest.fixture(scope="module")
def programme():
    return aw.simulated_programme(3, num_people=400, num_weeks=8, levels=(2, 3), num_factors=1)


@pytest.fixture(scope="module")
def chains(programme):
    return fit_chains(programme.features, programme.trajectories)


def network(features, kind, num_states=2):
    history = eqx.tree_at(lambda each: each.numeric, features, features.numeric[:, : num_history(num_states)])
    return silent(kind(jax.random.key(0), history, num_states))


@pytest.mark.parametrize("kind", [aw.Linear, aw.MultiLayerPerceptron])
def test_a_silent_network_leaves_the_posterior_as_it_is(programme, chains, kind):
    posterior = chains.posterior(programme.features, programme.trajectories)
    known = known_chains(posterior, programme.features)
    corrected = Correction(network(known, kind), num_history(2))(known)
    np.testing.assert_allclose(corrected, posterior.transitions(), atol=1e-5)


def test_training_moves_the_correction_towards_what_it_is_taught(programme, chains):
    """Early weeks in, true chains out: the error falls below the early posterior's own."""
    early = jax.tree.map(lambda part: part[:, :4], programme.trajectories)
    known = known_chains(chains.posterior(programme.features, early), programme.features)
    before = Correction(network(known, aw.Linear), num_history(2))
    counts = np.zeros((400, 2, 2, 2))
    cohorts = aw.partition(0, known, programme.transitions.astype(np.float32), counts, 40, 2).cohorts
    config = aw.TrainConfig(num_epochs=30, learning_rate=1e-2)
    problem = aw.Problem()
    trained = aw.train(
        jax.random.key(1), cohorts, MeanSquaredError(), before, config, problem=problem, progress=False
    ).model
    errors = [np.mean((np.asarray(model(known)) - programme.transitions) ** 2) for model in (before, trained)]
    assert errors[1] < 0.98 * errors[0]


def test_corrected_chains_follow_features_and_history(programme, chains):
    known = known_chains(chains.posterior(programme.features, programme.trajectories), programme.features)
    louder = jax.tree.map(lambda leaf: leaf + 0.1 if eqx.is_inexact_array(leaf) else leaf, network(known, aw.Linear))
    louder = eqx.tree_at(lambda each: each.layer.table, louder, louder.layer.table.at[0].add([0.0, 1.0] * 4))
    model = CorrectedChains(chains, Correction(louder, num_history(2)))
    corrected = model.transitions(programme.features, programme.trajectories)
    plain = chains.posterior(programme.features, programme.trajectories).transitions()
    first = np.asarray(programme.features.codes)[:, 0] == 0
    assert (corrected[first][..., 1] > plain[first][..., 1]).all()
    np.testing.assert_allclose(corrected[~first], plain[~first], atol=1e-5)
    newcomers = model.transitions(programme.features, None)
    assert newcomers.shape == corrected.shape
    assert not np.allclose(newcomers, corrected)


def test_one_persons_chain_does_not_depend_on_the_others(programme, chains):
    known = known_chains(chains.posterior(programme.features, programme.trajectories), programme.features)
    model = CorrectedChains(chains, Correction(network(known, aw.Linear), num_history(2)))
    some = np.array([7, 3, 399])
    alone = model.transitions(programme.features[some], programme.trajectories[some])
    np.testing.assert_array_equal(alone, model.transitions(programme.features, programme.trajectories)[some])
