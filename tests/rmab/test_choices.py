"""Turns, lots and longest first: against a loop in NumPy, against exact expectations, and by their own rules."""

from collections import deque

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import armwise as aw
from armwise.rmab import choices, rollout
from armwise.rmab.draws import arm_words, bits, uniforms
from tests.oracles import random_transitions

KEY = jax.random.key(11)
SCHEDULES = {"turns": aw.RoundRobin(), "lots": aw.RandomCalls(), "longest first": aw.LongestFirst()}


def slow_simulation(kind, transitions, budget, num_trajectories, horizon, discount=0.9):
    """Returns and actions by a loop over trajectories, steps and arms, on the draws that belong to each arm."""
    num_arms, num_states = transitions.shape[:2]
    words = arm_words(KEY, jnp.arange(num_arms, dtype=jnp.uint32))
    returns, actions = np.zeros(num_trajectories), np.zeros((num_trajectories, horizon, num_arms), int)
    for trajectory in range(num_trajectories):
        pair, half = jnp.array([trajectory // 2], jnp.uint32), trajectory % 2
        queue = deque(np.argsort(np.asarray(words)[:, 0]).tolist())
        state = np.searchsorted(
            np.arange(1, num_states) / num_states, uniforms(words, pair, jnp.uint32(0), jnp.dtype(float))[half, :, 0]
        )
        unchanged = np.zeros(num_arms, int)  # steps in a row that an arm has been where it is
        for step in range(horizon):
            if kind == "turns":
                called = [queue.popleft() for _ in range(budget)]
                queue.extend(called)
            elif kind == "longest first":
                since = [(state[arm], -unchanged[arm], int(words[arm, 0])) for arm in range(num_arms)]
                called = sorted(range(num_arms), key=since.__getitem__)[:budget]
            else:
                tickets = np.asarray(bits(words, pair, jnp.uint32(2**31 + step)))[half, :, 0]
                called = sorted(range(num_arms), key=lambda arm: tickets[arm])[:budget]
            actions[trajectory, step, called] = 1
            draws = uniforms(words, pair, jnp.uint32(step + 1), jnp.dtype(float))[half, :, 0]
            for arm in range(num_arms):
                returns[trajectory] += discount**step * state[arm] / (num_states - 1)
                chances = transitions[arm, state[arm], actions[trajectory, step, arm]]
                before, state[arm] = state[arm], np.searchsorted(np.cumsum(chances)[:-1], draws[arm], side="right")
                unchanged[arm] = unchanged[arm] + 1 if state[arm] == before else 0
    return returns, actions


@pytest.mark.parametrize("kind", SCHEDULES)
@pytest.mark.parametrize("budget", [1, 3, 7])
def test_a_slow_loop_agrees(rng, kind, budget):
    transitions, problem = random_transitions(rng, "dense", 7, 3), aw.Problem(num_states=3)
    returns, actions = slow_simulation(kind, transitions, budget, 4, 12)
    arguments = (KEY, transitions, SCHEDULES[kind], problem, budget, 4, 12)
    np.testing.assert_array_equal(aw.simulate_trace(*arguments).actions, actions)
    np.testing.assert_allclose(aw.simulate(*arguments), returns, rtol=1e-12)


def standard_errors_apart(sample, expected):
    sample = np.asarray(sample)
    return abs(sample.mean() - expected) / (sample.std(ddof=1) / np.sqrt(len(sample)))


def test_lots_are_worth_what_the_mixed_chain_is(rng):
    """Each arm is called with probability budget / arms, whatever its state: a chain of its own."""
    transitions, problem = random_transitions(rng, "dense", 20, 3), aw.Problem(num_states=3, discount=0.8)
    returns = aw.simulate(KEY, transitions, aw.RandomCalls(), problem, 6, num_trajectories=4000, horizon=60)
    mixed = 0.7 * transitions[:, :, :1] + 0.3 * transitions[:, :, 1:]
    chains = np.concatenate([mixed, mixed], axis=2)
    exact = float(aw.passive_returns(chains, problem).sum())
    assert standard_errors_apart(returns, exact) < 4


def test_turns_are_worth_what_the_schedule_is(rng):
    """The schedule is known beforehand, so each arm's distribution can be followed step by step."""
    transitions, problem = random_transitions(rng, "dense", 9, 2), aw.Problem(discount=0.8)
    actions = np.asarray(aw.simulate_trace(KEY, transitions, aw.RoundRobin(), problem, 4, 1, 50).actions)[0]
    exact, chance = 0.0, np.full((9, 2), 0.5)
    for step, called in enumerate(actions):
        exact += 0.8**step * chance[:, 1].sum()
        chance = np.einsum("is,isn->in", chance, transitions[np.arange(9), :, called])
    returns = aw.simulate(KEY, transitions, aw.RoundRobin(), problem, 4, num_trajectories=4000, horizon=50)
    assert standard_errors_apart(returns, exact) < 4


@given(num_arms=st.integers(1, 12), budget=st.integers(0, 15))
def test_no_one_is_called_while_another_has_waited_longer(num_arms, budget):
    chains = np.full((num_arms, 2, 2, 2), 0.5)
    actions = np.asarray(aw.simulate_trace(KEY, chains, aw.RoundRobin(), aw.Problem(), budget, 2, 15).actions)
    np.testing.assert_array_equal(actions[0], actions[1])
    last = np.full(num_arms, -1)
    for step, called in enumerate(actions[0].astype(bool)):
        assert called.sum() == min(budget, num_arms)
        assert max(last[called], default=-1) <= min(last[~called], default=step)
        last[called] = step


def check_longest_first(trace, rewards, budget):
    """On the trace alone: whoever is called is in no better a state, nor for a shorter time, than whoever is not."""
    states, called = np.asarray(trace.states, int), np.asarray(trace.actions) == 1
    trajectories, steps, num_arms = states.shape
    for trajectory in range(trajectories):
        waited = np.zeros(num_arms, int)
        for step in range(steps):
            now = states[trajectory, step]
            if step:
                waited = np.where(now == states[trajectory, step - 1], waited + 1, 0)
            worth = np.broadcast_to(rewards, (num_arms, np.shape(rewards)[-1]))[np.arange(num_arms), now]
            keys, chosen = list(zip(worth, -waited, strict=True)), called[trajectory, step]
            assert chosen.sum() == min(budget, num_arms)
            if 0 < chosen.sum() < num_arms:
                first = max(key for key, is_called in zip(keys, chosen, strict=True) if is_called)
                assert first <= min(key for key, is_called in zip(keys, chosen, strict=True) if not is_called)


@pytest.mark.parametrize("budget", [0, 1, 4, 8, 9, 30])
@pytest.mark.parametrize("rewards", ["by state", "falling", "with equals", "by arm"])
def test_the_longest_in_the_lowest_state_come_first(rng, budget, rewards):
    tables = {"by state": [0.0, 0.5, 1.0], "falling": [3.0, 1.0, -2.0], "with equals": [0.5, 0.0, 0.5]}
    table = np.array(tables[rewards]) if rewards in tables else rng.integers(0, 3, (9, 3)).astype(float)
    transitions = 0.6 * random_transitions(rng, "dense", 9, 3) + 0.4 * np.eye(3)[None, :, None]  # some stay a while
    problem = aw.Problem(rewards=table)
    check_longest_first(aw.simulate_trace(KEY, transitions, aw.LongestFirst(), problem, budget, 5, 20), table, budget)


def test_the_check_of_longest_first_can_fail(rng):
    transitions = random_transitions(rng, "dense", 9, 3)
    trace = aw.simulate_trace(KEY, transitions, aw.RandomCalls(), aw.Problem(num_states=3), 4, 5, 20)
    with pytest.raises(AssertionError):
        check_longest_first(trace, [0.0, 0.5, 1.0], 4)


def test_without_anyone_waiting_longest_first_is_the_lowest_state_first(rng):
    """At the first step all have arrived just now: who is called is who priorities by state would call."""
    transitions, problem = random_transitions(rng, "dense", 30, 3), aw.Problem(num_states=3)
    by_state = np.broadcast_to(-np.asarray(problem.rewards), (30, 3))
    both = (aw.simulate_trace(KEY, transitions, way, problem, 7, 40, 1) for way in (aw.LongestFirst(), by_state))
    np.testing.assert_array_equal(*(trace.actions for trace in both))


def test_rules_without_memory_carry_none(rng):
    """Their steps pass on states, reward, cost and weight, as they would if no rule had a memory."""
    rule = choices.rank_priorities(jnp.zeros((4, 2)), jnp.zeros(4, jnp.uint32), jnp.asarray(1))
    states = jnp.zeros((2, 4, 3), jnp.int32)
    assert jax.tree.leaves((rule.first_memory(states), rule.next_memory(None, states, states, jnp.asarray(0)))) == []


def test_every_choice_of_arms_is_equally_likely_and_steps_are_unrelated():
    chains = np.full((5, 2, 2, 2), 0.5)
    trace = aw.simulate_trace(KEY, chains, aw.RandomCalls(), aw.Problem(), 2, num_trajectories=2000, horizon=4)
    actions = np.asarray(trace.actions).astype(int)
    assert (actions.sum(-1) == 2).all()
    _, counts = np.unique(actions.reshape(-1, 5), axis=0, return_counts=True)
    assert len(counts) == 10
    assert ((counts - 800) ** 2 / 800).sum() < 9 + 5 * np.sqrt(2 * 9)
    again = (actions[:, 1:] & actions[:, :-1]).sum(-1).mean()  # called twice in a row: 2 · 2/5 of the arms
    assert abs(again - 0.8) < 5 * np.sqrt(0.36 / 6000)
    # The lots are not drawn from the luck that moves the arms.
    moved = np.asarray(trace.states)[:, 1:].ravel()
    assert abs(np.corrcoef(moved, actions[:, :-1].ravel())[0, 1]) < 5 / np.sqrt(moved.size)


def test_equal_tickets_never_change_how_many_are_called(monkeypatch):
    monkeypatch.setattr(choices, "bits", lambda *place: bits(*place) & np.uint32(0xC0000000))  # four tickets only
    words, pairs = arm_words(KEY, jnp.arange(12, dtype=jnp.uint32)), jnp.arange(20, dtype=jnp.uint32)
    for budget in (0, 1, 5, 11, 12, 20):
        lots = aw.RandomCalls().rule(words, jnp.asarray(budget), 3, jnp.array([[0.0, 1.0]]))
        actions = lots(jnp.zeros((2, 12, 20), jnp.int32), pairs, jnp.asarray(2))
        assert (actions.sum(axis=1) == min(budget, 12)).all()
        tickets = np.asarray(choices.bits(words, pairs, jnp.uint32(2**31 + 2)), np.int64)
        called = np.asarray(actions) == 1
        assert (np.where(called, tickets, 0).max(axis=1) <= np.where(called, 2**32, tickets).min(axis=1)).all()


@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES)
def test_neither_rows_nor_blocks_matter_and_all_or_none_is_constant(rng, schedule, monkeypatch):
    transitions, problem = random_transitions(rng, "dense", 20, 2), aw.Problem()
    ids, shuffle = rng.choice(2**32, 20, replace=False), rng.permutation(20)
    arguments = {"priorities": schedule, "problem": problem, "budget": 6, "num_trajectories": 31, "horizon": 15}
    returns = aw.simulate(KEY, transitions, ids=ids, **arguments)
    np.testing.assert_array_equal(returns, aw.simulate(KEY, transitions[shuffle], ids=ids[shuffle], **arguments))
    for budget, action in ((0, 0), (20, 1), (50, 1)):
        constant = aw.simulate_policy(KEY, transitions, np.full((20, 2), action), problem, 31, 15)[0]
        got = aw.simulate(KEY, transitions, **(arguments | {"budget": budget}))
        np.testing.assert_array_equal(got, constant)
    monkeypatch.setattr(aw.rmab.rollout, "BLOCK_ELEMENTS", 100)
    jax.clear_caches()
    np.testing.assert_array_equal(returns, aw.simulate(KEY, transitions, ids=ids, **arguments))


@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES)
def test_users_precision(rng, schedule, user_precision):
    transitions = random_transitions(rng, "dense", 8, 2).astype(np.float32)
    trace = aw.simulate_trace(KEY, transitions, schedule, aw.Problem(), 3, num_trajectories=4, horizon=9)
    with jax.enable_x64(True):
        exact = aw.simulate_trace(KEY, transitions.astype(float), schedule, aw.Problem(), 3, 4, 9)
    np.testing.assert_array_equal(trace.actions, exact.actions)


