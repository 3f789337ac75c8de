"""A restless bandit: its problem, policies, exact policy returns, Whittle indices, and simulation."""

from armwise.rmab.choices import LongestFirst, RandomCalls, RoundRobin
from armwise.rmab.index_policies import index_policies
from armwise.rmab.policies import all_policies, threshold_policies
from armwise.rmab.problem import Problem
from armwise.rmab.returns import fixed_policy_returns, passive_returns, policy_returns
from armwise.rmab.rollout import Trace
from armwise.rmab.simulate import default_horizon, simulate, simulate_policy, simulate_trace
from armwise.rmab.whittle import is_indexable, whittle_indices

__all__ = [
    "LongestFirst",
    "Problem",
    "RandomCalls",
    "RoundRobin",
    "Trace",
    "all_policies",
    "default_horizon",
    "fixed_policy_returns",
    "index_policies",
    "is_indexable",
    "passive_returns",
    "policy_returns",
    "simulate",
    "simulate_policy",
    "simulate_trace",
    "threshold_policies",
    "whittle_indices",
]
