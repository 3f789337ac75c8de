"""Measure how good decisions are: those from predictions, compared with rules of thumb and with an upper bound."""

from armwise.evaluation.bound import fluid_bound
from armwise.evaluation.effects import CallEffect, CallEffects, call_effects
from armwise.evaluation.model_quality import ModelQuality, evaluate
from armwise.evaluation.off_policy import OffPolicyValue, off_policy_value
from armwise.evaluation.quality import (
    Quality,
    decomposed_decision_quality,
    joint_decision_quality,
    priority_decision_quality,
)
from armwise.evaluation.resampling import Estimate
from armwise.evaluation.simple_rules import rules_of_thumb

__all__ = [
    "CallEffect",
    "CallEffects",
    "Estimate",
    "ModelQuality",
    "OffPolicyValue",
    "Quality",
    "call_effects",
    "decomposed_decision_quality",
    "evaluate",
    "fluid_bound",
    "joint_decision_quality",
    "off_policy_value",
    "priority_decision_quality",
    "rules_of_thumb",
]