@pytest.mark.parametrize("states", [2, 3, 7])
@pytest.mark.parametrize("budget", [0, 1, 5, 23, 40])
def test_walking_down_the_ranks_chooses_whom_bisection_chooses(rng, states, budget):
    """With ties, and with states in which no one may be called."""
    priorities = jnp.asarray(rng.integers(0, 4, (40, states)).astype(float))
    priorities = jnp.where(rng.random((40, states)) < 0.2, -jnp.inf, priorities)
    words = jnp.asarray(rng.integers(0, 3, 40), jnp.uint32)
    now = jnp.asarray(rng.integers(0, states, (2, 40, 30)), jnp.int32)
    rule = choices.rank_priorities(priorities, words, jnp.asarray(budget))
    rank = choices.look_up(rule.ranks, now)
    cuts = (
        choices._cut(rank, rule.budget, rule.ranks.size),
        choices._cut_by_walking(now, rule.order, states, rule.budget, rule.eligible),
    )
    bisected, walked = (np.asarray(rank < jnp.minimum(cut, rule.eligible)[:, None]) for cut in cuts)
    np.testing.assert_array_equal(bisected, walked)
    may = np.asarray(rank < rule.eligible).sum(axis=1)
    np.testing.assert_array_equal(walked.sum(axis=1), np.minimum(may, budget))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_both_ways_to_choose_give_the_same_returns_to_the_bit(rng, monkeypatch, dtype):
    transitions = random_transitions(rng, "dense", 30, 3).astype(dtype)
    priorities, problem = rng.integers(0, 3, (30, 3)), aw.Problem(num_states=3)
    arguments = (KEY, transitions, priorities, problem, 7, 60)
    assert choices._worth_walking((30, 3), 30)
    walked = aw.simulate(*arguments, horizon=11)
    monkeypatch.setattr(choices, "MOST_STATES_WALKED", 1)
    jax.clear_caches()
    np.testing.assert_array_equal(walked, aw.simulate(*arguments, horizon=11))


@pytest.mark.parametrize("states", [2, 5, 8, 11])
def test_the_next_state_is_the_same_searched_and_compared(rng, states):
    rows = random_transitions(rng, "sparse", 6, states).reshape(6, 2 * states, states)
    table = np.cumsum(rows, axis=-1)
    table = jnp.asarray(table / table[..., -1:])
    row = jnp.asarray(rng.integers(0, 2 * states, (2, 6, 50)), jnp.int32)
    draws = jnp.asarray(rng.random((2, 6, 50)))
    draws = draws.at[0, 0, :2].set(jnp.array([0.0, table[0, int(row[0, 0, 1]), 0]]))  # on a boundary, too
    compared = rollout._draw(draws, lambda boundary: choices.look_up(table[..., boundary], row), states)
    np.testing.assert_array_equal(rollout._search(draws, table, row), compared)
