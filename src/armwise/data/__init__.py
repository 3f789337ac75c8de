"""Data for training, made from a programme's records: trajectories, transitions, features, cohorts, domains.

The modules that read tables are imported when first used, because only they need Polars.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from armwise.data.cohorts import Cohorts, Partition, SplitNumbers, Splits, partition, split, split_numbers
from armwise.data.counts import estimate_transitions, transition_counts
from armwise.data.domains.domain import Domain
from armwise.data.domains.mmitra_like import mmitra_like
from armwise.data.domains.programme import Programme, simulated_programme
from armwise.data.domains.synthetic import synthetic
from armwise.data.features import Features, one_hot
from armwise.data.trajectories import Trajectories, discretise, first_state_shares

if TYPE_CHECKING:
    from armwise.data.domains.ctn0094 import ctn0094
    from armwise.data.domains.heartsteps import heartsteps
    from armwise.data.domains.oulad import oulad
    from armwise.data.encoding import Encoded, Encoder

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

_READS_TABLES = {
    "Encoded": "encoding",
    "Encoder": "encoding",
    "ctn0094": "domains.ctn0094",
    "heartsteps": "domains.heartsteps",
    "oulad": "domains.oulad",
}


def __getattr__(name: str) -> Any:
    if name not in _READS_TABLES:
        raise AttributeError(f"module 'armwise.data' has no attribute {name!r}")
    module = import_module(f"armwise.data.{_READS_TABLES[name]}")
    return globals().setdefault(name, getattr(module, name))
