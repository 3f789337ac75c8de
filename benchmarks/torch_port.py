"""Fast DEC-DFL (entropy) in plain PyTorch, eager, as a competent user of PyTorch would write it; for comparison only.

Shares no code with armwise but the data: one batched ``torch.linalg.solve`` over arms and policies, Newton's method in
a bracket for the price, the implicit-function gradient of the mixture as an ``autograd.Function``,
``torch.optim.Adam``, one gradient step per cohort. Letters as in docs/notation.md.
"""

import time
from itertools import product
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import torch

import armwise as aw
from armwise.data import Cohorts
from armwise.models import Linear
from benchmarks.epochs import LEVELS, TEMPERATURE, first_model
from benchmarks.harness import Timing

DISCOUNT = 0.9
Tensor = Any  # torch is not there where types are checked


def policy_returns(transitions: Tensor, policies: Tensor) -> tuple[Tensor, Tensor]:
    """Reward and budget returns ``[arms, policies]`` of arms ``[arms, states, actions, states]`` (Algorithm 3)."""
    states = transitions.shape[1]
    chosen = transitions[:, torch.arange(states), policies]  # [arms, policies, states, states]
    system = torch.eye(states, dtype=chosen.dtype) - DISCOUNT * chosen
    reward = torch.linspace(0, 1, states, dtype=chosen.dtype).expand(len(policies), states)
    now = torch.stack([reward, policies.to(chosen.dtype)], dim=-1)  # [policies, states, 2]
    values = torch.linalg.solve(system, now.expand(len(transitions), -1, -1, -1))
    return values.mean(dim=2).unbind(dim=-1)  # the first state is uniform


def spread(mixture: Tensor, direction: Tensor) -> Tensor:
    """The softmax's derivative along a direction, row by row."""
    return mixture * (direction - (mixture * direction).sum(dim=1, keepdim=True)) / TEMPERATURE


def solve(rewards: Tensor, spend: Tensor, budget: float) -> tuple[Tensor, bool]:
    """The mixture ``softmax((J − λ J̄) / τ)`` that spends the budget, and whether the budget binds (Algorithm 2)."""

    def overspend(price: float) -> tuple[Tensor, float]:
        mixture = torch.softmax((rewards - price * spend) / TEMPERATURE, dim=1)
        return mixture, float((mixture * spend).sum()) - budget

    mixture, excess = overspend(0.0)
    if excess <= 0:
        return mixture, False
    lower, upper, price = 0.0, float("inf"), 0.0
    tolerance = 10 * torch.finfo(rewards.dtype).eps * budget
    for _ in range(100):
        lower, upper = (price, upper) if excess > 0 else (lower, price)
        step = excess / max(float((spend * spread(mixture, spend)).sum()), 1e-30)
        inside = lower < price + step < upper
        price = price + step if inside else (lower + upper) / 2 if upper < float("inf") else 2 * price + 1
        mixture, excess = overspend(price)
        if abs(excess) <= tolerance or upper - lower <= tolerance * price / budget:
            break
    return mixture, True


class EntropyMixture(torch.autograd.Function):
    """The mixture of policies under the budget, with its gradient by the implicit function theorem (Equation 12)."""

    @staticmethod
    def forward(ctx: Any, rewards: Tensor, spend: Tensor, budget: float) -> Tensor:
        """The mixture ``[arms, policies]``."""
        mixture, ctx.binds = solve(rewards, spend, budget)
        ctx.save_for_backward(mixture, spend)
        return mixture

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, None, None]:
        """By the predicted rewards; the true spend and the budget are constants."""
        mixture, spend = ctx.saved_tensors
        gradient = spread(mixture, upstream)
        if ctx.binds:
            along = spread(mixture, spend)
            gradient = gradient - along * ((upstream * along).sum() / (spend * along).sum())
        return gradient, None, None


class Predictor(torch.nn.Module):
    """Logits affine in the features: a matrix for numbers, a row of a table per category, as in ``aw.Linear``."""

    def __init__(self, model: Linear, dtype: Any):
        super().__init__()
        layer = model.layer
        arrays = [torch.tensor(np.asarray(array), dtype=dtype) for array in (layer.weights, layer.table, layer.bias)]
        self.weights, self.table, self.bias = (torch.nn.Parameter(array) for array in arrays)
        self.shape = (-1, model.num_states, model.num_actions, model.num_states)

    def forward(self, numeric: Tensor, rows: Tensor) -> Tensor:
        """Transition probabilities ``[arms, states, actions, states]``."""
        logits = numeric @ self.weights + self.bias
        if rows.shape[-1]:
            logits = logits + torch.nn.functional.embedding_bag(rows, self.table, mode="sum")
        return torch.softmax(logits.reshape(self.shape), dim=-1)


