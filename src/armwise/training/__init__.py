"""Training: one run as a pure function, hundreds of runs by the same function under ``vmap``, and saved models."""

from armwise.training.config import TrainConfig
from armwise.training.many import TrainedRuns, run_key, train_many
from armwise.training.recipe import RECOMMENDED_CONFIG, Recommended, recommended_loss, train_recommended
from armwise.training.run import History
from armwise.training.saving import SavedModel, load_model, save_model
from armwise.training.single import Trained, train

__all__ = [
    "RECOMMENDED_CONFIG",
    "History",
    "Recommended",
    "SavedModel",
    "TrainConfig",
    "Trained",
    "TrainedRuns",
    "load_model",
    "recommended_loss",
    "run_key",
    "save_model",
    "train",
    "train_many",
    "train_recommended",
]
