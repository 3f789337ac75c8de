import hashlib

import jax
import numpy as np
import pytest

from armwise._validation import generator
from armwise.data import mmitra_like, one_hot, simulated_programme, synthetic
from armwise.data.domains.mmitra_like import PUBLISHED_BEHAVIOUR
from armwise.data.domains.synthetic import random_network
from armwise.errors import InvalidInputError

SMALL = {"num_cohorts": 8, "num_arms": 12, "budget": 2, "width": 20}


def explained_share(features, target):
    """R² of a linear model, adjusted for its number of columns."""
    matrix = np.column_stack([np.ones(len(target)), features])
    fitted = matrix @ np.linalg.lstsq(matrix, target, rcond=None)[0]
    free = len(target) - np.linalg.matrix_rank(matrix)
    return 1 - ((target - fitted) ** 2).sum() / free / target.var()


def assert_same(one, other):
    jax.tree.map(np.testing.assert_array_equal, one.cohorts, other.cohorts)


def test_the_papers_synthetic_domain():
    domain = synthetic()
    cohorts = domain.cohorts
    assert cohorts.true_transitions.shape == (100, 100, 2, 2, 2)
    assert cohorts.features.numeric.shape == (100, 100, 16)
    assert domain.sizes == (20, 20, 60)
    assert cohorts.budget.tolist() == [10] * 100
    assert "Simulated" in domain.note
    # Linear features of the transitions survive eight random layers: what a linear model can learn.
    people = np.asarray(cohorts.features.numeric).reshape(10_000, 16)
    engaging = np.asarray(cohorts.true_transitions)[..., 1].reshape(10_000, 4)
    assert min(explained_share(people, engaging[:, column]) for column in range(4)) > 0.8


def test_synthetic_transitions_are_uniform_on_the_simplex():
    transitions = np.asarray(synthetic(num_states=5, num_cohorts=20, num_arms=50, width=5).cohorts.true_transitions)
    # A component of Dirichlet(1, …, 1) over S states has the distribution function 1 − (1 − x)^(S − 1).
    sample = np.sort(transitions[..., 0].ravel())
    expected = 1 - (1 - sample) ** 4
    assert np.abs(expected - np.arange(1, len(sample) + 1) / len(sample)).max() < 1.63 / np.sqrt(len(sample))


def test_synthetic_histories_keep_to_the_budget_and_follow_the_chains():
    cohorts = synthetic(**(SMALL | {"num_cohorts": 300, "num_steps": 11})).cohorts
    counts, transitions = np.asarray(cohorts.counts), np.asarray(cohorts.true_transitions)
    assert (counts.sum(axis=(2, 3, 4)) == 10).all()
    assert (counts.sum(axis=(1, 2, 4)) == [100, 20]).all()
    tried = counts.sum(axis=-1)
    surprise = (counts[..., 1] - tried * transitions[..., 1]).sum()
    deviation = np.sqrt((tried * transitions[..., 1] * transitions[..., 0]).sum())
    assert abs(surprise) < 4 * deviation


def test_synthetic_features_are_standardised_unless_asked():
    raw = synthetic(**SMALL, standardise=False).cohorts.features.numeric
    scaled = np.asarray(synthetic(**SMALL).cohorts.features.numeric).reshape(-1, 16)
    noisy = np.asarray(synthetic(**SMALL, noise=0.5).cohorts.features.numeric).reshape(-1, 16)
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(scaled.std(axis=0), 1, atol=1e-6)
    assert (np.asarray(raw).reshape(-1, 16).std(axis=0) < 0.2).all()
    assert 0.4 < (noisy - scaled).std() < 0.6


def test_the_random_network_is_its_layers():
    inputs = np.random.default_rng(1).random((5, 3))
    outputs = random_network(np.random.default_rng(0), inputs, num_layers=2, width=4, num_outputs=2)
    rng = np.random.default_rng(0)
    first, first_bias = rng.uniform(-1, 1, (3, 4)) / np.sqrt(3), rng.uniform(-1, 1, 4) / np.sqrt(3)
    second, second_bias = rng.uniform(-1, 1, (4, 2)) / 2, rng.uniform(-1, 1, 2) / 2
    expected = np.maximum(inputs @ first + first_bias, 0) @ second + second_bias
    np.testing.assert_allclose(outputs, expected, atol=1e-6)


def test_synthetic_follows_its_seed():
    assert_same(synthetic(3, **SMALL), synthetic(3, **SMALL))
    one, other = (synthetic(seed, **SMALL).cohorts.true_transitions for seed in (3, 4))
    assert (one != other).any()


@pytest.fixture(scope="module")
def programme():
    return simulated_programme(0, **PUBLISHED_BEHAVIOUR)


def test_the_simulated_programme_has_the_papers_shape():
    domain = mmitra_like()
    cohorts = domain.cohorts
    assert cohorts.true_transitions.shape == (100, 76, 2, 2, 2)
    assert cohorts.features.codes.shape == (100, 76, 44)
    assert min(cohorts.features.levels) == 2
    assert max(cohorts.features.levels) == 20
    assert domain.sizes == (60, 20, 20)
    assert set(cohorts.budget.tolist()) == {3}
    assert "simulated" in domain.name
    assert domain.note.startswith("Simulated")
    assert "68 people are left over" in domain.note
    assert (np.asarray(cohorts.counts).sum(axis=(2, 3, 4)) == 6).all()


