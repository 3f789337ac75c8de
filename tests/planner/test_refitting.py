"""A planner fitted again by one run: the settings that were chosen, the programs that were compiled."""

import logging
from functools import cache

import equinox as eqx
import jax
import numpy as np
import pytest

import armwise as aw
from armwise.planner import correction
from armwise.planner.correction import PreparedCohorts
from armwise.planner.refitting import refit_cheaply
from armwise.training import RECOMMENDED_CONFIG
from tests.planner.outreach import make_people, make_weeks, small

CONFIG = aw.TrainConfig(num_epochs=3, quality="joint", quality_trajectories=2, select_by="quality", patience=2)


@cache
def people(seed, num_people=60):
    rng = np.random.default_rng(seed)
    table = make_people(rng, num_people)
    return table.select("id", "phone", "language"), make_weeks(rng, table)


@pytest.fixture
def settings(monkeypatch):
    """What the run of a fit is told to learn by, without any being trained."""
    told = []

    class StopError(Exception):
        pass

    def one_run(key, cohorts, loss, model, config, *, validation, problem, **rest):
        everyone = jax.tree.map(lambda *parts: np.concatenate(parts), *(side for side in (cohorts, validation) if side))
        told.append((PreparedCohorts(everyone, problem, None), loss, config))
        raise StopError

    def averaged(key, cohorts, losses, model, config, *, splits, problem, **rest):
        told.append((len(splits), losses, config))
        raise StopError

    monkeypatch.setattr(correction, "train", one_run)
    monkeypatch.setattr(correction, "train_averaged", averaged)

    def refit(planner, *data, **options):
        with pytest.raises(StopError):
            refit_cheaply(planner, *data, **options)
        return told.pop()

    return refit


def test_a_planner_that_has_learned_nothing_gives_the_recommended_settings(settings):
    _, loss, config = settings(aw.OutreachPlanner(model="linear", budget_share=0.1), *people(0))
    assert eqx.tree_equal(loss, aw.recommended_loss())
    assert config == RECOMMENDED_CONFIG
    # One call in 60 leaves a single cohort, which is passed over as often as five would be.
    _, loss, config = settings(aw.OutreachPlanner(model="linear", budget_share=1 / 60), *people(0))
    assert (config.num_epochs, config.quality, config.patience) == (500, None, None)


def test_models_of_several_splits_are_averaged(settings):
    planner = aw.OutreachPlanner(aw.MeanSquaredError(), budget_share=0.1)
    splits, losses, config = settings(planner, *people(0), num_splits=4)
    assert (splits, config) == (4, RECOMMENDED_CONFIG)
    assert eqx.tree_equal(losses, [aw.MeanSquaredError()])
    with pytest.raises(aw.InvalidInputError, match="num_splits must be"):
        refit_cheaply(planner, *people(0), num_splits=0)


def test_settings_that_were_given_are_kept(settings):
    planner = aw.OutreachPlanner(aw.NegativeLogLikelihood(), config=CONFIG, budget_share=0.1)
    _, loss, config = settings(planner, *people(0))
    assert eqx.tree_equal(loss, aw.NegativeLogLikelihood())
    assert config == CONFIG


def test_what_the_recipe_chose_is_learned_by_again(settings):
    planner = aw.OutreachPlanner(model="linear", discount=0.8, cohort_size=20)
    # As a fitted planner has them.
    planner.model_, planner.loss_ = None, aw.recommended_loss(30.0)
    planner.config_ = aw.TrainConfig(learning_rate=1e-3)
    prepared, loss, config = settings(planner, *people(0))
    assert eqx.tree_equal(loss, aw.recommended_loss(30.0))
    assert config.learning_rate == 1e-3
    assert float(prepared.problem.discount) == pytest.approx(0.8)
    assert planner.loss is None, "the planner itself is not changed"


def test_at_most_so_many_people_are_learned_from(settings):
    planner = aw.OutreachPlanner(model="linear", cohort_size=20)
    for most, cohorts in ((10_000, 15), (200, 10), (199, 9), (1, 1)):
        prepared, _, _ = settings(planner, *people(0, 300), max_people=most)
        assert prepared.cohorts.true_transitions.shape[:2] == (cohorts, 20)
    with pytest.raises(aw.InvalidInputError, match="max_people must be"):
        refit_cheaply(planner, *people(0), max_people=0)


def test_one_run_equals_the_fit_by_the_same_loss():
    """The whole of ``fit``, with the same cohorts, split and first weights: here the planner's own settings."""
    case = small()
    again = refit_cheaply(case.planner, case.people, case.weeks)
    assert again is not case.planner
    expected = case.planner.predict_transitions(case.people)
    assert again.predict_transitions(case.people).tobytes() == expected.tobytes()
    half = case.people[:60]
    other = refit_cheaply(case.planner, half, case.weeks.join(half.select("id"), on="id"))
    assert other.predict_transitions(case.people).tobytes() != expected.tobytes()


def test_a_second_fit_compiles_nothing(caplog):
    """Fits of other people share all programs where the shapes are equal; a judge and patience included."""
    planner = aw.OutreachPlanner(aw.MeanSquaredError(), config=CONFIG, cohort_size=12)
    refit_cheaply(planner, *people(1))
    with caplog.at_level(logging.WARNING), jax.log_compiles():
        refit_cheaply(planner, *people(2))
    compiled = [each.getMessage() for each in caplog.records if "Finished XLA compilation" in each.getMessage()]
    assert not compiled
    # The log does say when something is compiled.
    with caplog.at_level(logging.WARNING), jax.log_compiles():
        jax.jit(lambda number: 3 * number + 17)(np.arange(7))
    assert any("Finished XLA compilation" in each.getMessage() for each in caplog.records)
