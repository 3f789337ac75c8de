"""Estimate what a call adds to the probability of each next state, by least squares on past decisions.

People are resampled to get intervals. With x what was known before a decision, a ∈ {0, 1} the call and b any terms that
the effect may depend on,

    1{next state} = x·β + a · b·θ + error.
"""

import numpy as np
from jaxtyping import Float

from armwise.evaluation.decisions import Decisions, control_columns, one_hot
from armwise.evaluation.resampling import BLOCK, NUM_RESAMPLES, Blocks, Columns, Regression, Resampled

Extra = Float[np.ndarray, "people columns"]


class EffectRegression:
    """Regressions of the next state on calls, for any terms, all on the same decisions and resamples of people.

    Args:
        decisions: of all people.
        extra: further columns of x that describe each person.
        num_resamples: of people.
        seed: of the resamples.
    """

    def __init__(
        self, decisions: Decisions, extra: Extra | None = None, num_resamples: int = NUM_RESAMPLES, seed: int = 0
    ):
        self._decisions = decisions
        self._rows = [slice(start, start + BLOCK) for start in range(0, len(decisions.states), BLOCK)]
        known = [_controls(decisions.of(rows), None if extra is None else extra[rows]) for rows in self._rows]
        followed = one_hot(decisions.next_states, decisions.num_states) * decisions.valid[..., None]
        outcomes = np.concatenate([followed, decisions.called[..., None] * decisions.valid[..., None]], axis=-1)
        self._known = known
        self._regression = Regression(Blocks(known, [outcomes[rows] for rows in self._rows]), num_resamples, seed)

    def surface(self, terms: Columns, main: Columns | None = None) -> Resampled:
        """The effect of a call as coefficients ``[terms, states]``: it is linear in the terms.

        Args:
            terms: of each decision.
            main: terms that may also change behaviour without a call. If they are left out, people who behave
                differently without calls would seem to respond differently to calls.
        """
        fitted, number = self._regression.fit(self._in_blocks(terms, main)), terms.shape[-1]
        return Resampled(fitted.value[-number:, :-1], fitted.draws[:, -number:, :-1])

    def row_weights(
        self, terms: Columns, functional: Float[np.ndarray, "terms states"], main: Columns | None = None
    ) -> Columns:
        """The weight of each decision's next state, ``[people, steps, states]``, in a figure Σ functional · surface.

        Args:
            terms: as in ``surface``.
            functional: the factor of each coefficient in the figure.
            main: as in ``surface``.
        """
        columns = self._in_blocks(terms, main)
        target = np.zeros((columns[0].shape[-1], functional.shape[1] + 1))
        target[-len(functional) :, :-1] = functional
        return np.concatenate([each[..., :-1] for each in self._regression.row_weights(columns, target)])

    def error_without_effect(self, weights: Columns) -> float:
        """The standard error of a figure if calls changed nothing.

        In that case the next state of each person has the same distribution with or without a call, and the variances
        of the decisions' weights add up.

        Args:
            weights: of the figure, from ``row_weights``, or a difference of two such weights.
        """
        coefficients = self._regression.shared_coefficients()[:, :-1]
        variance = 0.0
        for rows, columns in zip(self._rows, self._known, strict=True):
            chances = np.clip(columns @ coefficients, 1e-9, 1.0)
            chances *= self._decisions.valid[rows, :, None] / chances.sum(axis=-1, keepdims=True)
            mean = np.sum(chances * weights[rows], axis=-1)
            variance += float(np.sum(chances * weights[rows] ** 2) - np.sum(mean**2))
        return float(np.sqrt(max(0.0, variance)))

    def _in_blocks(self, terms: Columns, main: Columns | None) -> list[Columns]:
        """The columns of the main terms, if any, and the terms times the call, by block of people."""
        valid = self._decisions.valid[..., None]
        used = terms * self._decisions.called[..., None] * valid
        columns = used if main is None else np.concatenate([main * valid, used], axis=-1)
        return [columns[rows] for rows in self._rows]

    def comparable_calls_in(self, terms: Columns, main: Columns | None = None) -> Float[np.ndarray, " terms"]:
        """The number of comparable calls behind each coefficient of ``surface``.

        A call is comparable if similar people were not called. If all similar people were called, it counts 0.

        Args:
            terms: as in ``surface``.
            main: as in ``surface``.
        """
        return self._regression.information(self._in_blocks(terms, main))[-terms.shape[-1] :]

    def comparable_calls(self) -> float:
        """The number of calls, each weighted by the estimated probability that a similar person was not called."""
        coefficients = self._regression.shared_coefficients()[:, -1]
        propensity = np.concatenate([columns @ coefficients for columns in self._known])
        return float(np.sum((1 - np.clip(propensity, 0, 1)) * self._decisions.called * self._decisions.valid))


def _controls(decisions: Decisions, extra: Extra | None) -> Columns:
    columns = control_columns(decisions)
    if extra is None:
        return columns
    return np.concatenate([columns, extra[:, None] * decisions.valid[..., None]], axis=-1)
