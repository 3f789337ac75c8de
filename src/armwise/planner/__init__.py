"""From tables to a call list, and how good such lists were in past weeks."""

from armwise.planner.backtest import Backtest, WayJudged, run_backtest
from armwise.planner.backtest_bound import bound_of_100_calls
from armwise.planner.call_gains import CallGains, estimate_call_gains, promise_gain
from armwise.planner.explanation import Explanation
from armwise.planner.judging import Evaluation, PolicyQuality
from armwise.planner.outreach_planner import OutreachPlanner
from armwise.planner.past_lists import Fit, Predict, Predictions
from armwise.planner.plan import Plan, PlanSummary
from armwise.planner.rules import CallRules

__all__ = [
    "Backtest",
    "CallGains",
    "CallRules",
    "Evaluation",
    "Explanation",
    "Fit",
    "OutreachPlanner",
    "Plan",
    "PlanSummary",
    "PolicyQuality",
    "Predict",
    "Predictions",
    "WayJudged",
    "bound_of_100_calls",
    "estimate_call_gains",
    "promise_gain",
    "run_backtest",
]
