"""The recipe keeps a correction only if calls get better by it, on cohorts that neither taught nor chose it."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import armwise as aw
from armwise.data import Features
from armwise.models.corrections import num_history
from armwise.planner.correction import helps, make_correction


@pytest.fixture(scope="module")
def cohorts():
    """In half of the people a call brings everyone back, in the others no one; the known chain is the same for all."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (200, 1))
    truth = np.full((200, 2, 2, 2), 0.5, np.float32)
    truth[:, :, 1] = np.where(codes[:, :, None] == 0, [0.05, 0.95], [0.5, 0.5])
    history = np.zeros((200, num_history(2)))
    known = Features(np.concatenate([history, np.log(np.full((200, 8), 0.5))], axis=1), codes, (2,))
    return aw.partition(0, known, truth, np.zeros((200, 2, 2, 2)), 20, 2).cohorts


@pytest.mark.parametrize(("added", "wanted"), [(3.0, True), (0.0, False), (-3.0, False)])
def test_it_is_kept_if_calls_get_better(cohorts, added, wanted):
    """3 more in log-odds for those whom calls help is nearly the truth; 3 less calls the wrong half."""
    silent = make_correction("linear", jax.random.key(0), cohorts.features, 2)
    said = np.zeros((2, 2, 2, 2), np.float32)
    said[0, :, 1, 1] = added
    correction = eqx.tree_at(lambda each: each.network.layer.table, silent, jnp.asarray(said.reshape(2, 8)))
    assert helps(jax.random.key(1), [correction, correction], [cohorts[:5], cohorts[5:]], aw.Problem()) == wanted


def test_where_no_cohort_can_judge_it_is_not_kept(cohorts):
    silent = make_correction("linear", jax.random.key(0), cohorts.features, 2)
    assert not helps(jax.random.key(1), [silent], [cohorts[:0]], aw.Problem())
