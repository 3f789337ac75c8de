"""``evaluate``: against a plain NumPy simulation, and against the public functions for one measure each."""

import jax
import numpy as np
import pytest

import armwise as aw
from armwise.evaluation.model_quality import check_model, with_problem

STEPS, TRAJECTORIES = 15, 1000


@pytest.fixture(scope="module")
def domain():
    return aw.synthetic(2, num_cohorts=3, num_arms=8, budget=2, width=20, num_layers=3)


@pytest.fixture(scope="module")
def model(domain):
    return aw.Linear(jax.random.key(0), domain.cohorts.features, num_states=2)


@pytest.fixture(scope="module")
def quality(domain, model):
    return aw.evaluate(model, domain.cohorts, domain.problem, num_trajectories=TRAJECTORIES, horizon=STEPS)


def simulated(rng, true, choose, discount):
    """Mean return of calling whom ``choose`` says, week by week, and its standard error; nothing of armwise in it."""
    num_arms, people = len(true), np.arange(len(true))
    states = rng.integers(0, 2, (TRAJECTORIES, num_arms))
    returns = np.zeros(TRAJECTORIES)
    for step in range(STEPS):
        returns += discount**step * states.sum(axis=1)
        engaged = true[people, states, choose(states).astype(int), 1]
        states = (rng.random(states.shape) < engaged).astype(int)
    return returns.mean(), returns.std() / TRAJECTORIES**0.5


def highest(priorities, budget):
    """Call the ``budget`` people whose priority in their present state is highest."""

    def choose(states):
        own = priorities[np.arange(len(priorities)), states]
        return own.argsort(axis=1).argsort(axis=1) >= own.shape[1] - budget

    return choose


def test_equals_a_plain_simulation(domain, model, quality):
    rng, problem, side = np.random.default_rng(0), domain.problem, domain.cohorts
    predicted = jax.vmap(model)(side.features)
    for i in range(side.num_cohorts):
        true = np.asarray(side.true_transitions[i])
        ways = {
            name: highest(np.asarray(aw.whittle_indices(transitions[i], problem)), 2)
            for name, transitions in (("model", predicted), ("perfect predictions", side.true_transitions))
        }
        ways["never"] = np.zeros_like
        ways["random"] = lambda states: rng.random(states.shape).argsort(axis=1) < 2
        for name, choose in ways.items():
            mean, error = simulated(rng, true, choose, float(problem.discount))
            assert float(quality.joint[name].achieved[i]) == pytest.approx(mean, abs=5 * 2**0.5 * error), name
    assert float(quality.joint["never"].normalised) == 0
    assert float(quality.joint["perfect predictions"].normalised) == pytest.approx(1, abs=1e-12)
    for name, used in (("random", 1), ("round robin", 1), ("disengaged first", 1), ("never", 0)):
        np.testing.assert_allclose(quality.joint[name].budget_use, used, err_msg=name)


def test_is_what_the_functions_for_one_measure_say(domain, model, quality):
    side, problem, key = domain.cohorts, domain.problem, jax.random.key(0)
    predicted = jax.vmap(model)(side.features)
    rest = (side.true_transitions, problem, side.budget)
    expected = {"model": aw.joint_decision_quality(key, predicted, *rest, TRAJECTORIES, STEPS, ids=side.ids)}
    rules = {"random": aw.RandomCalls(), "round robin": aw.RoundRobin(), "disengaged first": aw.LongestFirst()}
    for name, rule in rules.items():
        expected[name] = aw.priority_decision_quality(key, rule, *rest, TRAJECTORIES, STEPS, ids=side.ids)
    for name, parts in expected.items():
        assert_close(quality.joint[name], parts)
    assert_close(quality.decomposed, aw.decomposed_decision_quality(predicted, *rest))


def assert_close(ours, theirs):
    for part, expected in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(part, expected, rtol=1e-9)


def test_prints_as_a_table(quality):
    lines = repr(quality).splitlines()
    assert [line[:24].strip() for line in lines] == ["whom to call", *quality.joint, "model, decomposed"]
    own = quality.joint["model"]
    assert f"{float(own.normalised):.3f} ± {float(own.standard_error):.3f}" in lines[1]
    assert lines[1].endswith(f"{float(own.budget_use.mean()):.0%}")


def test_a_domain_brings_its_problem(domain, model, quality):
    alone = aw.evaluate(model, domain, num_trajectories=TRAJECTORIES, horizon=STEPS)
    jax.tree.map(np.testing.assert_array_equal, dict(alone.joint), dict(quality.joint))


def test_what_is_missing_or_too_much_is_named(domain, model):
    with pytest.raises(aw.InvalidInputError, match=r"problem is missing: pass problem=domain\.problem"):
        aw.evaluate(model, domain.cohorts)
    with pytest.raises(aw.InvalidInputError, match=r"problem must be an armwise\.Problem, not float"):
        with_problem(domain.cohorts, 0.9)  # not evaluate, whose types test-all checks first
    with pytest.raises(aw.InvalidInputError, match="A Domain brings its own problem"):
        aw.evaluate(model, domain, domain.problem)
    with pytest.raises(aw.InvalidInputError, match=r"such as trained\.model of train, not tuple"):
        check_model((model, 3))
    splits = aw.Splits(domain.cohorts[:1], domain.cohorts[1:2], domain.cohorts[2:])
    with pytest.raises(aw.InvalidInputError, match=r"evaluate\(model, splits\.test, problem\)"):
        aw.evaluate(model, splits, domain.problem)
