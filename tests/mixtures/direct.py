"""The oracle: Equation 9 solved with NumPy and SciPy alone, in extended precision, one row at a time in spirit.

It shares no code and no method with armwise: the row solutions are written from the definitions (with a sort for the
projection), the price comes from SciPy's Brent search and is polished by secant steps in 80-bit arithmetic, so that
finite differences of it keep more than six digits at every temperature.
"""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.optimize import brentq

Kind = Literal["entropy", "l2"]


class Instance(NamedTuple):
    rewards: np.ndarray
    spend: np.ndarray
    budget: np.ndarray
    temperature: np.ndarray


def shares(kind: Kind, instance: Instance, price: Any) -> Any:
    """The row solutions at a price."""
    net = (instance.rewards - price * instance.spend) / instance.temperature
    net = net - net.max(axis=1, keepdims=True)
    if kind == "entropy":
        weights = np.exp(net)
        return weights / weights.sum(axis=1, keepdims=True)
    ranked = -np.sort(-net, axis=1)
    thresholds = (np.cumsum(ranked, axis=1) - 1) / np.arange(1, net.shape[1] + 1)
    size = (ranked > thresholds).sum(axis=1)
    return np.maximum(net - thresholds[np.arange(len(net)), size - 1][:, None], 0)


def solve(kind: Kind, instance: Instance) -> tuple[np.ndarray, Any]:
    """The mixture and the price."""
    exact = Instance(*(np.asarray(value, np.longdouble) for value in instance))

    def excess(price: Any) -> Any:
        return (shares(kind, exact, np.longdouble(price)) * exact.spend).sum() - exact.budget

    if excess(0.0) <= 0:
        return shares(kind, exact, np.longdouble(0)), np.longdouble(0)
    upper = 1.0
    while excess(upper) > 0:
        upper *= 2
    near = brentq(lambda price: float(excess(price)), 0.0, upper, xtol=1e-300, rtol=4 * np.finfo(float).eps)
    price = _polish(excess, np.longdouble(near))
    return shares(kind, exact, price), price


def _polish(excess: Callable[[Any], Any], price: Any) -> Any:
    left, right = price * (1 - np.longdouble(1e-14)), price * (1 + np.longdouble(1e-14))
    above, below = excess(left), excess(right)
    for _ in range(4):
        if above == below:
            break
        left, right = right, right + below * (right - left) / (above - below)
        above, below = below, excess(right)
        if below == 0:
            break
    return right


def random_instance(
    rng: np.random.Generator, shape: tuple[int, int], temperature: float, budget_share: float, scale: float
) -> Instance:
    """Returns up to `scale`; rewards that partly follow the spend; a budget between the least and the most spend."""
    spend = rng.uniform(0, scale, shape)
    spend[:, rng.integers(shape[1])] = 0 if rng.random() < 0.7 else rng.uniform(0, scale)
    rewards = rng.uniform(0, scale, (shape[0], 1)) + spend * rng.uniform(0, 1, (shape[0], 1))
    rewards += 0.1 * scale * rng.uniform(0, 1, shape)
    least, most = spend.min(axis=1).sum(), spend.max(axis=1).sum()
    return Instance(rewards, spend, least + budget_share * (most - least), np.asarray(temperature))


def rounded(instance: Instance, dtype: type) -> Instance:
    """The instance as it is after a round trip through `dtype`, in float64."""
    return Instance(*(np.asarray(np.asarray(value, dtype), np.float64) for value in instance))


TEMPERATURES = (1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0)
BUDGET_SHARES = (1e-6, 1e-3, 0.03, 0.3, 0.8, 10.0)
SCALES = (1.0, 10.0, 1000.0)


def instances(rng: np.random.Generator, shape: tuple[int, int], dtype: type) -> list[Instance]:
    """One instance for every temperature, budget and scale."""
    return [
        rounded(random_instance(rng, shape, temperature, budget_share, scale), dtype)
        for temperature in TEMPERATURES
        for budget_share in BUDGET_SHARES
        for scale in SCALES
    ]
