"""Independent implementations that the tests compare with, and the chains they are compared on."""

import contextlib
import io

import numpy as np
import pytest
from jaxtyping import Bool, Float


def random_transitions(
    rng: np.random.Generator, kind: str, num_arms: int, num_states: int, num_actions: int = 2
) -> Float[np.ndarray, "arms states actions states"]:
    """Random chains of a kind: dense, skewed (nearly deterministic), sparse, or deterministic."""
    shape = (num_arms, num_states, num_actions)
    if kind == "dense":
        return rng.dirichlet(np.ones(num_states), shape)
    if kind == "deterministic":
        return np.eye(num_states)[rng.integers(0, num_states, shape)]
    if kind == "skewed":
        weights = rng.gamma(0.2, size=(*shape, num_states)) + 1e-12
    elif kind == "sparse":
        keep = rng.random((*shape, num_states)) < 0.3
        keep |= np.eye(num_states, dtype=bool)[rng.integers(0, num_states, shape)]
        weights = rng.exponential(size=keep.shape) * keep
    else:
        raise ValueError(kind)
    return weights / weights.sum(axis=-1, keepdims=True)


def solved_returns(transitions, rewards, discount, initial, costs, policies):
    """Algorithm 3 as printed, one arm and one policy at a time, by NumPy's LAPACK."""
    arms, states = transitions.shape[:2]
    rewards, initial = np.broadcast_to(rewards, (arms, states)), np.broadcast_to(initial, (arms, states))
    costs = np.asarray(costs)
    reward_returns, budget_returns = np.empty((2, arms, len(policies)))
    for i in range(arms):
        for j, policy in enumerate(policies):
            system = np.eye(states) - discount * transitions[i, np.arange(states), policy]
            reward_returns[i, j] = initial[i] @ np.linalg.solve(system, rewards[i])
            budget_returns[i, j] = initial[i] @ np.linalg.solve(system, costs[policy])
    return reward_returns, budget_returns


def package_indices(
    transitions: Float[np.ndarray, "arms states 2 states"], rewards: Float[np.ndarray, "arms states"], discount: float
) -> tuple[Float[np.ndarray, "arms states"], Bool[np.ndarray, " arms"]]:
    """Whittle indices and indexability by markovianbandit-pkg (Gast, Gaujal and Khun), one arm at a time."""
    before = np.geterr()  # the package turns floating-point warnings into errors for the whole process
    package = pytest.importorskip("markovianbandit.whittle_computation", reason="needs the extra 'reference'")
    np.seterr(**before)
    indices, indexable = np.empty(rewards.shape), np.empty(len(rewards), bool)
    with np.errstate(divide="raise", invalid="raise"), contextlib.redirect_stdout(io.StringIO()):
        for i, (arm, reward) in enumerate(zip(transitions, rewards, strict=True)):
            verdict, indices[i] = package.compute_whittle_indices(arm[:, 0], arm[:, 1], reward, reward, beta=discount)
            assert verdict != package.MULTICHAIN
            indexable[i] = bool(verdict)
    return indices, indexable


def bisected_indices(transitions, rewards, discount, iterations=60):
    """Whittle indices of one arm by what deployed code does: bisection on the price over value iteration."""
    states = len(rewards)
    bound = discount * np.ptp(rewards) / (1 - discount) + 1.0
    low, high = np.full(states, -bound), np.full(states, bound)
    for _ in range(iterations):
        price = (low + high) / 2
        value = np.zeros((states, states))  # row s: the arm's values at the price tried for state s
        for _ in range(int(np.log(1e-13) / np.log(discount))):
            passive, active = (rewards + discount * value @ transitions[:, a].T for a in (0, 1))
            value = np.maximum(passive, active - price[:, None])
        advantage = np.diag(active) - price - np.diag(passive)
        low, high = np.where(advantage > 0, price, low), np.where(advantage > 0, high, price)
    return (low + high) / 2
