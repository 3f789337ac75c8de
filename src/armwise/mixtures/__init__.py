"""Decision layers: budget-constrained mixtures over each arm's policies (the paper's Sections 4.2 and 4.3)."""

from armwise.mixtures.cvxpy_reference import CvxpyMixture
from armwise.mixtures.entropy import EntropyMixture
from armwise.mixtures.linear import LinearMixture
from armwise.mixtures.quadratic import QuadraticMixture
from armwise.mixtures.solution import Mixture, MixtureSolution

__all__ = ["CvxpyMixture", "EntropyMixture", "LinearMixture", "Mixture", "MixtureSolution", "QuadraticMixture"]
