"""From what a programme recorded to what can be learned from: trajectories, transitions, features, cohorts, domains."""

from armwise.data.cohorts import Cohorts, Partition, SplitNumbers, Splits, partition, split, split_numbers
from armwise.data.counts import estimate_transitions, transition_counts
from armwise.data.domains import (
    Domain,
    Programme,
    ctn0094,
    heartsteps,
    mmitra_like,
    oulad,
    simulated_programme,
    synthetic,
)
from armwise.data.encoding import Encoded, Encoder
from armwise.data.features import Features, one_hot
from armwise.data.trajectories import Trajectories, discretise, first_state_shares

__all__ = [
    "Cohorts",
    "Domain",
    "Encoded",
    "Encoder",
    "Features",
    "Partition",
    "Programme",
    "SplitNumbers",
    "Splits",
    "Trajectories",
    "ctn0094",
    "discretise",
    "estimate_transitions",
    "first_state_shares",
    "heartsteps",
    "mmitra_like",
    "one_hot",
    "oulad",
    "partition",
    "simulated_programme",
    "split",
    "split_numbers",
    "synthetic",
    "transition_counts",
]
