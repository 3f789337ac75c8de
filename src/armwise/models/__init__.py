"""Models that predict the transition probabilities of each person's chain from her features and history.

``networks``: models that use features only, trained with a loss (the paper's M_θ). ``chains``: a model of each person's
own chain, learned from everyone's weeks and from her own.
"""

from armwise.models.networks import Ensemble, FeatureLayer, Linear, MultiLayerPerceptron, average_models, look_up

__all__ = ["Ensemble", "FeatureLayer", "Linear", "MultiLayerPerceptron", "average_models", "look_up"]
