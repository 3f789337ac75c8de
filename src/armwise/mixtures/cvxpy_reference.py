"""The paper's DEC-DFL reference: the same problem solved by a general solver through cvxpylayers.

Use it for comparison, not for training. It is slow, and at low temperature its entropy gradients are sometimes wrong
(``docs/cvxpylayers-gradient.md``).
"""

from functools import lru_cache
from importlib import import_module
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp

from armwise.errors import ArmwiseError, ConvergenceError, InvalidInputError
from armwise.mixtures.arguments import check_temperature, read_inputs, read_price
from armwise.mixtures.solution import Mixture, MixtureSolution, Values


class MissingReferenceError(ArmwiseError, ImportError):
    """The optional packages behind `CvxpyMixture` are not installed."""


class CvxpyMixture(Mixture):
    """Equation 9 solved by cvxpylayers; works only outside `jit` and needs the extra `reference`.

    The regularisers are those of `EntropyMixture` and `QuadraticMixture`: temperature · H(Z), and
    −temperature / 2 · ‖Z‖². cvxpylayers differentiates with diffcp. There is no gradient for the temperature.

    Attributes:
        regulariser: "entropy" or "l2".
        temperature: weight of the regulariser, above 0.
        solver: "Clarabel" (accurate) or "SCS" (cvxpylayers' older default).
        tolerance: the tolerance that the solver must reach.
        derivative: how diffcp solves for the gradient: "lsqr", its default, is accurate to about 1e-3; "dense" uses a
            factorisation and is accurate to 1e-6 or better with SCS, in time cubic in the problem's size.
    """

    regulariser: str = eqx.field(static=True)
    temperature: float = eqx.field(static=True, converter=float)
    solver: Literal["Clarabel", "SCS"] = eqx.field(static=True, default="Clarabel")
    tolerance: float = eqx.field(static=True, default=1e-9)
    derivative: Literal["lsqr", "dense"] = eqx.field(static=True, default="lsqr")

    def __check_init__(self) -> None:
        check_temperature(self.temperature)
        if self.regulariser not in ("entropy", "l2"):
            raise InvalidInputError(f"regulariser is {self.regulariser!r}; it must be 'entropy' or 'l2'.")

    def __call__(
        self,
        reward_returns: Values,
        budget_returns: Values,
        discounted_budget: Values,
        *,
        initial_price: Values | None = None,
    ) -> MixtureSolution:
        """See `Mixture`; `initial_price` is checked and otherwise ignored, `num_steps` is −1 (unknown)."""
        inputs = read_inputs(reward_returns, budget_returns, discounted_budget)
        reward_returns, budget_returns, budget = inputs
        read_price(0.0 if initial_price is None else initial_price, reward_returns.dtype)
        layer = _layer(self.regulariser, self.temperature, reward_returns.shape)
        options = _solver_options(self.solver, self.tolerance)
        if any(isinstance(value, jax.core.Tracer) for value in inputs):
            options["mode"] = self.derivative  # diffcp accepts the option only when it takes a derivative
        mixture, price = _run(layer, inputs, options)
        used = jax.lax.stop_gradient(jnp.sum(mixture * budget_returns))
        return MixtureSolution(
            mixture=mixture.astype(reward_returns.dtype),
            budget_price=price.astype(reward_returns.dtype).reshape(()),
            converged=jnp.ones((), bool),
            num_steps=jnp.full((), -1, jnp.int32),
            budget_used=used.astype(reward_returns.dtype),
            gap=jax.lax.stop_gradient(jnp.abs(price.reshape(()) * (budget - used))).astype(reward_returns.dtype),
        )


def _run(layer: Any, inputs: Any, options: dict[str, Any]) -> Any:
    import diffcp  # optional, but installed here because the layer exists

    try:
        return layer(*inputs, solver_args=options)
    except diffcp.SolverError as error:
        raise ConvergenceError(
            f"{options['solve_method']} found no solution ({error}). Check that the budget covers the cheapest "
            "policies, or raise the temperature."
        ) from error


def _solver_options(solver: str, tolerance: float) -> dict[str, Any]:
    if solver == "SCS":
        return {"solve_method": "SCS", "eps": tolerance, "max_iters": 100_000}
    names = ("tol_gap_abs", "tol_gap_rel", "tol_feas")
    return {"solve_method": "Clarabel"} | dict.fromkeys(names, tolerance)


@lru_cache(maxsize=64)
def _layer(regulariser: str, temperature: float, shape: tuple[int, int]) -> Any:
    """The cvxpylayers layer for one shape; compiling it takes longer than solving it."""
    try:
        cvxpy: Any = import_module("cvxpy")
        make_layer: Any = import_module("cvxpylayers.jax").CvxpyLayer
    except ImportError as error:
        raise MissingReferenceError(
            f"CvxpyMixture needs {error.name}: pip install 'armwise[reference]'. EntropyMixture and QuadraticMixture "
            "solve the same problems without it."
        ) from error
    mixture = cvxpy.Variable(shape)
    reward_returns, budget_returns, budget = cvxpy.Parameter(shape), cvxpy.Parameter(shape), cvxpy.Parameter()
    penalty = -cvxpy.sum(cvxpy.entr(mixture)) if regulariser == "entropy" else cvxpy.sum_squares(mixture) / 2
    value = cvxpy.sum(cvxpy.multiply(reward_returns, mixture)) - temperature * penalty
    within_budget = cvxpy.sum(cvxpy.multiply(budget_returns, mixture)) <= budget
    constraints = [cvxpy.sum(mixture, axis=1) == 1, mixture >= 0, within_budget]
    problem = cvxpy.Problem(cvxpy.Maximize(value), constraints)
    return make_layer(problem, [reward_returns, budget_returns, budget], [mixture, within_budget.dual_variables[0]])
