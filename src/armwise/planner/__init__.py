"""From tables to a call list, and how good such lists were in past weeks."""

from armwise.planner.backtest import Backtest, WayJudged, run_backtest
from armwise.planner.bound import bound_of_100_calls
from armwise.planner.call_gains import CallGains, estimate_call_gains
from armwise.planner.past import Fit, Predict, Predictions
from armwise.planner.promise import promise_gain

__all__ = [
    "Backtest",
    "CallGains",
    "Fit",
    "Predict",
    "Predictions",
    "WayJudged",
    "bound_of_100_calls",
    "estimate_call_gains",
    "promise_gain",
    "run_backtest",
]
