"""The one training loop, its settings, and what it reads."""

from maskdiff.training.loop import Keeper, seeded, train
from maskdiff.training.settings import Epochs, HeldOutLoss, Steps, StopRule, Training

__all__ = ["Epochs", "HeldOutLoss", "Keeper", "Steps", "StopRule", "Training", "seeded", "train"]
