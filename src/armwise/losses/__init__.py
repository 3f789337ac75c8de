"""Losses that train a predictor of transitions: those of the paper's Table 1, and one more."""

from armwise.losses.accuracy import MeanSquaredError, NegativeLogLikelihood
from armwise.losses.dec_dfl import DecDFL
from armwise.losses.loss import EpochObjective, Loss, WeightedSum
from armwise.losses.price_dfl import PriceDFL
from armwise.losses.sim_dfl import SimDFL
from armwise.losses.stages import Annealed, WarmStart
from armwise.losses.truth import CohortTruth

__all__ = [
    "Annealed",
    "CohortTruth",
    "DecDFL",
    "EpochObjective",
    "Loss",
    "MeanSquaredError",
    "NegativeLogLikelihood",
    "PriceDFL",
    "SimDFL",
    "WarmStart",
    "WeightedSum",
]
