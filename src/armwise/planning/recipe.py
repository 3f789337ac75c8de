"""What armwise recommends where the caller does not choose: the one place to change it."""

from armwise.losses import DecDFL, Loss, MeanSquaredError
from armwise.mixtures import EntropyMixture
from armwise.training import TrainConfig

# Accuracy decides what the data leave open; the decision loss then spends it where the budget goes.
SHARE_OF_DECISIONS = 0.5
TEMPERATURE = 0.1


def recommended_loss() -> Loss:
    """The loss of ``OutreachPlanner``: half Fast DEC-DFL, half mean squared error."""
    return SHARE_OF_DECISIONS * DecDFL(EntropyMixture(TEMPERATURE)) + (1 - SHARE_OF_DECISIONS) * MeanSquaredError()


def recommended_config() -> TrainConfig:
    """How ``OutreachPlanner`` trains: the best of up to 100 epochs by validation loss."""
    return TrainConfig(num_epochs=100, learning_rate=1e-2, patience=20)
