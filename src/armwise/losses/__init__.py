"""The losses of the paper's Table 1: what a prediction of transitions is trained for."""

from armwise.losses.accuracy import MeanSquaredError, NegativeLogLikelihood
from armwise.losses.dec_dfl import DecDFL
from armwise.losses.loss import Loss, WeightedSum
from armwise.losses.sim_dfl import SimDFL

__all__ = ["DecDFL", "Loss", "MeanSquaredError", "NegativeLogLikelihood", "SimDFL", "WeightedSum"]
