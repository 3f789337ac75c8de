"""Estimate what another way of choosing would have achieved, from calls that were made at random.

The estimates do not rely on a model of what calls do. A logged decision counts for a policy only as far as the log did,
by chance, what the policy would have done. The outcome model of the doubly robust estimate only reduces the noise.
"""

from dataclasses import dataclass
from typing import Any

from armwise._validation import check_count, generator
from armwise.evaluation.off_policy_estimators import ESTIMATES, person_sums
from armwise.evaluation.off_policy_input import LoggedDecisions, read_decisions
from armwise.evaluation.off_policy_intervals import studentised_intervals
from armwise.evaluation.resampling import Estimate, check_level


@dataclass(frozen=True)
class PolicyEstimate:
    """The estimates of one estimator.

    Attributes:
        value: the average outcome of a decision if the policy had made all decisions.
        difference: the value of the policy minus that of the reference.

    The ends of an interval are infinite if too few people determine the estimate.
    """

    value: Estimate
    difference: Estimate


@dataclass(frozen=True)
class OffPolicyValue:
    """The value of a policy by three estimators; ``str`` shows a small table.

    Attributes:
        inverse_probability: Horvitz and Thompson's; unbiased, but the noisiest.
        self_normalised: Hájek's; almost unbiased. A constant added to all outcomes shifts it by that constant.
        doubly_robust: with an outcome model learned from other people; unbiased, usually the narrowest interval.
        confidence: of the intervals.
        num_people: the people used in the estimate; the intervals resample them.
        num_decisions: their decisions with an observed outcome.
        num_calls: the logged calls among these decisions.
        num_matching_calls: how many of these calls the policy would have made; probabilities count in part.
        effective_sample_size: (Σ w)² / Σ w²: this many equally weighted decisions would be as informative (Kish 1965).
        call_share: the share of decisions in which the policy calls.
        reference_call_share: the share of decisions in which the reference calls.
    """

    inverse_probability: PolicyEstimate
    self_normalised: PolicyEstimate
    doubly_robust: PolicyEstimate
    confidence: float
    num_people: int
    num_decisions: int
    num_calls: int
    num_matching_calls: float
    effective_sample_size: float
    call_share: float
    reference_call_share: float

    def __str__(self) -> str:
        rows = [("estimator", "value", "difference")]
        for name in ESTIMATES:
            answer: PolicyEstimate = getattr(self, name)
            rows.append((name.replace("_", " "), str(answer.value), str(answer.difference)))
        lines = [f"{name:<20}  {value:<26}  {difference}".rstrip() for name, value, difference in rows]
        return "\n".join([*lines, self._footnote()])

    def _footnote(self) -> str:
        return (
            f"{self.confidence:.0%} intervals; {self.num_people:,} people, {self.num_decisions:,} decisions "
            f"(effective: {self.effective_sample_size:,.0f})\n"
            f"calls by the policy {self.call_share:.1%}, by the reference {self.reference_call_share:.1%}; "
            f"of {self.num_calls:,} logged calls the policy agrees with {self.num_matching_calls:,.0f}"
        )


