"""armwise decides which people a health programme should reach out to, and learns for the quality of that decision.

The public names, once and flat; where each lives is in ``docs/design.md``.
"""

from armwise.errors import ArmwiseError, ConvergenceError, InvalidInputError
from armwise.evaluation import (
    Quality,
    decomposed_decision_quality,
    joint_decision_quality,
    priority_decision_quality,
)
from armwise.losses import DecDFL, Loss, MeanSquaredError, NegativeLogLikelihood, SimDFL, WeightedSum
from armwise.mixtures import CvxpyMixture, EntropyMixture, LinearMixture, Mixture, MixtureSolution, QuadraticMixture
from armwise.rmab import (
    Problem,
    Trace,
    all_policies,
    default_horizon,
    fixed_policy_returns,
    is_indexable,
    passive_returns,
    policy_returns,
    simulate,
    simulate_policy,
    simulate_trace,
    threshold_policies,
    whittle_indices,
)

__all__ = [
    "ArmwiseError",
    "ConvergenceError",
    "CvxpyMixture",
    "DecDFL",
    "EntropyMixture",
    "InvalidInputError",
    "LinearMixture",
    "Loss",
    "MeanSquaredError",
    "Mixture",
    "MixtureSolution",
    "NegativeLogLikelihood",
    "Problem",
    "QuadraticMixture",
    "Quality",
    "SimDFL",
    "Trace",
    "WeightedSum",
    "all_policies",
    "decomposed_decision_quality",
    "default_horizon",
    "fixed_policy_returns",
    "is_indexable",
    "joint_decision_quality",
    "passive_returns",
    "policy_returns",
    "priority_decision_quality",
    "simulate",
    "simulate_policy",
    "simulate_trace",
    "threshold_policies",
    "whittle_indices",
]