def hash_of(domain):
    """Whole numbers as they are, others to 40 binary digits: a processor may round the last ones differently."""
    cohorts, digest = domain.cohorts, hashlib.sha256()
    for whole in (cohorts.features.codes, cohorts.counts, cohorts.budget, cohorts.ids):
        digest.update(np.asarray(whole).astype(np.int64).tobytes())
    for array in (cohorts.true_transitions, domain.problem.initial):
        digest.update(np.round(np.asarray(array) * 2**40).astype(np.int64).tobytes())
    return digest.hexdigest()


def test_the_published_domain_is_what_results_were_measured_on():
    # Taken before the programme behind it got other defaults.
    assert hash_of(mmitra_like()) == "60506b23023b01ce5337366a6c349f2f5d2a584b79dcd0a7ef0f596093b0092c"
    small = mmitra_like(num_people=300, size=20, budget=1, unobserved=0.2)
    assert hash_of(small) == "2f4e6a2e640d6892521fc6cc829b41629ded9a25734f936555d8a7db0976937e"


def test_domains_keep_the_chains_that_their_people_follow():
    domain = mmitra_like(4, num_people=100, size=20, budget=1)
    programme = simulated_programme(generator(4), num_people=100, **PUBLISHED_BEHAVIOUR)
    engaging = programme.behaviour[-1][np.asarray(domain.cohorts.ids)]
    np.testing.assert_allclose(domain.behaviour[..., 1], engaging)
    np.testing.assert_allclose(domain.behaviour.sum(axis=-1), 1)
    np.testing.assert_array_equal(programme.features.codes[domain.cohorts.ids], domain.cohorts.features.codes)
    known = synthetic(**SMALL)
    np.testing.assert_array_equal(known.behaviour, known.cohorts.true_transitions)


def test_simulated_engagement_declines(programme):
    weekly = np.asarray(programme.trajectories.states).mean(axis=0)
    assert (np.diff(weekly) < 0).all()
    assert weekly[0] > 0.65
    assert weekly[-1] < 0.5


def test_a_random_minority_is_called_each_week(programme):
    actions = np.asarray(programme.trajectories.actions)
    assert (actions.sum(axis=0) == round(7668 * 3 / 76)).all()
    engaged = np.asarray(programme.trajectories.states) == 1
    assert abs(actions[engaged].mean() - actions[~engaged].mean()) < 0.01


def test_call_effects_differ_and_some_are_harmful(programme):
    effect = programme.behaviour[0, :, :, 1] - programme.behaviour[0, :, :, 0]
    assert 0.25 < (effect == 0).mean() < 0.35
    assert 0.05 < (effect < 0).mean() < 0.2
    assert 0.02 < effect.mean() < 0.1


def test_features_explain_as_much_as_the_knob_says():
    for share in (0.0, 0.1, 0.8):
        programme = simulated_programme(1, explained=share, weekly_decline=0.0)
        passive = programme.behaviour[0, :, 0, 0]
        trait = np.log(passive / (1 - passive))
        matrix = np.asarray(one_hot(programme.features))
        assert abs(explained_share(matrix, trait) - share) < 0.03


def test_intake_categories_correlate_by_the_knob():
    def mean_correlation(strength):
        codes = np.asarray(simulated_programme(2, num_people=3000, feature_correlation=strength).features.codes)
        return np.abs(np.corrcoef(codes, rowvar=False) - np.eye(44)).mean()

    assert mean_correlation(0.0) < 0.03 < 0.06 < mean_correlation(0.3) < mean_correlation(0.8)


def test_unobserved_weeks_are_a_knob():
    observed = simulated_programme(0, num_people=2000, unobserved=0.25).trajectories.observed
    assert abs(float(observed.mean()) - 0.75) < 0.02


def test_the_simulated_programme_follows_its_seed():
    small = {"num_people": 300, "size": 20, "budget": 1}
    assert_same(mmitra_like(5, **small), mmitra_like(5, **small))
    one, other = (mmitra_like(seed, **small).cohorts.features.codes for seed in (5, 6))
    assert (one != other).any()


@pytest.mark.parametrize(
    ("knobs", "part"),
    [
        ({"explained": 1.5}, "explained must be between 0 and 1, not 1.5"),
        ({"spread": -1.0}, "spread must be a finite number of at least 0"),
        ({"calls_per_week": 0, "num_people": 100}, "with action 1 was never seen by anyone"),
        ({"num_weeks": 1}, "num_weeks must be at least 2"),
    ],
)
def test_impossible_knobs_are_refused(knobs, part):
    with pytest.raises(InvalidInputError, match=part):
        mmitra_like(**knobs)


def test_users_see_the_same_people_in_float32(user_precision):
    domain = mmitra_like(0, num_people=200, size=20, budget=1)
    assert domain.cohorts.true_transitions.dtype == np.float32
    with jax.enable_x64(True):
        double = mmitra_like(0, num_people=200, size=20, budget=1)
    np.testing.assert_array_equal(domain.cohorts.ids, double.cohorts.ids)
    np.testing.assert_array_equal(domain.cohorts.features.codes, double.cohorts.features.codes)
    np.testing.assert_allclose(domain.cohorts.true_transitions, double.cohorts.true_transitions, atol=1e-6)
