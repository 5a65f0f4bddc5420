"""Whatever answers p(x_j | visible cells)."""

from maskdiff.reconstructors.base import Reconstructor
from maskdiff.reconstructors.kernel import KernelReconstructor
from maskdiff.reconstructors.mlp import MLPReconstructor
from maskdiff.reconstructors.pretrained import PretrainedReconstructor
from maskdiff.reconstructors.transformer import TransformerReconstructor

__all__ = [
    "KernelReconstructor",
    "MLPReconstructor",
    "PretrainedReconstructor",
    "Reconstructor",
    "TransformerReconstructor",
]
