"""Domains: cohorts with the problem they pose, simulated or read from public data."""

from armwise.data.domains.ctn0094 import ctn0094
from armwise.data.domains.domain import Domain
from armwise.data.domains.heartsteps import heartsteps
from armwise.data.domains.mmitra_like import mmitra_like
from armwise.data.domains.oulad import oulad
from armwise.data.domains.programme import Programme, simulated_programme
from armwise.data.domains.synthetic import synthetic

__all__ = [
    "Domain",
    "Programme",
    "ctn0094",
    "heartsteps",
    "mmitra_like",
    "oulad",
    "simulated_programme",
    "synthetic",
]
