"""What was known before each past decision, against a loop over one person's weeks."""

import numpy as np
import pytest

from armwise.data import Trajectories
from armwise.evaluation.decisions import control_columns, find_decisions

REWARDS = np.array([0.0, 0.5, 1.0])


@pytest.fixture
def history():
    rng = np.random.default_rng(0)
    shape = (40, 9)
    observed = rng.random(shape) < 0.8
    return Trajectories.from_arrays(rng.integers(0, 3, shape), rng.random(shape) < 0.3, observed, num_states=3)


def known_before(states, actions, observed, step):
    """Run, share, time since the last call and own transitions, the slow way."""
    seen = [week for week in range(step) if observed[week]]
    other = [week for week in seen if states[week] != states[step]]
    same = [week for week in seen if states[week] == states[step] and (not other or week > other[-1])]
    run = step - same[0] + 1 if same else 1
    share = (REWARDS.mean() + sum(REWARDS[states[week]] for week in seen)) / (1 + len(seen))
    calls = [week for week in seen if actions[week]]
    own = np.zeros(3)
    for week in range(step):
        if observed[week] and observed[week + 1] and states[week] == states[step] and not actions[week]:
            own[states[week + 1]] += 1
    return run, share, step - calls[-1] if calls else 0, own


def test_what_was_known_before_each_decision(history):
    decisions = find_decisions(history, REWARDS)
    states, actions, observed = (np.asarray(part) for part in (history.states, history.actions, history.observed))
    checked = 0
    for person, step in zip(*np.nonzero(decisions.valid), strict=True):
        run, share, since, own = known_before(states[person], actions[person], observed[person], step)
        assert decisions.run[person, step] == run
        assert decisions.share[person, step] == pytest.approx(share)
        assert decisions.since_call[person, step] == since
        assert decisions.own[person, step].tolist() == own.tolist()
        checked += 1
    assert checked > 100


def test_a_decision_is_observed_before_and_after(history):
    decisions = find_decisions(history, REWARDS)
    observed = np.asarray(history.observed)
    assert (decisions.valid == (observed[:, :-1] & observed[:, 1:])).all()
    assert decisions.num_calls == int((np.asarray(history.actions)[:, :-1] * decisions.valid).sum())


def test_nothing_that_was_known_before_looks_at_a_later_step(history):
    columns = control_columns(find_decisions(history, REWARDS))
    states, actions = np.asarray(history.states).copy(), np.asarray(history.actions).copy()
    states[:, 6:], actions[:, 6:] = 2 - states[:, 6:], 1 - actions[:, 6:]
    changed = Trajectories.from_arrays(states, actions, history.observed, num_states=3)
    later = control_columns(find_decisions(changed, REWARDS))
    assert (later[:, :6] == columns[:, :6]).all()
    assert (later[:, 6:] != columns[:, 6:]).any()


def test_steps_that_are_no_decision_have_empty_columns(history):
    decisions = find_decisions(history, REWARDS)
    assert not control_columns(decisions)[~decisions.valid].any()
