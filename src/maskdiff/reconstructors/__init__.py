"""Whatever answers p(x_j | visible cells)."""

from maskdiff.reconstructors.base import Reconstructor
from maskdiff.reconstructors.kernel import KernelReconstructor
from maskdiff.reconstructors.mlp import MLPReconstructor

__all__ = ["KernelReconstructor", "MLPReconstructor", "Reconstructor"]
