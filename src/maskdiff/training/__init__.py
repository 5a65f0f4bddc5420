"""The one training loop, its settings, and what it reads."""

from maskdiff.training.checkpoint import CheckpointStore
from maskdiff.training.groups import WorkerGroup
from maskdiff.training.loop import seeded, train
from maskdiff.training.settings import Epochs, HeldOutLoss, Steps, StopPart, StopRule, Training
from maskdiff.training.trainers import Trainer, train_network, trained_by

__all__ = [
    "CheckpointStore",
    "Epochs",
    "HeldOutLoss",
    "Steps",
    "StopPart",
    "StopRule",
    "Trainer",
    "Training",
    "WorkerGroup",
    "seeded",
    "train",
    "train_network",
    "trained_by",
]
