"""Scores of many runs are those of armwise.evaluation, run by run, on the same luck."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from armwise.data import synthetic
from armwise.evaluation import decomposed_decision_quality, joint_decision_quality
from armwise.models import Linear
from armwise.training.engine import cast
from reproduction.runs import scoring
from reproduction.runs.scoring import score


@pytest.fixture(scope="module", params=[2, 3])
def domain(request):
    return synthetic(1, num_states=request.param, num_cohorts=8, num_arms=9, budget=2, width=20, num_layers=3)


def stacked(domain, count):
    states = domain.problem.num_states
    make = lambda key: cast(Linear(key, domain.cohorts.features, states), jnp.dtype("float32"))  # noqa: E731
    models = [make(key) for key in jax.random.split(jax.random.key(3), count)]
    return models, jax.tree.map(lambda *leaves: np.stack(leaves), *models)


@pytest.mark.parametrize("runs_at_once", [1, 2, 5])
def test_scores_equal_those_of_each_run_alone(domain, monkeypatch, runs_at_once):
    monkeypatch.setattr(scoring._Test, "runs_at_once", lambda self: runs_at_once)
    models, together = stacked(domain, 5)
    split, tests = np.array([0, 0, 1, 1, 0]), [np.array([1, 4, 6]), np.array([7, 0, 2])]
    scores = score(together, split, domain, tests, num_trajectories=20, horizon=15, seed=9)
    test = scoring._Test(domain, tests, 20, 15, 9)
    for run, model in enumerate(models):
        own = test.cohorts[tests[split[run]]]
        predicted = jax.vmap(model)(own.features)
        exact = decomposed_decision_quality(predicted, own.true_transitions, test.problem, own.budget)
        for ours, theirs in zip(scores.decomposed, exact[:3], strict=True):
            np.testing.assert_allclose(ours[run], theirs, rtol=1e-5)
        for place, key in enumerate(test.keys[split[run]]):
            one = own[np.array([place])]
            arguments = (predicted[place][None], one.true_transitions, test.problem, one.budget, 20, 15)
            joint = joint_decision_quality(key, *arguments, ids=one.ids)
            for ours, theirs in zip(scores.joint, joint[:3], strict=True):
                np.testing.assert_allclose(ours[run, place], theirs[0], rtol=1e-5)


@pytest.fixture(autouse=True)
def one_key_for_one_cohort(monkeypatch):
    """joint_decision_quality of one cohort then uses the key it is given."""
    split = jax.random.split
    monkeypatch.setattr(jax.random, "split", lambda key, num=2: key[None] if num == 1 else split(key, num))
