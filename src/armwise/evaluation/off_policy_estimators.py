"""Three estimates of a policy's value from sums over each person's decisions, for many resamples at once.

An estimate needs only sums over each person's decisions. So a resample of people is a vector of counts, and the whole
estimation, including the outcome model, is a few matrix products.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int, Num

from armwise.evaluation.off_policy_input import LoggedDecisions

ESTIMATES = ("inverse_probability", "self_normalised", "doubly_robust")

NUM_FOLDS = 5
# Each coefficient except the constant is shrunk as if this many decisions had shown 0. With 1 and rare calls, the error
# of the doubly robust estimate was the same, but its intervals were a few per cent wider than this error requires.
RIDGE = 20.0


class PolicySums(NamedTuple):
    """Sums over each person's decisions that belong to one policy.

    Attributes:
        weights: of w.
        weighted_outcomes: of w r.
        correction: of Σ_b π(b) x(b) − w x(a), which multiplies the outcome model's coefficients.
    """

    weights: Float[np.ndarray, " people"]
    weighted_outcomes: Float[np.ndarray, " people"]
    correction: Float[np.ndarray, "people columns"]


class PersonSums(NamedTuple):
    """All sums that the estimates need, by person.

    Attributes:
        policy: sums for the policy.
        reference: sums for the reference policy.
        decisions: the number of decisions.
        gram: sums of x xᵀ, with x the outcome model's columns for the action taken.
        moments: sums of x r.
        folds: the fold of each person.
    """

    policy: PolicySums
    reference: PolicySums
    decisions: Float[np.ndarray, " people"]
    gram: Float[np.ndarray, "people columns columns"]
    moments: Float[np.ndarray, "people columns"]
    folds: Int[np.ndarray, " people"]


class Estimates(NamedTuple):
    """Six numbers for each resample (value and difference of each estimator), and their standard errors."""

    values: Float[np.ndarray, "resamples 6"]
    standard_errors: Float[np.ndarray, "resamples 6"]


def person_sums(decisions: LoggedDecisions, rng: np.random.Generator) -> PersonSums:
    """The sums of all people who have a decision."""
    logged = _columns(decisions, decisions.actions)
    rows = np.asarray(decisions.used.any(axis=1))
    gram = np.einsum("ntj,ntk->njk", logged, logged)
    moments = np.einsum("ntj,nt->nj", logged, decisions.outcomes)
    sums = [_policy_sums(decisions, policy, logged, rows) for policy in (decisions.policy, decisions.reference)]
    num_people = int(rows.sum())
    folds = rng.permutation(num_people) % min(NUM_FOLDS, num_people)
    return PersonSums(sums[0], sums[1], decisions.used.sum(axis=1)[rows] * 1.0, gram[rows], moments[rows], folds)


def estimate(sums: PersonSums, counts: Float[np.ndarray, "resamples people"]) -> Estimates:
    """The six estimates for each vector of counts, with standard errors from the spread between people."""
    coefficients = _outcome_models(sums, counts)
    both = [_normalised(part, sums, counts, coefficients) for part in (sums.policy, sums.reference)]
    columns = []
    for policy, reference in zip(*both, strict=True):
        columns += [policy, (policy[0] - reference[0], policy[1] - reference[1])]
    num_people = counts.shape[1]
    scale = num_people / (num_people - 1)
    errors = [np.sqrt(scale * np.einsum("bn,bn,bn->b", counts, spread, spread)) for _, spread in columns]
    return Estimates(np.stack([value for value, _ in columns], axis=1), np.stack(errors, axis=1))


def _columns(decisions: LoggedDecisions, actions: Num[np.ndarray, "people steps"]) -> np.ndarray:
    """The outcome model's columns: 1, the state, the state if called, average reward so far; 0 where not used.

    ``actions`` may be probabilities: the columns are linear in them, so these are the expected columns.
    """
    state = np.eye(decisions.num_states)[decisions.states]
    one = np.ones_like(decisions.past)[..., None]
    columns = np.concatenate([one, state, state * actions[..., None], decisions.past[..., None]], axis=-1)
    return columns * decisions.used[..., None]


def _policy_sums(decisions: LoggedDecisions, policy: np.ndarray, logged: np.ndarray, rows: np.ndarray) -> PolicySums:
    weights = decisions.weights(policy)
    correction = (_columns(decisions, policy) - weights[..., None] * logged).sum(axis=1)
    return PolicySums(weights.sum(axis=1)[rows], (weights * decisions.outcomes).sum(axis=1)[rows], correction[rows])


def _outcome_models(sums: PersonSums, counts: np.ndarray) -> Float[np.ndarray, "folds resamples columns"]:
    """For each fold, the coefficients learned from the people of all other folds, in each resample."""
    size = sums.moments.shape[1]
    flat = np.concatenate([sums.gram.reshape(len(sums.gram), -1), sums.moments], axis=1)
    parts = [counts[:, sums.folds == fold] @ flat[sums.folds == fold] for fold in range(sums.folds.max() + 1)]
    total = np.sum(parts, axis=0)
    penalty = RIDGE * np.eye(size)
    penalty[0, 0] = 1e-9  # the constant is free; this only keeps the system solvable if no other people are left
    solved = []
    for part in parts:
        others = total - part
        gram = others[:, : size * size].reshape(-1, size, size) + penalty
        solved.append(np.linalg.solve(gram, others[:, size * size :, None])[..., 0])
    return np.stack(solved)


def _normalised(
    part: PolicySums, sums: PersonSums, counts: np.ndarray, coefficients: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Each estimator's value, and each person's contribution to its error (the influence function)."""
    robust = np.broadcast_to(part.weighted_outcomes, counts.shape).copy()
    for fold, coefficient in enumerate(coefficients):
        rows = sums.folds == fold
        robust[:, rows] += coefficient @ part.correction[rows].T
    plain = part.weighted_outcomes[None]
    ratios = ((plain, sums.decisions[None]), (plain, part.weights[None]), (robust, sums.decisions[None]))
    return [_ratio(numerator, denominator, counts) for numerator, denominator in ratios]


def _ratio(numerator: np.ndarray, denominator: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    below = (counts * denominator).sum(axis=1)
    # A resample in which the policy agrees with no logged action has no self-normalised value: NaN, handled later.
    below = np.where(below > 0, below, np.nan)
    value = (counts * numerator).sum(axis=1) / below
    return value, (numerator - value[:, None] * denominator) / below[:, None]
