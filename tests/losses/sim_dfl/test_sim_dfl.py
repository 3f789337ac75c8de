import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit

import armwise as aw
from armwise.losses.sim_dfl.simulation import lay_at_once, lay_in_turn
from armwise.losses.sim_dfl.soft_top_k import soft_top_k
from armwise.rmab import rollout
from tests.oracles import random_transitions


def sinkhorn_top_k(scores, k, temperature, sweeps=20_000):
    """Xie et al. (2020): entropic transport of the items to the places not chosen and chosen, by Sinkhorn."""
    kernel = np.exp(np.stack([np.zeros_like(scores), scores - scores.max()], axis=1) / temperature)
    row, column = np.ones(len(scores)), np.array([len(scores) - k, k], float)
    right = np.ones(2)
    for _ in range(sweeps):
        left = row / (kernel @ right)
        right = column / (kernel.T @ left)
    return (left[:, None] * kernel * right)[:, 1]


@pytest.mark.parametrize("k", [1, 3, 7])
@pytest.mark.parametrize("temperature", [0.1, 1.0])
def test_soft_top_k_is_the_fixed_point_of_sinkhorn(rng, k, temperature):
    scores = rng.normal(size=(8, 5)) * 0.5
    chances, _ = soft_top_k(jnp.asarray(scores), jnp.array(float(k)), jnp.array(temperature))
    for lane in range(5):
        np.testing.assert_allclose(chances[:, lane], sinkhorn_top_k(scores[:, lane], k, temperature), atol=1e-8)


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("temperature", [1e-3, 0.1, 10.0])
def test_soft_top_k_sums_to_k_and_approaches_the_top_k(rng, precision, temperature):
    scores = jnp.asarray(rng.normal(size=(100, 50)) * 3, precision)
    for k in (0, 1, 10, 99, 100):
        chances, _ = soft_top_k(scores, jnp.asarray(float(k), precision), jnp.asarray(temperature, precision))
        np.testing.assert_allclose(chances.sum(0), k, rtol=2e-4 if precision == "float32" else 1e-9, atol=1e-6)
        assert chances.min() >= 0
        assert chances.max() <= 1
    if temperature == 1e-3:
        chances, _ = soft_top_k(scores, jnp.asarray(10.0, precision), jnp.asarray(temperature, precision))
        in_top = np.argsort(np.argsort(-np.asarray(scores), axis=0), axis=0) < 10
        assert np.abs(np.asarray(chances) - in_top).mean() < 0.01


def test_a_warm_start_changes_nothing(rng):
    scores = jnp.asarray(rng.normal(size=(20, 5)))
    cold, threshold = soft_top_k(scores, jnp.array(4.0), jnp.array(0.1))
    for start in (threshold, threshold + 3, threshold - 100):
        warm, _ = soft_top_k(scores, jnp.array(4.0), jnp.array(0.1), start)
        np.testing.assert_allclose(warm, cold, atol=1e-12)


@pytest.mark.parametrize("sample", [lay_in_turn, lay_at_once])
def test_systematic_samples_have_the_right_size_and_chances(rng, sample):
    chances = rng.dirichlet(np.ones(9)) * 3
    while chances.max() > 1:
        chances = rng.dirichlet(np.ones(9)) * 3
    starts = (np.arange(20_000) + 0.5) / 20_000
    lanes = jnp.broadcast_to(jnp.asarray(chances)[None, :, None], (1, 9, 20_000))
    called, ends = sample(jnp.concatenate([lanes, lanes]), jnp.stack([starts, starts]), jnp.array(3.0))
    assert set(np.unique(called)) == {0.0, 1.0}
    np.testing.assert_array_equal(called.sum(1), 3)
    np.testing.assert_allclose(called[0].mean(-1), chances, atol=1e-4)
    np.testing.assert_allclose(ends[0, :-1, 0], np.cumsum(chances)[:-1] % 1, rtol=1e-12)


