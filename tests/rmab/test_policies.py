import numpy as np
import pytest

import armwise as aw


@pytest.mark.parametrize(("states", "actions"), [(1, 2), (2, 2), (5, 2), (3, 3), (2, 1)])
def test_all_policies_are_all_and_distinct(states, actions):
    policies = aw.all_policies(states, actions)
    assert policies.shape == (actions**states, states)
    assert len({tuple(policy) for policy in policies}) == actions**states
    assert policies.min() >= 0
    assert policies.max() < actions


def test_threshold_policies_act_below_a_threshold():
    policies = aw.threshold_policies(4)
    assert policies.tolist() == [[0, 0, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]
    every = {tuple(policy) for policy in aw.all_policies(4)}
    assert {tuple(policy) for policy in policies} <= every


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: aw.all_policies(0), "num_states must be at least 1, not 0"),
        (lambda: aw.all_policies(40), r"2\^40 policies are too many.*threshold_policies"),
        (lambda: aw.threshold_policies(-1), "num_states must be at least 1, not -1"),
    ],
)
def test_wrong_input_is_named(call, message):
    with pytest.raises(aw.InvalidInputError, match=message):
        call()


@pytest.mark.parametrize(
    ("policies", "message"),
    [
        ([[0, 1, 0]], r"policies must have the shape \[policies, 2\].*not \[1, 3\]"),
        ([0, 1], r"policies must have the shape \[policies, 2\].*not \[2\]"),
        ([[0, 1], [2, 0]], "policies must choose among the actions 0 to 1, but policy 1, state 0 has 2"),
        ([[0, -1]], "policy 0, state 1 has -1"),
        ([[0.0, 1.0]], "policies must be whole numbers"),
        ([[0, 1], [1]], "policies cannot be read as an array of numbers"),
        ([["a", "b"]], "policies must be an array of real numbers"),
    ],
)
def test_wrong_policies_are_named(policies, message):
    transitions = np.full((3, 2, 2, 2), 0.5)
    with pytest.raises(aw.InvalidInputError, match=message):
        aw.policy_returns(transitions, aw.Problem(), policies)