def off_policy_value(
    history: Any,
    policy: Any,
    *,
    propensities: Any = None,
    reference: Any = None,
    rewards: Any = None,
    outcomes: Any = None,
    ids: Any = None,
    confidence: Any = 0.95,
    num_resamples: Any = 1000,
    seed: Any = 0,
) -> OffPolicyValue:
    r"""The value of a policy from a history in which calls were made at random, each with a known probability.

    A decision is a person and a step whose state and outcome are known. The outcome is the reward of the next step's
    state, or the one given in ``outcomes``. With $a$ the logged action, $p$ its propensity, $π(a)$ the policy's
    probability of the same action, $w = π(a)/p$, $r$ the outcome, and sums over all N decisions, the three estimators
    of the average outcome are

        inverse probability   Σ w r / N                                      (Horvitz and Thompson 1952)
        self-normalised       Σ w r / Σ w                                    (Hájek 1971)
        doubly robust         Σ [ Σ_b π(b) q(x, b) + w (r − q(x, a)) ] / N   (Robins et al. 1994; Dudík et al. 2011)

    where $q$ is the outcome that a small ridge regression expects from the state, the call in each state, and the
    average reward in the person's earlier steps. It is learned from other people (five folds), so a wrong $q$ makes the
    interval wider but does not bias the estimate.

    The value is that of *one* decision at a time: people are in the states that the logged calls brought them to, and
    the policy decides what happens in the next step. It does not add up what a policy would change over many weeks.
    Steps whose outcome was not observed are left out. This is right if a call does not change whether the outcome is
    observed.

    Intervals resample people, with all their decisions, and repeat the whole estimation, including weights and outcome
    model. So calls must have been drawn person by person, not for a whole village at once. They are symmetric
    bootstrap-t intervals (Hall 1988): each resample's error is divided by its own standard error, which keeps the
    coverage right with few people and skewed weights; ``docs/off-policy.md`` measures it. The policy is taken as given:
    if it was learned, learn it from other people than those used here.

    Args:
        history: ``Trajectories``; or a long table (a mapping, or a data frame) with the columns id, step, state,
            action, one row for each person and step observed.
        policy: the probability with which the policy calls each person at each step, ``[people, steps]``; one number
            for everyone (0: never, 1: always); or, with a table, the name of a column.
        propensities: the probability of the action that was *logged*, call or no call, in (0, 1]:
            ``[people, steps]``, or the name of a column. One number is the probability of a *call*, the same for
            everyone at every step: 0.05 gives each call 0.05 and each step without one 0.95.
        reference: the policy to compare with, in the same form as ``policy``. By default a random choice at the same
            budget: at each step, everyone is called with the policy's average probability at that step.
        rewards: of each state, ``[states]``; by default as in ``Problem``, from 0 for the first to 1 for the last.
        outcomes: of each decision, ``[people, steps]``, NaN where not observed, or the name of a column; instead of the
            next step's reward.
        ids: with ``Trajectories``, the person of each row; with a table, the order of people in the arrays (by default
            sorted). No person may appear twice: the intervals would count one person as two.
        confidence: of the intervals.
        num_resamples: of the people.
        seed: of the resampling and the folds; a whole number or a JAX key.

    Raises:
        InvalidInputError: if an argument is invalid, or if the propensities do not fit the calls that were made.

    Example:
        Half of all people are called at random. A call helps only people who are not engaged.

        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> states, actions = rng.integers(0, 2, (400, 1)), rng.integers(0, 2, (400, 1))
        >>> engaged = rng.random((400, 1)) < 0.4 + 0.3 * actions * (states == 0)
        >>> import armwise as aw
        >>> history = aw.Trajectories.from_arrays(np.hstack([states, engaged]), np.hstack([actions, 0 * actions]))
        >>> disengaged_first = np.where(np.asarray(history.states) == 0, 0.5, 0.0)
        >>> value = aw.off_policy_value(history, disengaged_first, propensities=0.5)
        >>> print(value)
        estimator             value                       difference
        inverse probability   0.435 (0.368 to 0.502)      0.031 (-0.004 to 0.065)
        self normalised       0.441 (0.376 to 0.505)      0.029 (0.005 to 0.054)
        doubly robust         0.439 (0.376 to 0.502)      0.028 (0.004 to 0.053)
        95% intervals; 400 people, 400 decisions (effective: 255)
        calls by the policy 22.4%, by the reference 22.4%; of 206 logged calls the policy agrees with 46
        >>> value.doubly_robust.difference.low > 0
        True

    References:
        Horvitz and Thompson (1952), *JASA* 47; Hájek (1971), in *Foundations of Statistical Inference*; Robins,
        Rotnitzky and Zhao (1994), *JASA* 89; Dudík, Langford and Li (2011), *ICML*; Hall (1988), "On symmetric
        bootstrap confidence intervals", *JRSS B* 50; Kish (1965), *Survey Sampling*.
    """
    decisions = read_decisions(history, policy, propensities, reference, rewards, outcomes, ids)
    level = check_level("confidence", confidence)
    resamples = check_count("num_resamples", num_resamples, minimum=100)
    rng = generator(seed)
    estimates = studentised_intervals(rng, person_sums(decisions, rng), level, resamples)
    inverse, normalised, robust = (
        PolicyEstimate(*(Estimate(*map(float, column)) for column in estimates[:, pair].T))
        for pair in ([0, 1], [2, 3], [4, 5])
    )
    return OffPolicyValue(inverse, normalised, robust, level, **_counts(decisions))


def _counts(decisions: LoggedDecisions) -> dict[str, Any]:
    used = decisions.used
    weights = decisions.weights(decisions.policy)[used]
    calls = decisions.actions[used] == 1
    return {
        "num_people": int(used.any(axis=1).sum()),
        "num_decisions": int(used.sum()),
        "num_calls": int(calls.sum()),
        "num_matching_calls": float(decisions.policy[used][calls].sum()),
        "effective_sample_size": float(weights.sum() ** 2 / (weights**2).sum()),
        "call_share": float(decisions.policy[used].mean()),
        "reference_call_share": float(decisions.reference[used].mean()),
    }