@pytest.mark.parametrize("sample", [lay_in_turn, lay_at_once])
@pytest.mark.parametrize(("arms", "count"), [(100, 3), (100_000, 5_000), (200_000, 100_000)])
def test_systematic_samples_are_as_large_as_they_should_be_in_float32(user_precision, sample, arms, count):
    chances = jnp.full((2, arms, 2), count / arms, jnp.float32)
    starts = jnp.array([[0.1, 0.5], [0.0, 0.999]], jnp.float32)
    called, _ = sample(chances, starts, jnp.float32(count))
    np.testing.assert_array_equal(np.asarray(called).sum(1), count)


def chances_of(scores, k, temperature):
    threshold = brentq(lambda t: expit((scores - t) / temperature).sum() - k, -100, 100, xtol=1e-14)
    return expit((scores - threshold) / temperature)


def samples_of(chances, k):
    """Every systematic sample and its probability: the stretches between the ends, modulo 1."""
    ends = np.append(np.cumsum(chances)[:-1], k)
    marks = np.unique(np.concatenate([[0.0, 1.0], ends % 1]))
    for low, high in itertools.pairwise(marks):
        middle = (low + high) / 2
        held = np.floor(ends - middle) - np.floor(np.append(0.0, ends[:-1]) - middle)
        yield held.astype(int), high - low


def exact_return(indices, transitions, problem, budget, temperature, horizon):
    """The expected return of the soft Whittle policy, by enumerating all joint states, samples and transitions."""
    arms, states = indices.shape
    joint = list(itertools.product(range(states), repeat=arms))
    rewards, initial = np.asarray(problem.rewards), np.asarray(problem.initial)
    law = {state: np.prod([initial[s] for s in state]) for state in joint}
    total = 0.0
    for step in range(horizon):
        following = dict.fromkeys(joint, 0.0)
        for state, weight in law.items():
            total += float(problem.discount) ** step * weight * sum(rewards[s] for s in state)
            scores = indices[np.arange(arms), state]
            for called, chance in samples_of(chances_of(scores, budget, temperature), budget):
                for after in joint:
                    moves = [transitions[i, state[i], called[i], after[i]] for i in range(arms)]
                    following[after] += weight * chance * np.prod(moves)
        law = following
    return total


@pytest.mark.parametrize(
    ("arms", "budget", "horizon", "credit"), [(3, 1, 2, "own"), (3, 2, 2, "own"), (2, 1, 3, "all"), (3, 1, 3, "all")]
)
def test_gradient_estimates_agree_with_the_exact_gradient(rng, arms, budget, horizon, credit):
    """In expectation, within the confidence interval of many samples.

    Crediting a call with its own arm's rewards alone is exact as long as calls do not compete later: at two steps.
    """
    true, logits = random_transitions(rng, "dense", arms, 2), rng.normal(size=(arms, 2, 2, 2))
    problem, temperature = aw.Problem(rewards=[0.0, 1.0], discount=0.9, initial=[0.6, 0.4]), 0.3
    loss = aw.SimDFL(num_trajectories=2000, temperature=temperature, horizon=horizon, credit=credit)
    prepared = loss.prepare(aw.CohortTruth(true, problem, budget))

    def exact(logits):
        indices = np.asarray(aw.whittle_indices(jax.nn.softmax(jnp.asarray(logits), axis=-1), problem))
        return -exact_return(indices, true, problem, budget, temperature, horizon) / arms

    def estimate(key):
        return jax.value_and_grad(lambda x: loss(jax.nn.softmax(x, axis=-1), prepared, key))(jnp.asarray(logits))

    values, gradients = jax.lax.map(jax.jit(estimate), jax.random.split(jax.random.key(3), 300))
    assert abs(values.mean() - exact(logits)) < 4 * values.std(ddof=1) / np.sqrt(300)
    expected = np.empty(logits.shape)
    for place in np.ndindex(*logits.shape):
        bump = np.zeros(logits.shape)
        bump[place] = 1e-5
        expected[place] = (exact(logits + bump) - exact(logits - bump)) / 2e-5
    error = np.std(gradients, axis=0, ddof=1) / np.sqrt(300)
    assert np.abs(expected).max() > 10 * error.max()  # the samples are enough to tell
    assert (np.abs(gradients.mean(0) - expected) / error).max() < 4.5


