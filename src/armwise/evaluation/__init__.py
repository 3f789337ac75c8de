"""How good the decisions are that predictions lead to."""

from armwise.evaluation.quality import (
    Quality,
    decomposed_decision_quality,
    joint_decision_quality,
    priority_decision_quality,
)

__all__ = ["Quality", "decomposed_decision_quality", "joint_decision_quality", "priority_decision_quality"]