class Training:
    """Everything an epoch needs, made from armwise's cohorts once."""

    def __init__(self, data: Cohorts, dtype: Any):
        states = data.true_transitions.shape[-1]
        self.policies = torch.tensor(list(product((0, 1), repeat=states)))
        true = torch.tensor(np.asarray(data.true_transitions), dtype=dtype)
        self.returns = [policy_returns(cohort, self.policies) for cohort in true]
        self.budgets = [float(budget) / (1 - DISCOUNT) for budget in np.asarray(data.budget)]
        self.numeric = torch.tensor(np.asarray(data.features.numeric), dtype=dtype)
        codes = np.asarray(data.features.codes, np.int64)
        self.rows = torch.tensor(codes + LEVELS * np.arange(codes.shape[-1]))
        self.model = Predictor(first_model(data), dtype)
        self.optimiser = torch.optim.Adam(self.model.parameters(), lr=1e-2)

    def loss(self, cohort: int) -> Tensor:
        """The negative mean return, under the truth, of what the predictions choose (Algorithm 1)."""
        rewards, _ = policy_returns(self.model(self.numeric[cohort], self.rows[cohort]), self.policies)
        true_rewards, true_spend = self.returns[cohort]
        mixture = EntropyMixture.apply(rewards, true_spend, self.budgets[cohort])
        return -(mixture * true_rewards).sum(dim=1).mean()

    def epoch(self) -> float:
        """One gradient step per cohort, in a new order; the mean loss."""
        total = 0.0
        for cohort in torch.randperm(len(self.returns)).tolist():
            self.optimiser.zero_grad()
            loss = self.loss(cohort)
            loss.backward()
            self.optimiser.step()
            total += loss.item()
        return total / len(self.returns)


def check_agreement(data: Cohorts) -> float:
    """The largest relative difference of loss and gradient from armwise's, in float64; no timing stands without it."""
    port, first, worst = Training(data, torch.float64), first_model(data), 0.0
    with jax.enable_x64(True):
        wide = jax.tree.map(lambda leaf: jnp.asarray(leaf, float) if eqx.is_inexact_array(leaf) else leaf, data)
        model = jax.tree.map(lambda leaf: jnp.asarray(leaf, float), first)
        loss, problem = aw.DecDFL(aw.EntropyMixture(TEMPERATURE)), aw.Problem(num_states=model.num_states)
        for cohort in range(2):
            one = wide[cohort]
            prepared = loss.prepare(aw.CohortTruth.of(one, problem))
            value, ours = jax.value_and_grad(lambda model: loss(model(one.features), prepared))(model)  # noqa: B023
            port.optimiser.zero_grad()
            theirs = port.loss(cohort)
            theirs.backward()
            pairs = [(value, theirs.detach())]
            for name in ("weights", "table", "bias"):
                gradient = getattr(port.model, name).grad
                if gradient is not None and gradient.numel():
                    pairs.append((getattr(ours.layer, name), gradient))
            for here, there in pairs:
                difference = np.linalg.norm(np.asarray(here) - there.numpy())
                worst = max(worst, float(difference / np.linalg.norm(np.asarray(here))))
    if not worst < 1e-6:
        raise AssertionError(f"The PyTorch port differs from armwise by {worst:.1e}, relative: nothing was timed.")
    return worst


def epoch_time(data: Cohorts, num_epochs: int = 4) -> tuple[Timing, int, float]:
    """An epoch in float32, the number of threads with which it is fastest, and how far loss and gradient are off."""
    difference = check_agreement(data)
    timings = {}
    for threads in sorted({1, torch.get_num_threads()}):
        torch.set_num_threads(threads)
        training, times = Training(data, torch.float32), []
        for _ in range(num_epochs + 1):
            start = time.perf_counter()
            training.epoch()
            times.append(time.perf_counter() - start)
        timings[threads] = Timing.of(times[1:])
    fastest = min(timings, key=lambda threads: timings[threads].median)
    return timings[fastest], fastest, difference