def test_the_gradient_in_the_temperature_agrees_with_the_exact_one(rng):
    true, predicted = (random_transitions(rng, "dense", 3, 2) for _ in range(2))
    problem = aw.Problem(rewards=[0.0, 1.0], discount=0.9, initial=[0.6, 0.4])
    prepared = aw.SimDFL(2000, horizon=2).prepare(aw.CohortTruth(true, problem, 1))
    indices = np.asarray(aw.whittle_indices(predicted, problem))

    def exact(temperature):
        return -exact_return(indices, true, problem, 1, temperature, 2) / 3

    @jax.jit
    def estimate(key):
        return jax.grad(lambda temperature: aw.SimDFL(2000, temperature, 2)(predicted, prepared, key))(0.3)

    gradients = jax.lax.map(estimate, jax.random.split(jax.random.key(3), 200))
    expected, error = (exact(0.3 + 1e-5) - exact(0.3 - 1e-5)) / 2e-5, gradients.std(ddof=1) / np.sqrt(200)
    assert abs(expected) > 5 * error  # the samples are enough to tell
    assert abs(gradients.mean() - expected) < 4 * error


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (lambda prepared: prepared.true_transitions, "the true transitions"),
        (lambda prepared: prepared.problem.rewards, "the rewards"),
        (lambda prepared: prepared.problem.initial, "the first states"),
        (lambda prepared: prepared.problem.discount, "the discount"),
    ],
)
def test_gradients_of_the_simulation_itself_are_refused(rng, part, words):
    """They would be zero or, where the indices depend on the same number, a part of the truth."""
    true, predicted = (random_transitions(rng, "dense", 3, 2) for _ in range(2))
    loss = aw.SimDFL(4, horizon=3)
    prepared = loss.prepare(aw.CohortTruth(true, aw.Problem(), 1))

    def value(changed):
        return loss(predicted, eqx.tree_at(part, prepared, changed), jax.random.key(0))

    with pytest.raises(aw.InvalidInputError, match=f"no gradient with respect to {words}"):
        jax.jit(jax.grad(value))(part(prepared))
    assert float(jnp.sum(jnp.abs(jax.grad(lambda x: value(jax.lax.stop_gradient(x)))(part(prepared))))) == 0


def test_costs_are_differentiated_through_the_indices(rng):
    """Twice the price of a call is half the index: the same as twice the temperature, to first order too."""
    true, predicted = (random_transitions(rng, "dense", 5, 2) for _ in range(2))
    key, prepared = jax.random.key(0), aw.SimDFL(50, horizon=6).prepare(aw.CohortTruth(true, aw.Problem(), 2))

    def value(cost, temperature):
        priced = eqx.tree_at(lambda known: known.problem.costs, prepared, jnp.stack([jnp.zeros(()), cost]))
        return aw.SimDFL(50, temperature, 6)(predicted, priced, key)

    by_cost, by_temperature = jax.jit(jax.grad(value, argnums=(0, 1)))(jnp.array(1.0), jnp.array(0.1))
    assert float(by_cost) != 0
    np.testing.assert_allclose(by_cost, 0.1 * by_temperature, rtol=1e-9)


