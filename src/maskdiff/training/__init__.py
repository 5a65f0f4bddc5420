"""The one training loop, its settings, and what it reads."""

from maskdiff.training.checkpoint import CheckpointStore
from maskdiff.training.loop import seeded, train
from maskdiff.training.settings import Epochs, HeldOutLoss, Steps, StopPart, StopRule, Training

__all__ = ["CheckpointStore", "Epochs", "HeldOutLoss", "Steps", "StopPart", "StopRule", "Training", "seeded", "train"]