@pytest.mark.parametrize("num_trajectories", [1, 7, 40])
def test_every_trajectory_counts_once_in_blocks_or_not(rng, monkeypatch, num_trajectories):
    """Value and gradient are averages over trajectories: replayed one block at a time they are the same."""
    true, predicted = random_transitions(rng, "dense", 12, 2), jnp.asarray(random_transitions(rng, "dense", 12, 2))
    key, problem = jax.random.key(0), aw.Problem()

    def run(num_trajectories):
        loss = aw.SimDFL(num_trajectories, horizon=9)
        return jax.value_and_grad(loss)(predicted, loss.prepare(aw.CohortTruth(true, problem, budget=3)), key)

    value, gradient = run(num_trajectories)
    loss = aw.SimDFL(num_trajectories, horizon=9)
    np.testing.assert_allclose(loss(predicted, loss.prepare(aw.CohortTruth(true, problem, 3)), key), value, rtol=1e-12)
    if num_trajectories == 1:  # trajectories are numbered: those of a run of 2 are this one and one more
        trace_of_two = run(2)[0]
        assert abs(float(trace_of_two - value)) > 1e-6
    monkeypatch.setattr(rollout, "BLOCK_ELEMENTS", 100)
    jax.clear_caches()
    assert rollout.blocks(num_trajectories, 12).shape[0] == -(-num_trajectories // 8)
    in_blocks, gradient_in_blocks = run(num_trajectories)
    np.testing.assert_allclose(in_blocks, value, rtol=1e-12)
    np.testing.assert_allclose(gradient_in_blocks, gradient, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("num_trajectories", [1, 3])
def test_the_value_is_a_mean_over_trajectories(rng, num_trajectories):
    """With equal indices every arm is called half of the time, so the expected return of two steps is known."""
    true = random_transitions(rng, "dense", 10, 2)
    no_effect = np.full(true.shape, 0.5)  # predicted: all indices are 0
    loss = aw.SimDFL(num_trajectories, horizon=2)
    prepared = loss.prepare(aw.CohortTruth(true, aw.Problem(discount=0.5), budget=5))
    values = jax.lax.map(lambda key: loss(no_effect, prepared, key), jax.random.split(jax.random.key(2), 4000))
    expected = -(0.5 + 0.5 * true[..., 1].mean())  # first state and action are both a coin toss
    assert abs(values.mean() - expected) < 4 * values.std() / np.sqrt(4000)


@pytest.mark.parametrize("budget", [0, 12, 100])
def test_budgets_of_none_and_all_have_no_gradient(rng, budget):
    """There is no choice to improve; the return is that of a constant policy."""
    true = random_transitions(rng, "dense", 12, 2)
    loss = aw.SimDFL(num_trajectories=2000, horizon=40)
    prepared = loss.prepare(aw.CohortTruth(true, aw.Problem(discount=0.8), budget))
    value, gradient = jax.value_and_grad(loss)(jnp.asarray(true), prepared, jax.random.key(0))
    np.testing.assert_array_equal(gradient, 0)
    policy = np.full((12, 2), int(budget > 0))
    exact = float(aw.fixed_policy_returns(true, aw.Problem(discount=0.8), policy)[0].mean())
    assert -float(value) == pytest.approx(exact, rel=0.01)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_trajectories": 0}, "num_trajectories must be at least 1, not 0"),
        ({"horizon": 0}, "horizon must be at least 1, not 0"),
        ({"temperature": 0.0}, "temperature must be a finite number above 0, not 0"),
        ({"temperature": np.array(-1.0)}, "temperature must be a finite number above 0, not -1"),
        ({"temperature": np.inf}, "temperature must be a finite number above 0, not inf"),
        ({"credit": "none"}, "credit must be 'own' or 'all', not 'none'"),
    ],
)
def test_wrong_options_are_named(arguments, message):
    with pytest.raises(aw.InvalidInputError, match=message):
        aw.SimDFL(**arguments)


def test_wrong_calls_are_named():
    true = np.full((3, 2, 2, 2), 0.5)
    loss = aw.SimDFL(1)
    prepared = loss.prepare(aw.CohortTruth(true, aw.Problem(), budget=1))
    with pytest.raises(aw.InvalidInputError, match=r"pass key, such as jax.random.key\(0\)"):
        loss(true, prepared)
    with pytest.raises(aw.InvalidInputError, match=r"predicted_transitions has the shape \[2, 2, 2, 2\]"):
        loss(true[:2], prepared, jax.random.key(0))


def test_predictions_may_be_less_precise_than_the_truth(rng):
    true = random_transitions(rng, "dense", 6, 2)
    loss = aw.SimDFL(4, horizon=5)
    prepared = loss.prepare(aw.CohortTruth(true, aw.Problem(), budget=2))
    value, gradient = jax.value_and_grad(loss)(jnp.asarray(true, jnp.float32), prepared, jax.random.key(0))
    assert jnp.isfinite(value)
    assert gradient.dtype == jnp.float32
